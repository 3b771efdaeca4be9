// SPDX-License-Identifier: BSD-3-Clause
#include "engine/external.hpp"
#include "engine/predefined.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace heddle {
namespace {

__extension__ typedef unsigned __int128 uint128;

// ---- one number ----

// How a number crosses: Native is what memory holds, Bits what stands in external32, in this
// machine's byte order. Numbers of the same format on both sides cross as bits.
template <class Unsigned> struct SameFormat {
    using Native = Unsigned;
    using Bits = Unsigned;
    static Bits encode(Native value) { return value; }
    static Native decode(Bits bits) { return bits; }
};

template <class Integer, class Unsigned, class Wire> struct NarrowInteger {
    using Native = Integer;
    using Bits = Unsigned;
    static Bits encode(Native value) { return static_cast<Bits>(value); }
    static Native decode(Bits bits) { return static_cast<Native>(static_cast<Wire>(bits)); }
};

// On this machine a long double has 64 bits of precision; external32 has IEEE binary128.
struct QuadOfLongDouble {
    using Native = long double;
    using Bits = uint128;
    static Bits encode(Native value) { return std::bit_cast<Bits>(static_cast<float128>(value)); }
    static Native decode(Bits bits) { return static_cast<Native>(std::bit_cast<float128>(bits)); }
};

template <heddle_predefined kind> constexpr auto choose_number()
{
    if constexpr (kind == HEDDLE_LONG)
        return NarrowInteger<long, uint32_t, int32_t>{};
    else if constexpr (kind == HEDDLE_ULONG)
        return NarrowInteger<unsigned long, uint32_t, uint32_t>{};
    else if constexpr (kind == HEDDLE_WCHAR)
        return NarrowInteger<wchar_t, uint16_t, uint16_t>{};
    else if constexpr (kind == HEDDLE_LONG_DOUBLE || kind == HEDDLE_COMPLEX_LONG_DOUBLE)
        return QuadOfLongDouble{};
    else if constexpr (kind == HEDDLE_COMPLEX_FLOAT)
        return SameFormat<uint32_t>{};
    else if constexpr (kind == HEDDLE_COMPLEX_DOUBLE)
        return SameFormat<uint64_t>{};
    else if constexpr (kind == HEDDLE_COMPLEX_FLOAT128 || sizeof(Stored<kind>) == 16)
        return SameFormat<uint128>{};
    else if constexpr (sizeof(Stored<kind>) == 8)
        return SameFormat<uint64_t>{};
    else if constexpr (sizeof(Stored<kind>) == 4)
        return SameFormat<uint32_t>{};
    else if constexpr (sizeof(Stored<kind>) == 2)
        return SameFormat<uint16_t>{};
    else
        return SameFormat<uint8_t>{};
}

template <heddle_predefined kind> using Number = decltype(choose_number<kind>());

template <class Bits> inline Bits big_endian(Bits bits)
{
    if constexpr (std::endian::native == std::endian::big || sizeof(Bits) == 1)
        return bits;
    else if constexpr (sizeof(Bits) == 2)
        return __builtin_bswap16(bits);
    else if constexpr (sizeof(Bits) == 4)
        return __builtin_bswap32(bits);
    else if constexpr (sizeof(Bits) == 8)
        return __builtin_bswap64(bits);
    else
        return static_cast<Bits>(__builtin_bswap64(static_cast<uint64_t>(bits))) << 64 |
               __builtin_bswap64(static_cast<uint64_t>(bits >> 64));
}

// ---- arrays ----

enum class Direction { Encode, Decode };

template <class N, Direction direction> inline void convert_number(char *to, const char *from)
{
    if constexpr (direction == Direction::Encode) {
        typename N::Native value;
        std::memcpy(&value, from, sizeof value);
        const auto bits = big_endian(N::encode(value));
        std::memcpy(to, &bits, sizeof bits);
    } else {
        typename N::Bits bits;
        std::memcpy(&bits, from, sizeof bits);
        const auto value = N::decode(big_endian(bits));
        std::memcpy(to, &value, sizeof value);
    }
}

template <class N, Direction direction, int64_t count>
inline void convert_block(char *__restrict to, const char *__restrict from)
{
    constexpr bool encodes = direction == Direction::Encode;
    constexpr int64_t to_size = encodes ? sizeof(typename N::Bits) : sizeof(typename N::Native);
    constexpr int64_t from_size = encodes ? sizeof(typename N::Native) : sizeof(typename N::Bits);
    for (int64_t i = 0; i < count; ++i)
        convert_number<N, direction>(to + i * to_size, from + i * from_size);
}

template <class N, Direction direction>
inline void convert_array(char *to, const char *from, int64_t numbers)
{
    constexpr bool encodes = direction == Direction::Encode;
    constexpr int64_t to_size = encodes ? sizeof(typename N::Bits) : sizeof(typename N::Native);
    constexpr int64_t from_size = encodes ? sizeof(typename N::Native) : sizeof(typename N::Bits);
    // Blocks of a constant length: g++ -O2 vectorizes no loop of unknown length.
    constexpr int64_t block = 32;
    for (; numbers >= block; numbers -= block, to += block * to_size, from += block * from_size)
        convert_block<N, direction, block>(to, from);
    for (; numbers > 0; --numbers, to += to_size, from += from_size)
        convert_block<N, direction, 1>(to, from);
}

template <heddle_predefined kind, Direction direction>
void convert(void *to, int64_t to_step, const void *from, int64_t from_step, int64_t elements,
             int64_t n)
{
    using N = Number<kind>;
    // A complex number is two numbers.
    // NOLINTNEXTLINE(bugprone-sizeof-expression): of all others the quotient is 1
    constexpr int64_t parts = sizeof(Stored<kind>) / sizeof(typename N::Native);
    const int64_t numbers = elements * parts;
    auto *out = static_cast<char *>(to);
    auto *in = static_cast<const char *>(from);
    if (numbers == 1) {
        for (int64_t i = 0; i < n; ++i, out += to_step, in += from_step)
            convert_block<N, direction, 1>(out, in);
        return;
    }
    for (int64_t i = 0; i < n; ++i, out += to_step, in += from_step) {
        if constexpr (sizeof(typename N::Native) == 1)
            std::memcpy(out, in, static_cast<size_t>(numbers));
        else
            convert_array<N, direction>(out, in, numbers);
    }
}

// ---- the tables ----

template <Direction direction, std::size_t... kind>
constexpr std::array<ConvertKernel, sizeof...(kind)> make_kernels(std::index_sequence<kind...>)
{
    return {convert<static_cast<heddle_predefined>(kind), direction>...};
}

constexpr std::size_t basic_count = HEDDLE_2INT32; // the pairs follow
constexpr auto encoders = make_kernels<Direction::Encode>(std::make_index_sequence<basic_count>());
constexpr auto decoders = make_kernels<Direction::Decode>(std::make_index_sequence<basic_count>());

} // namespace

ConvertKernel to_external(heddle_predefined kind)
{
    return static_cast<std::size_t>(kind) < basic_count ? encoders[kind] : nullptr;
}

ConvertKernel from_external(heddle_predefined kind)
{
    return static_cast<std::size_t>(kind) < basic_count ? decoders[kind] : nullptr;
}

} // namespace heddle
