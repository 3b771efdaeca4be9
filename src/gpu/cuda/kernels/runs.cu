// SPDX-License-Identifier: BSD-3-Clause
// Irregular runs that are spelt out. A thread block moves one tile of packed bytes; the tile table
// names its runs, so nothing is searched for. A run marks the word at which it begins in a bit
// mask; a word's run is then the number of marks up to it.
#include "gpu/cuda/kernels/fetch.cuh"
#include "gpu/cuda/kernels/runs.cuh"

namespace heddle::gpu::cuda {
namespace {

constexpr int tile_threads = 128;

struct Tiles : Listed {
    int64_t first_tile;
    int64_t tiles; // of a stretch
    Divisor by_tiles;
    bool fetch; // unpack: the sectors that runs write in part
};

// What a thread block moves of its tile: packed bytes [low, high) of it.
struct TilePart {
    int64_t tile_begin; // of its stretch
    int64_t in_stretch; // the tile's number there
    int64_t low;
    int64_t high;
    int64_t memory; // of the stretch, against the first one
};

__device__ __forceinline__ TilePart part_of(const Tiles &t)
{
    const int64_t number = t.first_tile + blockIdx.x;
    const int64_t stretch = t.by_tiles.divide(number);
    const int64_t in_stretch = number - stretch * t.tiles;
    const int64_t tile_begin = in_stretch * tile_bytes;
    const int64_t tile_place = stretch * t.runs.bytes + tile_begin;
    const int64_t stretch_end = t.runs.bytes - tile_begin;
    return {tile_begin, in_stretch, t.first - tile_place,
            min(t.first + t.bytes - tile_place, min(stretch_end, int64_t{tile_bytes})),
            stretch * t.runs.extent};
}

// What shared memory says of a tile's runs.
template <int width> struct TileRuns {
    static constexpr int words = tile_bytes / width;
    static constexpr int groups = (words + 31) / 32;

    uint32_t marks[groups]; // a bit for each word with which a run begins
    int group_run[groups];  // the run of the first word of 32

    // `offsets`: for each run, where its memory lies against its place in the tile.
    template <bool pack>
    __device__ __forceinline__ void prepare(const Tiles &t, const TilePart &part, int64_t *offsets)
    {
        const int64_t first_run = t.runs.tile[part.in_stretch];
        const int run_count = static_cast<int>(t.runs.tile[part.in_stretch + 1] - first_run) + 1;
        const uint64_t *const entries = t.runs.entries + first_run;
        for (int g = threadIdx.x; g < groups; g += tile_threads)
            marks[g] = 0;
        __syncthreads();
        for (int r = threadIdx.x; r < run_count; r += tile_threads) {
            const uint64_t entry = entries[r];
            const int from = r == 0 ? 0 : begin_of(entry, part.tile_begin);
            const int to =
                r + 1 == run_count ? tile_bytes : begin_of(entries[r + 1], part.tile_begin);
            if (from >= tile_bytes)
                continue; // the last one may begin where the tile ends
            // The first one may begin before the tile.
            const int64_t offset = part.memory + displ_of(entry) -
                                   (r == 0 ? t.runs.prefix[first_run] - part.tile_begin : from);
            offsets[r] = offset;
            if (!pack && t.fetch && max(int64_t{from}, part.low) < min(int64_t{to}, part.high))
                fetch_ends(t.mem + offset + max(int64_t{from}, part.low),
                           t.mem + offset + min(int64_t{to}, part.high));
            const int begin = from / width;
            const int end = to / width;
            if (begin % 32 != 0)
                atomicOr(&marks[begin / 32], 1u << (begin % 32));
            for (int g = (begin + 31) / 32; g * 32 < end; ++g)
                group_run[g] = r;
        }
        __syncthreads();
    }
};

// Shared memory: a displacement for each run of the tile.
template <int width, bool pack> __global__ void __launch_bounds__(tile_threads)
    copy_runs(const __grid_constant__ Tiles t, Signal signal)
{
    constexpr int words = TileRuns<width>::words;
    constexpr int each = words / tile_threads;
    extern __shared__ int64_t offsets[];
    __shared__ TileRuns<width> tile;
    const TilePart part = part_of(t);
    char *const dense = t.dense - part.low;

    constexpr int at_once = each < 4 ? each : 4;
    Word<width> word[at_once];
    const auto load_dense = [&](int begin) {
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
            const int y = (begin + i * tile_threads + static_cast<int>(threadIdx.x)) * width;
            if (y >= part.low && y < part.high)
                word[i] = load_word<width>(dense + y);
        }
    };
    if (!pack) {
        await_earlier();
        load_dense(0); // sooner than its places are known
        let_next_in();
    }
    tile.template prepare<pack>(t, part, offsets);
    if (pack)
        follow();

    const uint32_t lanes = (2u << (threadIdx.x % 32)) - 1;
    for (int begin = 0; begin < words; begin += at_once * tile_threads) {
        char *place[at_once];
        if (!pack && begin > 0)
            load_dense(begin);
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
            const int w = begin + i * tile_threads + threadIdx.x;
            const int y = w * width;
            place[i] = nullptr;
            if (y < part.low || y >= part.high)
                continue;
            const int run = tile.group_run[w / 32] + __popc(tile.marks[w / 32] & lanes);
            place[i] = t.mem + offsets[run] + w * width;
            if (pack)
                word[i] = load_word<width>(place[i]);
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

cudaError_t run_runs(Launcher &launcher, const Work &work, Kernel form)
{
    const Listed list = listed(work);
    const RunList &runs = list.runs;
    const int width = word_width(work);
    const bool pack = halves(work).pack;
    const bool fetch = is_fetched(launcher.tuning(), work, runs.bytes / runs.count);
    if (form == Kernel::even_runs)
        return run_even_runs(launcher, list, width, pack, fetch);
    if (form == Kernel::short_runs)
        return run_short_runs(launcher, list, width, pack);
    if (form == Kernel::few_runs)
        return run_few_runs(launcher, list, width, pack);
    Tiles t{list, 0, 0, {}, fetch};
    t.first_tile = t.first / tile_bytes;
    t.tiles = divide_up(runs.bytes, tile_bytes);
    t.by_tiles = Divisor::of(t.tiles);
    const int64_t last = t.first + t.bytes - 1;
    const int64_t last_tile = last / runs.bytes * t.tiles + last % runs.bytes / tile_bytes;
    return for_width(width, [&](auto constant) {
        constexpr int w = constant;
        return launcher.start(pack ? copy_runs<w, true> : copy_runs<w, false>,
                              last_tile - t.first_tile + 1, tile_threads, shared_bytes(runs), t);
    });
}

} // namespace heddle::gpu::cuda
