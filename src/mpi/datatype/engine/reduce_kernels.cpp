// SPDX-License-Identifier: BSD-3-Clause
#include "predefined.hpp"
#include "reduce.hpp"

#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

namespace heddle {
namespace {

using std::int64_t;

// ---- which operator is defined on what: the table of MPI 4.0, section 6.9.2 ----

enum class Category { Text, Byte, Integer, FortranInteger, Logical, Floating, Complex, Pair };

constexpr Category category(heddle_predefined kind)
{
    switch (kind) {
    case HEDDLE_BYTE:
        return Category::Byte;
    case HEDDLE_CHAR:
    case HEDDLE_WCHAR:
        return Category::Text;
    case HEDDLE_INT128: // no C type of MPI: only INTEGER*16
        return Category::FortranInteger;
    case HEDDLE_BOOL:
    case HEDDLE_LOGICAL:
        return Category::Logical;
    case HEDDLE_FLOAT16:
#if !defined(__FLT16_MANT_DIG__)
        return Category::Text;
#endif
    case HEDDLE_FLOAT:
    case HEDDLE_DOUBLE:
    case HEDDLE_LONG_DOUBLE:
    case HEDDLE_FLOAT128:
        return Category::Floating;
    case HEDDLE_COMPLEX_FLOAT:
    case HEDDLE_COMPLEX_DOUBLE:
    case HEDDLE_COMPLEX_LONG_DOUBLE:
    case HEDDLE_COMPLEX_FLOAT128:
        return Category::Complex;
    default:
        return kind < HEDDLE_2INT32 ? Category::Integer : Category::Pair;
    }
}

constexpr bool is_integer(Category c)
{
    return c == Category::Integer || c == Category::FortranInteger;
}

constexpr bool is_defined(heddle_op op, Category c)
{
    switch (op) {
    case HEDDLE_OP_SUM:
    case HEDDLE_OP_PROD:
        return is_integer(c) || c == Category::Floating || c == Category::Complex;
    case HEDDLE_OP_MAX:
    case HEDDLE_OP_MIN:
        return is_integer(c) || c == Category::Floating;
    case HEDDLE_OP_LAND:
    case HEDDLE_OP_LOR:
    case HEDDLE_OP_LXOR:
        return c == Category::Integer || c == Category::Logical;
    case HEDDLE_OP_BAND:
    case HEDDLE_OP_BOR:
    case HEDDLE_OP_BXOR:
        return is_integer(c) || c == Category::Byte;
    case HEDDLE_OP_MAXLOC:
    case HEDDLE_OP_MINLOC:
        return c == Category::Pair;
    default:
        return false;
    }
}

// ---- one element ----

// An unsigned type in which the sum and the product of two Ts wrap around. Signed overflow is
// undefined, and so is the product of two unsigned shorts, which are promoted to int.
template <class T> struct WrappingType {
    using type = std::conditional_t<sizeof(T) <= 4, std::uint32_t, std::uint64_t>;
};
template <> struct WrappingType<int128> {
    __extension__ typedef unsigned __int128 type;
};

template <heddle_op op, Category c, class T> inline T combine(T a, T b)
{
    using Wrapping = typename WrappingType<T>::type;
    if constexpr (op == HEDDLE_OP_SUM) {
        if constexpr (is_integer(c))
            return static_cast<T>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b));
        else
            return a + b;
    } else if constexpr (op == HEDDLE_OP_PROD) {
        if constexpr (is_integer(c))
            return static_cast<T>(static_cast<Wrapping>(a) * static_cast<Wrapping>(b));
        else
            return a * b;
    } else if constexpr (op == HEDDLE_OP_MAX) {
        return a > b ? a : b;
    } else if constexpr (op == HEDDLE_OP_MIN) {
        return a < b ? a : b;
    } else if constexpr (op == HEDDLE_OP_LAND) {
        return static_cast<T>((a != 0) & (b != 0));
    } else if constexpr (op == HEDDLE_OP_LOR) {
        return static_cast<T>((a | b) != 0);
    } else if constexpr (op == HEDDLE_OP_LXOR) {
        return static_cast<T>((a != 0) != (b != 0));
    } else if constexpr (op == HEDDLE_OP_BAND) {
        return static_cast<T>(a & b);
    } else if constexpr (op == HEDDLE_OP_BOR) {
        return static_cast<T>(a | b);
    } else {
        static_assert(op == HEDDLE_OP_BXOR);
        return static_cast<T>(a ^ b);
    }
}

// ---- arrays ----

template <class T> inline T load(const char *from)
{
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

template <class T> inline void store(char *to, T value) { std::memcpy(to, &value, sizeof value); }

template <heddle_op op, heddle_predefined kind, int64_t count>
inline void reduce_block(char *__restrict inout, const char *__restrict in)
{
    using T = Stored<kind>;
    for (int64_t i = 0; i < count * static_cast<int64_t>(sizeof(T)); i += sizeof(T))
        store(inout + i, combine<op, category(kind)>(load<T>(inout + i), load<T>(in + i)));
}

template <heddle_op op, heddle_predefined kind>
void reduce_basic(void *inout, const void *in, int64_t n)
{
    constexpr int64_t size = sizeof(Stored<kind>);
    // Blocks of a constant length: g++ -O2 vectorizes no loop of unknown length.
    constexpr int64_t block = 512 / size;
    auto *a = static_cast<char *>(inout);
    auto *b = static_cast<const char *>(in);
    for (; n >= block; n -= block, a += block * size, b += block * size)
        reduce_block<op, kind, block>(a, b);
    for (; n > 0; --n, a += size, b += size)
        reduce_block<op, kind, 1>(a, b);
}

template <heddle_op op, class T> inline bool precedes(T a, T b)
{
    return op == HEDDLE_OP_MAXLOC ? a > b : a < b;
}

template <heddle_op op, class Value, class Index>
void reduce_pairs(void *inout, const void *in, int64_t n)
{
    constexpr int64_t size = sizeof(Value) + sizeof(Index);
    auto *a = static_cast<char *>(inout);
    auto *b = static_cast<const char *>(in);
    for (; n > 0; --n, a += size, b += size) {
        const auto ours = load<Value>(a);
        const auto theirs = load<Value>(b);
        const auto our_index = load<Index>(a + sizeof(Value));
        const auto their_index = load<Index>(b + sizeof(Value));
        if (precedes<op>(theirs, ours))
            std::memcpy(a, b, size);
        else if (theirs == ours && their_index < our_index)
            store(a + sizeof(Value), their_index);
    }
}

template <class T> struct PairMembers;
template <heddle_predefined value, heddle_predefined index> struct PairMembers<Pair<value, index>> {
    using Value = Stored<value>;
    using Index = Stored<index>;
};

// ---- the table ----

template <heddle_op op, heddle_predefined kind> constexpr ReduceKernel select_kernel()
{
    if constexpr (!is_defined(op, category(kind))) {
        return nullptr;
    } else if constexpr (category(kind) == Category::Pair) {
        using Members = PairMembers<Stored<kind>>;
        return reduce_pairs<op, typename Members::Value, typename Members::Index>;
    } else {
        return reduce_basic<op, kind>;
    }
}

using KernelRow = std::array<ReduceKernel, HEDDLE_PREDEFINED_COUNT>;

template <heddle_op op, std::size_t... kind>
constexpr KernelRow kernel_row(std::index_sequence<kind...>)
{
    return {select_kernel<op, static_cast<heddle_predefined>(kind)>()...};
}

template <std::size_t... op>
constexpr std::array<KernelRow, HEDDLE_OP_COUNT> kernel_table(std::index_sequence<op...>)
{
    return {kernel_row<static_cast<heddle_op>(op)>(
        std::make_index_sequence<HEDDLE_PREDEFINED_COUNT>())...};
}

constexpr auto kernels = kernel_table(std::make_index_sequence<HEDDLE_OP_COUNT>());

} // namespace

ReduceKernel reduce_kernel(heddle_op op, heddle_predefined kind)
{
    const bool known = static_cast<unsigned>(op) < HEDDLE_OP_COUNT &&
                       static_cast<unsigned>(kind) < HEDDLE_PREDEFINED_COUNT;
    return known ? kernels[op][kind] : nullptr;
}

} // namespace heddle
