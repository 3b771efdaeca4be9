// SPDX-License-Identifier: BSD-3-Clause
// What the two kernels for records share: their parameters, and staging in shared memory.
#pragma once

#include "access.cuh"

#include <cuda_pipeline_primitives.h>

namespace heddle::gpu::cuda {

constexpr int64_t most_packed = 1024; // bytes of a record, packed
constexpr int64_t most_extent = 2048; // and in memory

// Small blocks, many on a multiprocessor: while one waits for its tile, others write theirs.
constexpr int record_threads = 128;

struct Records {
    char *mem;     // of the first record that is touched
    char *dense;   // where the first packed byte lies
    int64_t first; // packed bytes to move, counted from that record on; below `packed`
    int64_t bytes;
    Divider32 packed; // bytes of a record
    int32_t extent;
    int64_t tiles;
    int32_t tile;        // records
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
    for (int i = inner + threadIdx.x * 16; i < inner_end; i += record_threads * 16)
        __pipeline_memcpy_async(staged + i, bytes + i, 16);
    __pipeline_commit();
    const int head = min(inner, end);
    for (int i = begin + threadIdx.x; i < head; i += record_threads)
        staged[i] = bytes[i];
    for (int i = max(inner_end, head) + threadIdx.x; i < end; i += record_threads)
        staged[i] = bytes[i];
}

// All but the latest `later` of what was begun is there, for all threads.
template <int later> __device__ __forceinline__ void await_stage()
{
    __pipeline_wait_prior(later);
    __syncthreads();
}

// Eight bytes from any place in shared memory, as two halves, by two aligned loads.
__device__ __forceinline__ uint2 load_unaligned(const char *shared, int place)
{
    const auto *const words = reinterpret_cast<const uint2 *>(shared + (place & ~7));
    const uint2 low = words[0];
    const uint2 high = words[1];
    const bool odd = place & 4;
    const uint32_t a = odd ? low.y : low.x;
    const uint32_t b = odd ? high.x : low.y;
    const uint32_t c = odd ? high.y : high.x;
    const int shift = place * 8; // its low five bits count
    return {__funnelshift_r(a, b, shift), __funnelshift_r(b, c, shift)};
}

// What is needed to build the tables only lies where the second tile will.
struct Scratch {
    StagedImage image;
    uint16_t byte_at[most_extent];
};

constexpr int64_t align_up(int64_t n)
{
    return (n + 15) / 16 * 16;
}

// Sees to what depends on the size of the table, and on how much is staged for a tile.
template <class Kernel> cudaError_t start_records(Launcher &launcher, Kernel kernel, Records &t, int64_t table, int64_t staged)
{
    t.staged_at = static_cast<int32_t>(align_up(table));
    t.staged_each = static_cast<int32_t>(align_up(std::max<int64_t>(staged + 16 + 2 * slack, sizeof(Scratch))));
    // Blocks stay for several tiles, where there are many: each builds its table once.
    const int64_t blocks = divide_up(t.tiles, std::clamp<int64_t>(t.tiles / (launcher.processors() * 16), 1, 8));
    return launcher.start(kernel, blocks, record_threads, t.staged_at + 2 * t.staged_each, t);
}

// In unpack_records.cu. `t` lacks what depends on the direction.
cudaError_t run_unpack_records(Launcher &launcher, Records t);

} // namespace heddle::gpu::cuda
