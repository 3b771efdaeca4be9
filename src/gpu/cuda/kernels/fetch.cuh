// SPDX-License-Identifier: BSD-3-Clause
// Sectors of which an unpack writes only a part. What such a sector lacks is read from memory
// before it leaves the cache, sector by sector and late. Asking for it beforehand is faster. On an
// H200, in us:
//
//   data                                         asked for  late
//   256 MiB in blocks of 72 bytes                      241   396
//   256 MiB in blocks of 200 bytes                     170   232
//   640 MB in irregular runs of 64 bytes               603   794
//   170 MB in records of 17 bytes, 24 apart            186   247
#pragma once

#include "gpu/cuda/kernels/geometry.hpp"
#include "gpu/cuda/kernels/tuning.hpp"

namespace heddle::gpu::cuda {

constexpr int sector = 32;

// Whether the target is the device's own memory, and more is written than stays in the cache
// anyway.
inline bool outgrows_cache(const Tuning &tuning, const Work &work)
{
    return !work.remote && work.bytes >= tuning.fetch_least_bytes;
}

// Whether fetching pays: blocks reach over several sectors, but not over so many that it matters no
// more. Shorter ones far apart take up to a third longer.
inline bool is_fetched(const Tuning &tuning, const Work &work, int64_t block)
{
    return outgrows_cache(tuning, work) && block > sector &&
           block < tuning.fetch_most_sectors * sector;
}

// Whether a strided side has any such sectors at all.
inline bool has_parts(const Side &s)
{
    uint64_t bits = reinterpret_cast<uintptr_t>(s.base) | static_cast<uint64_t>(s.block);
    for (int d = 0; d < s.dims; ++d)
        bits |= static_cast<uint64_t>(s.dim[d].stride);
    return bits % sector != 0;
}

#if defined(__CUDACC__)

// The sectors of [begin, end) go to the cache. A prefetch by address takes a sector's neighbour
// along.
__device__ __forceinline__ void fetch(const char *begin, const char *end)
{
    const uintptr_t first = reinterpret_cast<uintptr_t>(begin) / sector * sector;
    const uintptr_t last = (reinterpret_cast<uintptr_t>(end) + (sector - 1)) / sector * sector;
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(first),
                 "r"(static_cast<uint32_t>(last - first)));
#else
    for (uintptr_t at = first; at < last; at += sector)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
#endif
}

// The sectors at the ends of [begin, end) that reach beyond it.
__device__ __forceinline__ void fetch_ends(const char *begin, const char *end)
{
    const bool first = reinterpret_cast<uintptr_t>(begin) % sector != 0;
    const bool last = reinterpret_cast<uintptr_t>(end) % sector != 0;
    if (first)
        fetch(begin, begin + 1);
    if (last && (!first || reinterpret_cast<uintptr_t>(begin) / sector !=
                               reinterpret_cast<uintptr_t>(end) / sector))
        fetch(end - 1, end);
}

// The sector of the word at `place`, if its block reaches over a part of it only and this is its
// first word there. `before` and `behind`: bytes of the block before the word, and from it on.
template <class Index>
__device__ __forceinline__ void fetch_part(const char *place, Index before, Index behind)
{
    const auto at = static_cast<int>(reinterpret_cast<uintptr_t>(place) % sector);
    if (before == 0 ? at != 0 || behind < sector : at == 0 && behind < sector)
        fetch(place, place + 1);
}

#endif

} // namespace heddle::gpu::cuda
