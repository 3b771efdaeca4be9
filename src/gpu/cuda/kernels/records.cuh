// SPDX-License-Identifier: BSD-3-Clause
// What the two kernels for records share: their parameters, and staging in shared memory. Each
// block prepares what it does in code that it runs once, and the fewer instructions that is long,
// the sooner a small transfer ends: they come from memory. So its loops are not unrolled.
#pragma once

#include "gpu/cuda/kernels/access.cuh"

#include <cuda_pipeline_primitives.h>

namespace heddle::gpu::cuda {

// Small blocks, many on a multiprocessor: while one waits for its tile, others write theirs.
constexpr int record_threads = 128;

struct Records {
    char *mem;     // of the first record that is touched
    char *dense;   // where the first packed byte lies
    int64_t first; // packed bytes to move, counted from that record on; below `packed`
    int64_t bytes;
    Divider32 packed; // bytes of a record
    Divider32 words;  // of a record in memory; unpack
    int32_t extent;
    int64_t tiles;
    int32_t tile;          // records
    int32_t tiles_a_block; // unpack
    bool fetch;            // unpack: memory goes to the cache before it is written
    int32_t staged_at;     // in shared memory
    int32_t staged_each;   // bytes for a tile; there are two
    Side side;             // to locate the bytes of a record
};

// Bytes before and behind what is staged that a load may touch.
constexpr int slack = 16;

// The part of a tile that is staged, [begin, end). It is counted from the 16-byte boundary at or
// below the tile's begin. From `inner` to `inner_end` 16 bytes at a time, which may be a few more;
// the bytes before and behind those, where the transfer begins and ends, one by one.
struct Stretch {
    const char *bytes; // the boundary
    int begin, end, inner, inner_end;
};

// The stretch of [from, to), of which [least, most) may be read. The tile begins at `zero`.
__device__ __forceinline__ Stretch stretch_of(const char *zero, const char *from, const char *to,
                                              const char *least, const char *most)
{
    const auto boundary = reinterpret_cast<uintptr_t>(zero) & ~uintptr_t{15};
    const auto *const bytes = reinterpret_cast<const char *>(boundary);
    const auto begin = static_cast<int>(reinterpret_cast<uintptr_t>(from) - boundary);
    const auto end = static_cast<int>(reinterpret_cast<uintptr_t>(to) - boundary);
    return {bytes, begin, end, bytes + (begin & ~15) >= least ? begin & ~15 : (begin + 15) & ~15,
            bytes + ((end + 15) & ~15) <= most ? (end + 15) & ~15 : end & ~15};
}

__device__ __forceinline__ void stage_edges(char *staged, const Stretch &s)
{
    const int head = max(min(s.inner, s.end), s.begin);
    const int tail = min(max(s.inner_end, head), s.end);
#pragma unroll 1
    for (int i = s.begin + static_cast<int>(threadIdx.x); i < head + s.end - tail;
         i += record_threads) {
        const int at = i < head ? i : i + (tail - head);
        staged[at] = s.bytes[at];
    }
}

// Begins to copy a stretch to shared memory; it has arrived after await_stage().
__device__ __forceinline__ void begin_stage(char *staged, const Stretch &s)
{
#pragma unroll 1
    for (int i = s.inner + threadIdx.x * 16; i < s.inner_end; i += record_threads * 16)
        __pipeline_memcpy_async(staged + i, s.bytes + i, 16);
    __pipeline_commit();
    stage_edges(staged, s);
}

// For records that come over a link, where asynchronous copies take twice as long. What arrives is
// held in registers while something else is done. Two H200s, 17 MB of records of 17 bytes: 66 us,
// by asynchronous copies 114 us.
struct Held {
    static constexpr int words = 2;
    uint4 word[words];

    __device__ __forceinline__ void load(const Stretch &s)
    {
#pragma unroll
        for (int k = 0; k < words; ++k)
            if (const int i = s.inner + (k * record_threads + threadIdx.x) * 16; i < s.inner_end)
                word[k] = __ldcs(reinterpret_cast<const uint4 *>(s.bytes + i));
    }
    // Stores the words, and copies the rest of the stretch, if it is longer.
    __device__ __forceinline__ void store(char *staged, const Stretch &s) const
    {
#pragma unroll
        for (int k = 0; k < words; ++k)
            if (const int i = s.inner + (k * record_threads + threadIdx.x) * 16; i < s.inner_end)
                *reinterpret_cast<uint4 *>(staged + i) = word[k];
#pragma unroll 2
        for (int i = s.inner + (words * record_threads + threadIdx.x) * 16; i < s.inner_end;
             i += record_threads * 16)
            *reinterpret_cast<uint4 *>(staged + i) =
                __ldcs(reinterpret_cast<const uint4 *>(s.bytes + i));
        stage_edges(staged, s);
    }
};

// All but the latest `later` of what was begun is there, for all threads.
template <int later> __device__ __forceinline__ void await_stage()
{
    __pipeline_wait_prior(later);
    __syncthreads();
}

// Eight bytes from any address, as two halves, by two aligned loads: `shift` says how far into the
// first they begin.
__device__ __forceinline__ uint2 funnel(uint2 low, uint2 high, int shift)
{
    const bool odd = shift & 4;
    const uint32_t a = odd ? low.y : low.x;
    const uint32_t b = odd ? high.x : low.y;
    const uint32_t c = odd ? high.y : high.x;
    // the shift's low five bits count
    return {__funnelshift_r(a, b, shift * 8), __funnelshift_r(b, c, shift * 8)};
}

__device__ __forceinline__ uint2 load_shared(const char *shared, int place)
{
    const auto *const words = reinterpret_cast<const uint2 *>(shared + (place & ~7));
    return funnel(words[0], words[1], place);
}

constexpr int word = 8;          // bytes that a thread puts together
constexpr uint16_t gap = 0xffff; // instead of a place: a byte that the record does not have

// A table entry: where on the side that is read the eight bytes from one on of the written side
// lie. Mostly they are one piece or two, each of which is an unaligned load.
struct Entry {
    uint16_t piece[2]; // where all eight would lie if they were like this piece's, plus `slack`
    uint32_t select; // for each byte which piece it is of, as __byte_perm takes it: four digits for
                     // each half
};
static_assert(sizeof(Entry) == word);
constexpr uint32_t one_piece = 0x32103210;
constexpr uint32_t second_piece = 4;
constexpr uint32_t no_piece = 8; // a gap
constexpr uint32_t gaps = 0x88888888;
constexpr uint32_t more_pieces = 0xffffffff; // than two

__device__ __forceinline__ Entry make_entry(const int (&places)[word])
{
    // Where all eight would lie if they were like the first byte that is no gap, and like the last.
    int first = 0;
    int last = 0;
#pragma unroll
    for (int b = 0; b < word; ++b) {
        if (places[word - 1 - b] != gap)
            first = places[word - 1 - b] - (word - 1 - b);
        if (places[b] != gap)
            last = places[b] - b;
    }
    uint32_t select = one_piece;
    bool more = false;
#pragma unroll
    for (int b = 0; b < word; ++b) {
        const int here = places[b] - b;
        const uint32_t piece = places[b] == gap ? no_piece : here != first ? second_piece : 0;
        more |= piece == second_piece && here != last;
        select |= piece << (4 * b);
    }
    if (more)
        return {{0, 0}, more_pieces};
    return {{static_cast<uint16_t>(first + slack), static_cast<uint16_t>(last + slack)}, select};
}

__device__ __forceinline__ bool is_one_piece(const Entry &e)
{
    return (e.select & ~gaps) == one_piece;
}

__device__ __forceinline__ uint2 join(uint2 first, uint2 second, const Entry &e)
{
    return {__byte_perm(first.x, second.x, e.select),
            __byte_perm(first.y, second.y, e.select >> 16)};
}

constexpr int64_t align_up(int64_t n) { return (n + 15) / 16 * 16; }

// In unpack_records.cu. `t` lacks what depends on the direction.
cudaError_t run_unpack_records(Launcher &launcher, Records t, bool far);

} // namespace heddle::gpu::cuda
