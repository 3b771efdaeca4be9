// SPDX-License-Identifier: BSD-3-Clause
// Digests of sequences of words, by which layouts are compared: a polynomial modulo the prime 2^127
// - 1, at a secret point. Two different sequences of n words, chosen without knowing the point,
// have equal digests with a probability of at most n / 2^126. No digest leaves the process, so
// nobody learns the point.
#pragma once

#include "checked.hpp"

#include <cstdint>
#include <unistd.h>

namespace heddle {

struct Digest {
    uint64_t low = 0;
    uint64_t high = 0; // below 2^63

    bool operator==(const Digest &) const = default;
};

class Digester {
public:
    void add(uint64_t word) { value_ = times(value_, point_) + word; }
    void add(int64_t word) { add(static_cast<uint64_t>(word)); }
    void add(const Digest &d)
    {
        add(d.low);
        add(d.high);
    }

    Digest digest() const
    {
        wide v = folded(value_);
        v = v < prime ? v : v - prime;
        return {static_cast<uint64_t>(v), static_cast<uint64_t>(v >> 64)};
    }

private:
    __extension__ using wide = unsigned __int128;
    static constexpr wide prime = (wide{1} << 127) - 1;

    static wide secret_point()
    {
        static const wide point = [] {
            wide random;
            if (getentropy(&random, sizeof random) != 0)
                throw Error{HEDDLE_ERR_NO_MEMORY}; // the system has no randomness to give
            return random % prime;
        }();
        return point;
    }

    // The same modulo the prime; at most 2^127.
    static wide folded(wide a) { return (a & prime) + (a >> 127); }

    // No sum exceeds 128 bits: `a` is folded to at most 2^127, `b` is below it, and each summand is
    // folded.
    static wide times(wide a, wide b)
    {
        a = folded(a);
        const auto a0 = static_cast<uint64_t>(a), a1 = static_cast<uint64_t>(a >> 64);
        const auto b0 = static_cast<uint64_t>(b), b1 = static_cast<uint64_t>(b >> 64);
        const wide cross = static_cast<wide>(a0) * b1 + static_cast<wide>(a1) * b0; // of 2^64
        const wide lower = folded(static_cast<wide>(a0) * b0) + folded(cross << 64);
        const wide upper = 2 * (static_cast<wide>(a1) * b1 + (cross >> 64)); // 2^128 is 2
        return folded(folded(lower) + folded(upper));
    }

    const wide point_ = secret_point();
    wide value_ = 1; // so that leading zeros count
};

} // namespace heddle
