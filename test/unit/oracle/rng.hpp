/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Seeded random numbers. The same seed gives the same case with every compiler: the standard's
 * distributions, which may differ between libraries, are not used.
 */
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

namespace oracle {

class Rng {
public:
    explicit Rng(uint64_t seed) : bits_(seed) {}

    uint64_t next() { return bits_(); }

    /* Uniform in [low, high]. */
    int64_t in(int64_t low, int64_t high)
    {
        const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
        return static_cast<int64_t>(static_cast<uint64_t>(low) + (span ? next() % span : next()));
    }

    /* In [1, high], every power of two about as likely as the next. */
    int64_t scaled(int64_t high)
    {
        if (high <= 1)
            return 1;
        const int bits = 64 - __builtin_clzll(static_cast<uint64_t>(high));
        const int64_t top = int64_t{1} << in(1, bits);
        return in(1, top < high ? top : high);
    }

    bool percent(int chance) { return in(0, 99) < chance; }

    template <class T> const T &pick(const std::vector<T> &from)
    {
        return from[static_cast<size_t>(in(0, static_cast<int64_t>(from.size()) - 1))];
    }

    template <class T> void shuffle(std::vector<T> &items)
    {
        for (size_t i = items.size(); i > 1; --i)
            std::swap(items[i - 1], items[static_cast<size_t>(in(0, static_cast<int64_t>(i) - 1))]);
    }

    /* Independent seeds from one: splitmix64. */
    static uint64_t mix(uint64_t seed, uint64_t index)
    {
        uint64_t z = seed + 0x9e3779b97f4a7c15ULL * (index + 1);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }

private:
    std::mt19937_64 bits_;
};

/* Random bytes, quickly. */
inline void scramble(std::byte *to, size_t size, Rng &rng)
{
    static const std::vector<std::byte> pool = [] {
        std::vector<std::byte> bytes(1 << 16);
        std::mt19937_64 bits(20261120);
        for (std::byte &each : bytes)
            each = static_cast<std::byte>(bits());
        return bytes;
    }();
    while (size > 0) {
        const auto from = static_cast<size_t>(rng.in(0, 1 << 12));
        const size_t part = std::min(size, pool.size() - from);
        std::memcpy(to, pool.data() + from, part);
        to += part;
        size -= part;
    }
}

} // namespace oracle
