// SPDX-License-Identifier: BSD-3-Clause
// What the two kernels for records share: their parameters, and staging in shared memory.
#pragma once

#include "access.cuh"

#include <cuda_pipeline_primitives.h>

namespace heddle::gpu::cuda {

constexpr int64_t most_packed = 1024; // bytes of a record, packed
constexpr int64_t most_extent = 2048; // and in memory

// The registers are to suffice for so many blocks on a multiprocessor.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int resident_blocks = 4;
#else
constexpr int resident_blocks = 6;
#endif

struct Records {
    char *mem;     // of the first record that is touched
    char *dense;   // where the first packed byte lies
    int64_t first; // packed bytes to move, counted from that record on; below `packed`
    int64_t bytes;
    Divider64 packed; // bytes of a record
    int32_t extent;
    Divider32 packed32;
    int64_t tiles;
    int32_t tile;        // pack: packed bytes; unpack: records
    int32_t staged_at;   // in shared memory
    int32_t staged_each; // bytes for a tile; there are two
    Side side;           // to locate the bytes of a record
};

// Bytes before and behind what is staged that a load may touch.
constexpr int slack = 16;

// Begins to copy [from, to) to shared memory; byte 0 of `staged` stands for the 16-byte boundary at or below
// `zero`. Reads no byte outside the range. It has arrived after await_stage().
__device__ __forceinline__ void begin_stage(char *staged, const char *zero, const char *from, const char *to)
{
    const auto boundary = reinterpret_cast<uintptr_t>(zero) & ~uintptr_t{15};
    const auto *const bytes = reinterpret_cast<const char *>(boundary);
    const auto begin = static_cast<int>(reinterpret_cast<uintptr_t>(from) - boundary);
    const auto end = static_cast<int>(reinterpret_cast<uintptr_t>(to) - boundary);
    const int inner = (begin + 15) & ~15;
    const int inner_end = end & ~15;
    for (int i = inner + threadIdx.x * 16; i < inner_end; i += block_threads * 16)
        __pipeline_memcpy_async(staged + i, bytes + i, 16);
    __pipeline_commit();
    const int head = min(inner, end);
    for (int i = begin + threadIdx.x; i < head; i += block_threads)
        staged[i] = bytes[i];
    for (int i = max(inner_end, head) + threadIdx.x; i < end; i += block_threads)
        staged[i] = bytes[i];
}

__device__ __forceinline__ void swap(char *&a, char *&b)
{
    char *const other = a;
    a = b;
    b = other;
}

// All but the latest `later` of what was begun is there, for all threads.
template <int later> __device__ __forceinline__ void await_stage()
{
    __pipeline_wait_prior(later);
    __syncthreads();
}

// Eight bytes from any address in shared memory, by two aligned loads.
__device__ __forceinline__ uint64_t load_unaligned(const char *from)
{
    const auto address = reinterpret_cast<uintptr_t>(from);
    const auto *const words = reinterpret_cast<const uint2 *>(from - address % 8);
    const uint2 low = words[0];
    const uint2 high = words[1];
    const bool odd = address & 4;
    const uint32_t a = odd ? low.y : low.x;
    const uint32_t b = odd ? high.x : low.y;
    const uint32_t c = odd ? high.y : high.x;
    const auto shift = static_cast<uint32_t>(address % 4 * 8);
    return static_cast<uint64_t>(__funnelshift_r(b, c, shift)) << 32 | __funnelshift_r(a, b, shift);
}

constexpr int64_t align_up(int64_t n)
{
    return (n + 15) / 16 * 16;
}

// Blocks that stay for several tiles, where there are many: each builds its table once.
inline int64_t blocks_for(const Launcher &launcher, int64_t tiles)
{
    return divide_up(tiles, std::clamp<int64_t>(tiles / (launcher.processors() * 8), 1, 8));
}

// In unpack_records.cu. `t` lacks what depends on the direction.
cudaError_t run_unpack_records(Launcher &launcher, Records t);

} // namespace heddle::gpu::cuda
