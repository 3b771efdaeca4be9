// SPDX-License-Identifier: BSD-3-Clause
#include "engine/operators.hpp"
#include "engine/predefined.hpp"
#include "engine/reduce.hpp"

#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

namespace heddle {
namespace {

using std::int64_t;

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
        store(inout + i, evaluate<category(kind)>(op, load<T>(inout + i), load<T>(in + i)));
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
        if (precedes(op, theirs, ours))
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

// False only for a float16 that the compiler knows as bits alone.
template <class T> constexpr bool has_arithmetic = true;
#if !defined(__FLT16_MANT_DIG__)
template <> constexpr bool has_arithmetic<float16> = false;
#endif

template <heddle_op op, heddle_predefined kind> constexpr ReduceKernel select_kernel()
{
    if constexpr (!is_defined(op, kind) || !has_arithmetic<Stored<kind>>) {
        return nullptr;
    } else if constexpr (category(kind) == Category::pair) {
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
