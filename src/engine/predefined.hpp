// SPDX-License-Identifier: BSD-3-Clause
// The predefined types: the C type behind each, and a table of what is known about them.
#pragma once

#include "heddle.h"

#include <cstddef>
#include <cstdint>

namespace heddle {

__extension__ typedef __int128 int128;
__extension__ typedef __float128 float128;
#if defined(__FLT16_MANT_DIG__)
__extension__ typedef _Float16 float16;
#else // clang before 15 on x86: data without arithmetic
struct float16 {
    std::uint16_t bits;
};
#endif
typedef __complex__ float complex_float;
typedef __complex__ double complex_double;
typedef __complex__ long double complex_long_double;
// The compilers know no spelling `_Complex __float128` in C++, but they know its machine mode.
typedef __complex__ float complex_float128 __attribute__((mode(TC)));

// The C type of a predefined type, as it lies in memory; of a pair, `struct { value; index; }`.
template <heddle_predefined kind> struct StoredType;

template <heddle_predefined kind> using Stored = typename StoredType<kind>::type;

template <heddle_predefined value_kind, heddle_predefined index_kind> struct Pair {
    Stored<value_kind> value;
    Stored<index_kind> index;
};

#define HEDDLE_STORED(kind, ...)                                                                   \
    template <> struct StoredType<kind> {                                                          \
        using type = __VA_ARGS__;                                                                  \
    }
HEDDLE_STORED(HEDDLE_BYTE, unsigned char);
HEDDLE_STORED(HEDDLE_CHAR, char);
HEDDLE_STORED(HEDDLE_WCHAR, wchar_t);
HEDDLE_STORED(HEDDLE_INT8, std::int8_t);
HEDDLE_STORED(HEDDLE_UINT8, std::uint8_t);
HEDDLE_STORED(HEDDLE_INT16, std::int16_t);
HEDDLE_STORED(HEDDLE_UINT16, std::uint16_t);
HEDDLE_STORED(HEDDLE_INT32, std::int32_t);
HEDDLE_STORED(HEDDLE_UINT32, std::uint32_t);
HEDDLE_STORED(HEDDLE_INT64, std::int64_t);
HEDDLE_STORED(HEDDLE_UINT64, std::uint64_t);
HEDDLE_STORED(HEDDLE_LONG, long);
HEDDLE_STORED(HEDDLE_ULONG, unsigned long);
HEDDLE_STORED(HEDDLE_INT128, int128);
HEDDLE_STORED(HEDDLE_BOOL, std::uint8_t); // not bool: any byte may lie in a user's buffer
HEDDLE_STORED(HEDDLE_LOGICAL, std::int32_t);
HEDDLE_STORED(HEDDLE_FLOAT16, float16);
HEDDLE_STORED(HEDDLE_FLOAT, float);
HEDDLE_STORED(HEDDLE_DOUBLE, double);
HEDDLE_STORED(HEDDLE_LONG_DOUBLE, long double);
HEDDLE_STORED(HEDDLE_FLOAT128, float128);
HEDDLE_STORED(HEDDLE_COMPLEX_FLOAT, complex_float);
HEDDLE_STORED(HEDDLE_COMPLEX_DOUBLE, complex_double);
HEDDLE_STORED(HEDDLE_COMPLEX_LONG_DOUBLE, complex_long_double);
HEDDLE_STORED(HEDDLE_COMPLEX_FLOAT128, complex_float128);
HEDDLE_STORED(HEDDLE_2INT32, Pair<HEDDLE_INT32, HEDDLE_INT32>);
HEDDLE_STORED(HEDDLE_2INT64, Pair<HEDDLE_INT64, HEDDLE_INT64>);
HEDDLE_STORED(HEDDLE_2FLOAT, Pair<HEDDLE_FLOAT, HEDDLE_FLOAT>);
HEDDLE_STORED(HEDDLE_2DOUBLE, Pair<HEDDLE_DOUBLE, HEDDLE_DOUBLE>);
HEDDLE_STORED(HEDDLE_FLOAT_INT, Pair<HEDDLE_FLOAT, HEDDLE_INT32>);
HEDDLE_STORED(HEDDLE_DOUBLE_INT, Pair<HEDDLE_DOUBLE, HEDDLE_INT32>);
HEDDLE_STORED(HEDDLE_LONG_INT, Pair<HEDDLE_LONG, HEDDLE_INT32>);
HEDDLE_STORED(HEDDLE_SHORT_INT, Pair<HEDDLE_INT16, HEDDLE_INT32>);
HEDDLE_STORED(HEDDLE_LONG_DOUBLE_INT, Pair<HEDDLE_LONG_DOUBLE, HEDDLE_INT32>);
#undef HEDDLE_STORED

struct PredefinedInfo {
    const char *name;  // the enumerator without its prefix
    int size;          // bytes of data; of a pair, of its two members
    int extent;        // sizeof
    int alignment;     // alignof
    int external_size; // bytes in external32
    bool pair;
    heddle_predefined value; // of a pair, its first member; else the type itself
    heddle_predefined index; // of a pair, its second member; else HEDDLE_MIXED
    int index_displ;         // of a pair, where in memory its second member lies; else 0
};

// Valid for every `which` below HEDDLE_PREDEFINED_COUNT.
const PredefinedInfo &predefined_info(heddle_predefined which);

} // namespace heddle
