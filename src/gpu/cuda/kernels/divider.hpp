// SPDX-License-Identifier: BSD-3-Clause
// Division of numbers below 2^31 by a divisor known beforehand: image.hpp's Divisor for 32 bits,
// which costs a GPU a quarter of the instructions.
#pragma once

#include "gpu/core/work.hpp"

namespace heddle::gpu::cuda {

struct Divider32 {
    uint32_t magic = 0; // 0: the divisor is a power of two
    uint32_t shift = 0;
    uint32_t value = 1;

    static Divider32 of(int64_t d)
    {
        const auto u = static_cast<uint32_t>(d);
        const auto log = static_cast<uint32_t>(31 - __builtin_clz(u));
        if ((u & (u - 1)) == 0)
            return {0, log, u};
        return {static_cast<uint32_t>((uint64_t{1} << (32 + log)) / u) + 1, log, u};
    }

#if defined(__CUDACC__)
    __device__ uint32_t divide(uint32_t n) const
    {
        return (magic ? __umulhi(n, magic) : n) >> shift;
    }
#endif
};

// The same for 63 bits, with the divisor at hand.
struct Divider64 {
    Divisor by;
    int64_t value = 1;

    static Divider64 of(int64_t d) { return {Divisor::of(d), d}; }

#if defined(__CUDACC__)
    __device__ int64_t divide(int64_t n) const { return by.divide(n); }
#endif
};

} // namespace heddle::gpu::cuda
