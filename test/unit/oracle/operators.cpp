/* SPDX-License-Identifier: BSD-3-Clause */
#include "operators.hpp"

#include "basics.hpp"

#include <complex>
#include <cstring>
#include <type_traits>

namespace oracle {
namespace {

struct Complex128 {
    __float128 re, im;
};

enum class Class { Integer, FortranInteger, Floating, Logical, Complex, Byte, Text };

Class class_of(heddle_predefined kind)
{
    switch (kind) {
    case HEDDLE_BYTE:
        return Class::Byte;
    case HEDDLE_CHAR:
    case HEDDLE_WCHAR:
        return Class::Text;
    case HEDDLE_INT128:
        return Class::FortranInteger; /* INTEGER*16: C has no MPI type of that size */
    case HEDDLE_BOOL:
    case HEDDLE_LOGICAL:
        return Class::Logical;
    case HEDDLE_FLOAT16:
#if !defined(__FLT16_MANT_DIG__) /* clang before 15 on x86: data without arithmetic */
        return Class::Text;
#endif
    case HEDDLE_FLOAT:
    case HEDDLE_DOUBLE:
    case HEDDLE_LONG_DOUBLE:
    case HEDDLE_FLOAT128:
        return Class::Floating;
    case HEDDLE_COMPLEX_FLOAT:
    case HEDDLE_COMPLEX_DOUBLE:
    case HEDDLE_COMPLEX_LONG_DOUBLE:
    case HEDDLE_COMPLEX_FLOAT128:
        return Class::Complex;
    default:
        return Class::Integer;
    }
}

/* Runs `use(T{})` with the C type of `kind`; truth values and bytes by their integers. */
template <class Use> auto with_c_type(heddle_predefined kind, Use &&use)
{
    switch (kind) {
    case HEDDLE_INT8:
        return use(int8_t{});
    case HEDDLE_INT16:
        return use(int16_t{});
    case HEDDLE_UINT16:
        return use(uint16_t{});
    case HEDDLE_INT32:
    case HEDDLE_LOGICAL:
        return use(int32_t{});
    case HEDDLE_WCHAR:
        return use(uint32_t{});
    case HEDDLE_UINT32:
        return use(uint32_t{});
    case HEDDLE_INT64:
    case HEDDLE_LONG:
        return use(int64_t{});
    case HEDDLE_UINT64:
    case HEDDLE_ULONG:
        return use(uint64_t{});
    case HEDDLE_INT128:
        return use(__int128{});
#if defined(__FLT16_MANT_DIG__)
    case HEDDLE_FLOAT16:
        return use(static_cast<_Float16>(0));
#endif
    case HEDDLE_FLOAT:
        return use(float{});
    case HEDDLE_DOUBLE:
        return use(double{});
    case HEDDLE_LONG_DOUBLE:
        return use((long double){});
    case HEDDLE_FLOAT128:
        return use(__float128{});
    case HEDDLE_COMPLEX_FLOAT:
        return use(std::complex<float>{});
    case HEDDLE_COMPLEX_DOUBLE:
        return use(std::complex<double>{});
    case HEDDLE_COMPLEX_LONG_DOUBLE:
        return use(std::complex<long double>{});
    case HEDDLE_COMPLEX_FLOAT128:
        return use(Complex128{});
    default:
        return use(uint8_t{});
    }
}

template <class T> T load(const std::byte *from)
{
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

template <class T> constexpr bool is_complex = false;
template <class T> constexpr bool is_complex<std::complex<T>> = true;
template <> constexpr bool is_complex<Complex128> = true;

/* std::is_integral is false for __int128 under -std=c++20, true under -std=gnu++20. */
template <class T> constexpr bool is_integer = std::is_integral_v<T> || std::is_same_v<T, __int128>;

template <class T> struct Wide {
    using type = T;
};
template <> struct Wide<int8_t> {
    using type = uint64_t;
};
template <> struct Wide<uint8_t> : Wide<int8_t> {
};
template <> struct Wide<int16_t> : Wide<int8_t> {
};
template <> struct Wide<uint16_t> : Wide<int8_t> {
};
template <> struct Wide<int32_t> : Wide<int8_t> {
};
template <> struct Wide<uint32_t> : Wide<int8_t> {
};
template <> struct Wide<int64_t> : Wide<int8_t> {
};
template <> struct Wide<__int128> {
    using type = unsigned __int128;
};

#if defined(__FLT16_MANT_DIG__)
template <> struct Wide<_Float16> {
    using type = float; /* exact to more than twice the digits: the one rounding back is the only
                           one */
};
#endif

template <class T> T add(T a, T b)
{
    using W = typename Wide<T>::type;
    if constexpr (std::is_same_v<T, Complex128>)
        return {a.re + b.re, a.im + b.im};
    else
        return static_cast<T>(static_cast<W>(a) + static_cast<W>(b));
}

template <class T> T times(T a, T b)
{
    using W = typename Wide<T>::type;
    if constexpr (std::is_same_v<T, Complex128>)
        return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    else
        return static_cast<T>(static_cast<W>(a) * static_cast<W>(b));
}

template <class T> T evaluate(heddle_op op, T target, T source)
{
    if (op == HEDDLE_OP_SUM)
        return add(target, source);
    if (op == HEDDLE_OP_PROD)
        return times(target, source);
    if constexpr (!is_complex<T>) {
        if (op == HEDDLE_OP_MAX)
            return target < source ? source : target;
        if (op == HEDDLE_OP_MIN)
            return source < target ? source : target;
    }
    if constexpr (is_integer<T>) {
        switch (op) {
        case HEDDLE_OP_LAND:
            return static_cast<T>(target != 0 && source != 0);
        case HEDDLE_OP_LOR:
            return static_cast<T>(target != 0 || source != 0);
        case HEDDLE_OP_LXOR:
            return static_cast<T>((target != 0) != (source != 0));
        case HEDDLE_OP_BAND:
            return static_cast<T>(target & source);
        case HEDDLE_OP_BOR:
            return static_cast<T>(target | source);
        case HEDDLE_OP_BXOR:
            return static_cast<T>(target ^ source);
        default:
            break;
        }
    }
    return target;
}

/* MAXLOC and MINLOC: the better value wins, equal values take the lower index. */
void combine_pair(heddle_op op, heddle_predefined value, heddle_predefined index,
                  std::byte *const target[2], const std::byte *const source[2])
{
    const int order = with_c_type(value, [&](auto type) -> int {
        using T = decltype(type);
        if constexpr (!is_complex<T>) {
            const T t = load<T>(target[0]), s = load<T>(source[0]);
            return t < s ? -1 : s < t ? 1 : 0;
        }
        return 0;
    });
    const bool source_lower = with_c_type(index, [&](auto type) -> bool {
        using T = decltype(type);
        if constexpr (!is_complex<T>)
            return load<T>(source[1]) < load<T>(target[1]);
        return false;
    });
    const bool take = op == HEDDLE_OP_MAXLOC ? order < 0 : order > 0;
    if (take)
        std::memcpy(target[0], source[0], static_cast<size_t>(primitive_size(value)));
    if (take || (order == 0 && source_lower))
        std::memcpy(target[1], source[1], static_cast<size_t>(primitive_size(index)));
}

} // namespace

bool op_defined(heddle_op op, heddle_predefined which)
{
    if (op == HEDDLE_OP_REPLACE || op == HEDDLE_OP_NO_OP)
        return true;
    if (is_pair(which))
        return op == HEDDLE_OP_MAXLOC || op == HEDDLE_OP_MINLOC;
    const Class c = class_of(which);
    const bool integer = c == Class::Integer || c == Class::FortranInteger;
    switch (op) {
    case HEDDLE_OP_MAX:
    case HEDDLE_OP_MIN:
        return integer || c == Class::Floating;
    case HEDDLE_OP_SUM:
    case HEDDLE_OP_PROD:
        return integer || c == Class::Floating || c == Class::Complex;
    case HEDDLE_OP_LAND:
    case HEDDLE_OP_LOR:
    case HEDDLE_OP_LXOR:
        return c == Class::Integer || c == Class::Logical;
    case HEDDLE_OP_BAND:
    case HEDDLE_OP_BOR:
    case HEDDLE_OP_BXOR:
        return integer || c == Class::Byte;
    default:
        return false;
    }
}

void combine(heddle_op op, heddle_predefined which, std::byte *const target[2],
             const std::byte *const source[2])
{
    if (op == HEDDLE_OP_NO_OP)
        return;
    const auto &parts = basic(which).primitives;
    if (op == HEDDLE_OP_REPLACE) {
        for (size_t i = 0; i < parts.size(); ++i)
            std::memcpy(target[i], source[i], static_cast<size_t>(primitive_size(parts[i].kind)));
        return;
    }
    if (is_pair(which))
        return combine_pair(op, parts[0].kind, parts[1].kind, target, source);
    with_c_type(which, [&](auto type) {
        using T = decltype(type);
        const T result = evaluate(op, load<T>(target[0]), load<T>(source[0]));
        std::memcpy(target[0], &result, sizeof result);
    });
}

void write_operand(heddle_predefined kind, Rng &rng, std::byte *to)
{
    const Class c = class_of(kind);
    with_c_type(kind, [&](auto type) {
        using T = decltype(type);
        T value{};
        if constexpr (std::is_same_v<T, Complex128>) {
            value = {static_cast<__float128>(rng.in(-9, 9)),
                     static_cast<__float128>(rng.in(-9, 9))};
        } else if constexpr (is_complex<T>) {
            using R = typename T::value_type;
            value = T(static_cast<R>(rng.in(-9, 9)), static_cast<R>(rng.in(-9, 9)));
        } else if constexpr (is_integer<T>) {
            if (c == Class::Logical)
                value = static_cast<T>(rng.in(0, 1));
            else if (rng.percent(40))
                value = static_cast<T>(rng.in(-2, 2));
            else if constexpr (sizeof(T) == 16)
                value =
                    static_cast<T>(static_cast<unsigned __int128>(rng.next()) << 64 | rng.next());
            else
                value = static_cast<T>(rng.next());
        } else {
            value = static_cast<T>(rng.in(-9, 9));
        }
        std::memset(to, 0, sizeof value);
        std::memcpy(to, &value, sizeof value);
    });
}

bool equal_operands(heddle_predefined kind, const std::byte *a, const std::byte *b)
{
    return with_c_type(kind, [&](auto type) -> bool {
        using T = decltype(type);
        if constexpr (std::is_same_v<T, Complex128>) {
            const T x = load<T>(a), y = load<T>(b);
            return x.re == y.re && x.im == y.im;
        } else {
            return load<T>(a) == load<T>(b);
        }
    });
}

} // namespace oracle
