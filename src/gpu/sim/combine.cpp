// SPDX-License-Identifier: BSD-3-Clause
#include "combine.hpp"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace heddle::gpu::sim {
namespace {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;
__extension__ typedef __float128 Float128;
#if defined(__FLT16_MANT_DIG__)
#define HEDDLE_SIM_FLOAT16 // else, with clang before 15 on x86, it is data without arithmetic
__extension__ typedef _Float16 Float16;
#endif
typedef __complex__ float ComplexFloat;
typedef __complex__ double ComplexDouble;
typedef __complex__ long double ComplexLongDouble;
// C++ has no `_Complex __float128`, but the compilers know its machine mode.
typedef __complex__ float ComplexFloat128 __attribute__((mode(TC)));

// What MPI allows on a type goes by these.
enum class Sort { text, bits, integer, fortran_integer, logical, real, complex };

template <class T, Sort s> struct Plain {
    using Value = T;
    static constexpr Sort sort = s;
};
template <class V, class I> struct Located {
    using Value = V;
    using Index = I;
};

template <class> constexpr bool is_located = false;
template <class V, class I> constexpr bool is_located<Located<V, I>> = true;

// Runs `use` with the description of a type. False where there is no such type.
template <class Use> bool with(heddle_predefined basic, Use &&use)
{
    switch (basic) {
    case HEDDLE_BYTE:
        return use(Plain<uint8_t, Sort::bits>{});
    case HEDDLE_CHAR:
        return use(Plain<char, Sort::text>{});
    case HEDDLE_WCHAR:
        return use(Plain<wchar_t, Sort::text>{});
    case HEDDLE_INT8:
        return use(Plain<int8_t, Sort::integer>{});
    case HEDDLE_UINT8:
        return use(Plain<uint8_t, Sort::integer>{});
    case HEDDLE_INT16:
        return use(Plain<int16_t, Sort::integer>{});
    case HEDDLE_UINT16:
        return use(Plain<uint16_t, Sort::integer>{});
    case HEDDLE_INT32:
        return use(Plain<int32_t, Sort::integer>{});
    case HEDDLE_UINT32:
        return use(Plain<uint32_t, Sort::integer>{});
    case HEDDLE_INT64:
    case HEDDLE_LONG:
        return use(Plain<int64_t, Sort::integer>{});
    case HEDDLE_UINT64:
    case HEDDLE_ULONG:
        return use(Plain<uint64_t, Sort::integer>{});
    case HEDDLE_INT128:
        return use(Plain<Int128, Sort::fortran_integer>{});
    case HEDDLE_BOOL:
        return use(Plain<uint8_t, Sort::logical>{});
    case HEDDLE_LOGICAL:
        return use(Plain<int32_t, Sort::logical>{});
#if defined(HEDDLE_SIM_FLOAT16)
    case HEDDLE_FLOAT16:
        return use(Plain<Float16, Sort::real>{});
#endif
    case HEDDLE_FLOAT:
        return use(Plain<float, Sort::real>{});
    case HEDDLE_DOUBLE:
        return use(Plain<double, Sort::real>{});
    case HEDDLE_LONG_DOUBLE:
        return use(Plain<long double, Sort::real>{});
    case HEDDLE_FLOAT128:
        return use(Plain<Float128, Sort::real>{});
    case HEDDLE_COMPLEX_FLOAT:
        return use(Plain<ComplexFloat, Sort::complex>{});
    case HEDDLE_COMPLEX_DOUBLE:
        return use(Plain<ComplexDouble, Sort::complex>{});
    case HEDDLE_COMPLEX_LONG_DOUBLE:
        return use(Plain<ComplexLongDouble, Sort::complex>{});
    case HEDDLE_COMPLEX_FLOAT128:
        return use(Plain<ComplexFloat128, Sort::complex>{});
    case HEDDLE_2INT32:
        return use(Located<int32_t, int32_t>{});
    case HEDDLE_2INT64:
        return use(Located<int64_t, int64_t>{});
    case HEDDLE_2FLOAT:
        return use(Located<float, float>{});
    case HEDDLE_2DOUBLE:
        return use(Located<double, double>{});
    case HEDDLE_FLOAT_INT:
        return use(Located<float, int32_t>{});
    case HEDDLE_DOUBLE_INT:
        return use(Located<double, int32_t>{});
    case HEDDLE_LONG_INT:
        return use(Located<long, int32_t>{});
    case HEDDLE_SHORT_INT:
        return use(Located<int16_t, int32_t>{});
    case HEDDLE_LONG_DOUBLE_INT:
        return use(Located<long double, int32_t>{});
    default:
        return false;
    }
}

constexpr bool is_allowed(heddle_op op, Sort sort)
{
    const bool integer = sort == Sort::integer || sort == Sort::fortran_integer;
    switch (op) {
    case HEDDLE_OP_SUM:
    case HEDDLE_OP_PROD:
        return integer || sort == Sort::real || sort == Sort::complex;
    case HEDDLE_OP_MAX:
    case HEDDLE_OP_MIN:
        return integer || sort == Sort::real;
    case HEDDLE_OP_LAND:
    case HEDDLE_OP_LOR:
    case HEDDLE_OP_LXOR:
        return sort == Sort::integer || sort == Sort::logical;
    case HEDDLE_OP_BAND:
    case HEDDLE_OP_BOR:
    case HEDDLE_OP_BXOR:
        return integer || sort == Sort::bits;
    default:
        return false;
    }
}

template <class T> T load(const std::byte *from)
{
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

// Sums and products of integers wrap around, so they are done without sign and without promotion to
// int.
template <class T> using Modular = std::conditional_t<(sizeof(T) > 8), UInt128, uint64_t>;

template <Sort sort, class T> T result(heddle_op op, T a, T b)
{
    if constexpr (sort == Sort::complex) {
        return op == HEDDLE_OP_SUM ? a + b : a * b;
    } else if constexpr (sort == Sort::real) {
        switch (op) {
        case HEDDLE_OP_SUM:
            return a + b;
        case HEDDLE_OP_PROD:
            return a * b;
        case HEDDLE_OP_MAX:
            return a > b ? a : b;
        default:
            return a < b ? a : b;
        }
    } else {
        using M = Modular<T>;
        switch (op) {
        case HEDDLE_OP_SUM:
            return static_cast<T>(static_cast<M>(a) + static_cast<M>(b));
        case HEDDLE_OP_PROD:
            return static_cast<T>(static_cast<M>(a) * static_cast<M>(b));
        case HEDDLE_OP_MAX:
            return a > b ? a : b;
        case HEDDLE_OP_MIN:
            return a < b ? a : b;
        case HEDDLE_OP_LAND:
            return static_cast<T>(a != 0 && b != 0);
        case HEDDLE_OP_LOR:
            return static_cast<T>(a != 0 || b != 0);
        case HEDDLE_OP_LXOR:
            return static_cast<T>((a != 0) != (b != 0));
        case HEDDLE_OP_BAND:
            return static_cast<T>(a & b);
        case HEDDLE_OP_BOR:
            return static_cast<T>(a | b);
        default:
            return static_cast<T>(a ^ b);
        }
    }
}

// The better value wins with its index; of equal values the lower index.
template <class V, class I>
void combine_located(bool largest, std::byte *target, const std::byte *source)
{
    const V ours = load<V>(target);
    const V theirs = load<V>(source);
    const I our_index = load<I>(target + sizeof(V));
    const I their_index = load<I>(source + sizeof(V));
    if (largest ? theirs > ours : theirs < ours)
        std::memcpy(target, source, sizeof(V) + sizeof(I));
    else if (theirs == ours && their_index < our_index)
        std::memcpy(target + sizeof(V), &their_index, sizeof(I));
}

} // namespace

Packed packed_form(heddle_predefined basic)
{
    Packed form;
    with(basic, [&](auto type) {
        using Type = decltype(type);
        form.value = form.size = sizeof(typename Type::Value);
        if constexpr (is_located<Type>)
            form.size += sizeof(typename Type::Index);
        return true;
    });
    return form;
}

bool can_combine(heddle_op op, heddle_predefined basic)
{
    return with(basic, [&](auto type) {
        using Type = decltype(type);
        if constexpr (is_located<Type>)
            return op == HEDDLE_OP_MAXLOC || op == HEDDLE_OP_MINLOC;
        else
            return is_allowed(op, Type::sort);
    });
}

void combine(heddle_op op, heddle_predefined basic, std::byte *target, const std::byte *source)
{
    with(basic, [&](auto type) {
        using Type = decltype(type);
        using Value = typename Type::Value;
        if constexpr (is_located<Type>) {
            combine_located<Value, typename Type::Index>(op == HEDDLE_OP_MAXLOC, target, source);
        } else if constexpr (Type::sort != Sort::text) {
            const Value value = result<Type::sort>(op, load<Value>(target), load<Value>(source));
            std::memcpy(target, &value, sizeof value);
        }
        return true;
    });
}

} // namespace heddle::gpu::sim
