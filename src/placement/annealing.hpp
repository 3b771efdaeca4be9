// SPDX-License-Identifier: BSD-3-Clause
// Simulated annealing, with the same steps on every machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::placement {

constexpr int64_t kRounds = 200;     // of one temperature each
constexpr double kCooling = 0.98655; // from round to round; to a fifteenth in all

// xorshift64: the same numbers everywhere, unlike the standard library's distributions.
class Random {
public:
    size_t below(size_t n) { return static_cast<size_t>(next() >> 11) % n; }

    // Whether a loss is accepted at a temperature: about e to the minus their ratio, of sums and
    // products alone, for libm may differ from machine to machine.
    bool accepts(double loss, double temperature)
    {
        const double x = loss / temperature;
        const double share = static_cast<double>(next() >> 11) * 0x1p-53;
        return loss <= 0 || share * (1 + x * (1 + x * (0.5 + x / 6))) < 1;
    }

private:
    uint64_t next()
    {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return state_;
    }
    uint64_t state_ = 88172645463325252;
};

} // namespace heddle::placement
