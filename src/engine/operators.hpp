// SPDX-License-Identifier: BSD-3-Clause
// MPI's predefined operators (MPI 4.0, section 6.9.2): which element takes which, and what one
// gives for two elements. Host, CUDA and the simulated device evaluate by this header, so their
// results are the same to the bit.
#pragma once

#include "engine/host_device.hpp"
#include "heddle.h"

#include <cstdint>
#include <type_traits>

namespace heddle {

// MPI's groups of types. A Fortran integer is one that no C type of MPI is: it takes no logical
// operator.
enum class Category : uint8_t {
    text,
    byte,
    integer,
    fortran_integer,
    logical,
    floating,
    complex,
    pair
};

// Requires that `kind` is below HEDDLE_PREDEFINED_COUNT.
constexpr Category category(heddle_predefined kind)
{
    switch (kind) {
    case HEDDLE_BYTE:
        return Category::byte;
    case HEDDLE_CHAR:
    case HEDDLE_WCHAR:
        return Category::text;
    case HEDDLE_INT128: // INTEGER*16
        return Category::fortran_integer;
    case HEDDLE_BOOL:
    case HEDDLE_LOGICAL:
        return Category::logical;
    case HEDDLE_FLOAT16:
    case HEDDLE_FLOAT:
    case HEDDLE_DOUBLE:
    case HEDDLE_LONG_DOUBLE:
    case HEDDLE_FLOAT128:
        return Category::floating;
    case HEDDLE_COMPLEX_FLOAT:
    case HEDDLE_COMPLEX_DOUBLE:
    case HEDDLE_COMPLEX_LONG_DOUBLE:
    case HEDDLE_COMPLEX_FLOAT128:
        return Category::complex;
    default:
        return kind < HEDDLE_2INT32 ? Category::integer : Category::pair;
    }
}

// Whether `op` computes something on `kind`; not so REPLACE and NO_OP. Any int may be given.
constexpr bool is_defined(heddle_op op, heddle_predefined kind)
{
    if (static_cast<unsigned>(kind) >= HEDDLE_PREDEFINED_COUNT)
        return false;
    const Category c = category(kind);
    const bool integer = c == Category::integer || c == Category::fortran_integer;
    switch (op) {
    case HEDDLE_OP_SUM:
    case HEDDLE_OP_PROD:
        return integer || c == Category::floating || c == Category::complex;
    case HEDDLE_OP_MAX:
    case HEDDLE_OP_MIN:
        return integer || c == Category::floating;
    case HEDDLE_OP_LAND:
    case HEDDLE_OP_LOR:
    case HEDDLE_OP_LXOR:
        return c == Category::integer || c == Category::logical;
    case HEDDLE_OP_BAND:
    case HEDDLE_OP_BOR:
    case HEDDLE_OP_BXOR:
        return integer || c == Category::byte;
    case HEDDLE_OP_MAXLOC:
    case HEDDLE_OP_MINLOC:
        return c == Category::pair;
    default:
        return false;
    }
}

// An unsigned type in which the sum and the product of two Ts wrap around. Signed overflow is
// undefined, and so is the product of two unsigned shorts, which are promoted to int.
__extension__ typedef unsigned __int128 wrapping128;
template <class T> using Wrapping =
    std::conditional_t<sizeof(T) <= 4, uint32_t,
                       std::conditional_t<sizeof(T) == 8, uint64_t, wrapping128>>;

// a op b, for numbers of category `c`. Requires is_defined. Where `op` is a constant, or the same
// for all threads, the switch costs nothing.
template <Category c, class T> HEDDLE_HD inline T evaluate(heddle_op op, T a, T b)
{
    static_assert(c != Category::text && c != Category::pair);
    if constexpr (c == Category::complex) {
        return op == HEDDLE_OP_SUM ? a + b : a * b;
    } else if constexpr (c == Category::floating) {
        switch (op) {
        case HEDDLE_OP_SUM:
            return a + b;
        case HEDDLE_OP_PROD:
            return a * b;
        case HEDDLE_OP_MAX:
            return a > b ? a : b;
        default: // HEDDLE_OP_MIN
            return a < b ? a : b;
        }
    } else {
        switch (op) {
        case HEDDLE_OP_SUM:
            return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
        case HEDDLE_OP_PROD:
            return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
        case HEDDLE_OP_MAX:
            return a > b ? a : b;
        case HEDDLE_OP_MIN:
            return a < b ? a : b;
        case HEDDLE_OP_LAND:
            return static_cast<T>((a != 0) & (b != 0));
        case HEDDLE_OP_LOR:
            return static_cast<T>((a | b) != 0);
        case HEDDLE_OP_LXOR:
            return static_cast<T>((a != 0) != (b != 0));
        case HEDDLE_OP_BAND:
            return static_cast<T>(a & b);
        case HEDDLE_OP_BOR:
            return static_cast<T>(a | b);
        default: // HEDDLE_OP_BXOR
            return static_cast<T>(a ^ b);
        }
    }
}

// Whether MAXLOC or MINLOC prefers a pair of value `a` to one of value `b`, whatever their indices.
// If the values are equal, the lower index stays.
template <class T> HEDDLE_HD inline bool precedes(heddle_op op, T a, T b)
{
    return op == HEDDLE_OP_MAXLOC ? a > b : a < b;
}

} // namespace heddle
