// SPDX-License-Identifier: BSD-3-Clause
// Irregular runs that are spelt out. A thread block moves one tile of packed bytes; the tile table names its
// runs, so nothing is searched for. A run marks the word at which it begins in a bit mask; a word's run is then
// the number of marks up to it.
#include "device_code.cuh"

namespace heddle::gpu::cuda {
namespace {

constexpr int tile_threads = 128;

struct Tiles {
    char *mem;       // of the first stretch that is touched
    char *dense;     // where the first packed byte lies
    int64_t first;   // packed bytes to move, counted from that stretch's beginning
    int64_t bytes;
    int64_t first_tile;
    int64_t tiles;   // of a stretch
    Divisor by_tiles;
    RunList runs;
};

// Shared memory: a displacement for each run of the tile.
template <int width, bool pack>
__global__ void __launch_bounds__(tile_threads) copy_runs(const __grid_constant__ Tiles t, Signal signal)
{
    constexpr int words = tile_bytes / width;
    constexpr int groups = (words + 31) / 32;
    constexpr int each = words / tile_threads;
    extern __shared__ int64_t offsets[]; // of the memory of a run against its place in the tile
    __shared__ uint32_t marks[groups];   // a bit for each word with which a run begins
    __shared__ int group_run[groups];    // the run of the first word of 32

    const int64_t number = t.first_tile + blockIdx.x;
    const int64_t stretch = t.by_tiles.divide(number);
    const int64_t in_stretch = number - stretch * t.tiles;
    const int64_t tile_begin = in_stretch * tile_bytes;
    const int64_t run_begin = t.runs.tile[in_stretch];
    const int run_count = static_cast<int>(t.runs.tile[in_stretch + 1] - run_begin) + 1;
    for (int g = threadIdx.x; g < groups; g += tile_threads)
        marks[g] = 0;
    __syncthreads();

    const int64_t here = stretch * t.runs.extent;
    for (int r = threadIdx.x; r < run_count; r += tile_threads) {
        const int64_t from = t.runs.prefix[run_begin + r] - tile_begin;
        const int64_t to = t.runs.prefix[run_begin + r + 1] - tile_begin;
        if (from >= tile_bytes)
            continue; // the last one may begin where the tile ends
        offsets[r] = here + t.runs.displs[run_begin + r] - from;
        const int begin = from < 0 ? 0 : static_cast<int>(from) / width;
        const int end = to > tile_bytes ? words : static_cast<int>(to) / width;
        if (begin % 32 != 0)
            atomicOr(&marks[begin / 32], 1u << (begin % 32));
        for (int g = (begin + 31) / 32; g * 32 < end; ++g)
            group_run[g] = r;
    }
    __syncthreads();

    // The part of this tile that is to be moved.
    const int64_t tile_place = stretch * t.runs.bytes + tile_begin;
    const int64_t low = t.first - tile_place;
    const int64_t stretch_end = t.runs.bytes - tile_begin;
    const int64_t high = min(t.first + t.bytes - tile_place, min(stretch_end, int64_t{tile_bytes}));
    char *const dense = t.dense - low;
    const uint32_t lanes = (2u << (threadIdx.x % 32)) - 1;
    const auto at = [&](int w) {
        const int run = group_run[w / 32] + __popc(marks[w / 32] & lanes);
        return t.mem + offsets[run] + w * width;
    };

    constexpr int at_once = each < 4 ? each : 4;
    for (int begin = 0; begin < words; begin += at_once * tile_threads) {
        Word<width> word[at_once];
        char *place[at_once];
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
            const int w = begin + i * tile_threads + threadIdx.x;
            const int y = w * width;
            place[i] = nullptr;
            if (y < low || y >= high)
                continue;
            place[i] = at(w);
            word[i] = load_word<width>(pack ? place[i] : dense + y);
        }
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
            const int y = (begin + i * tile_threads + static_cast<int>(threadIdx.x)) * width;
            if (place[i])
                store_word<width>(pack ? dense + y : place[i], word[i]);
        }
    }
    reach(signal);
}

int64_t shared_bytes(const RunList &runs)
{
    return int64_t{runs.most} * static_cast<int64_t>(sizeof(int64_t));
}

} // namespace

bool takes_runs(const Work &work)
{
    const Halves h = halves(work);
    return h.dense && h.other->shape == Shape::image && h.other->runs.displs && h.other->runs.most > 0;
}

cudaError_t run_runs(Launcher &launcher, const Work &work)
{
    const Halves h = halves(work);
    const RunList &runs = h.other->runs;
    const int64_t stretch = h.other->first / runs.bytes;
    Tiles t{};
    t.mem = h.other->base + stretch * runs.extent;
    t.dense = h.dense->base + h.dense->first;
    t.first = h.other->first - stretch * runs.bytes;
    t.bytes = work.bytes;
    t.first_tile = t.first / tile_bytes;
    t.tiles = divide_up(runs.bytes, tile_bytes);
    t.by_tiles = Divisor::of(t.tiles);
    t.runs = runs;
    const int64_t last = t.first + t.bytes - 1;
    const int64_t last_tile = last / runs.bytes * t.tiles + last % runs.bytes / tile_bytes;
    return for_width(word_width(work), [&](auto constant) {
        constexpr int width = constant;
        return launcher.start(h.pack ? copy_runs<width, true> : copy_runs<width, false>,
                              last_tile - t.first_tile + 1, tile_threads, shared_bytes(runs), t);
    });
}

} // namespace heddle::gpu::cuda
