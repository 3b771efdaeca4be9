// SPDX-License-Identifier: BSD-3-Clause
// The other direction: a thread puts a word of memory together and writes what the record has of it. No byte of a
// gap is written, for somebody else may do so at the same time. The packed bytes come straight from memory, as
// neighbouring threads read neighbouring ones.
#include "records.cuh"

namespace heddle::gpu::cuda {
namespace {

constexpr int at_once = 2; // words of a thread
constexpr int line = 256;  // bytes that a warp is to write whole: sectors that two warps write a part of cost twice
constexpr int64_t most_tiles = 4; // of a block, side by side
constexpr int64_t tile_words = 4 * record_threads; // about

template <int width> __device__ __forceinline__ void store_low(char *to, uint2 value)
{
    if constexpr (width == 8)
        store_word<8>(to, value);
    else
        store_word<width>(to, static_cast<Word<width>>(value.x));
}

// The bytes of `value` that are no gaps, in as few pieces as alignment allows.
__device__ __forceinline__ void store_covered(char *to, uint2 value, uint32_t select)
{
#pragma unroll
    for (int half = 0; half < 2; ++half, select >>= 16, to += 4) {
        const uint32_t part = half == 0 ? value.x : value.y;
        if ((select & 0x8888) == 0) {
            *reinterpret_cast<uint32_t *>(to) = part;
            continue;
        }
#pragma unroll
        for (int pair = 0; pair < 4; pair += 2) {
            const uint32_t two = select >> (4 * pair);
            if ((two & 0x88) == 0) {
                *reinterpret_cast<uint16_t *>(to + pair) = static_cast<uint16_t>(part >> (8 * pair));
                continue;
            }
            if ((two & 0x08) == 0)
                to[pair] = static_cast<char>(part >> (8 * pair));
            if ((two & 0x80) == 0)
                to[pair + 1] = static_cast<char>(part >> (8 * pair + 8));
        }
    }
}

// A record here is as many of the type's as are a multiple of `width` bytes long, which is 8, or less where memory
// begins at no multiple of 8 or records are too long for that.
template <int width>
__global__ void __launch_bounds__(record_threads) unpack_records(const __grid_constant__ Records t, Signal signal)
{
    extern __shared__ uint4 shared[];
    __shared__ StagedImage staged_image;
    const auto packed = static_cast<int>(t.packed.value);
    const int extent = t.extent;
    const int record_words = extent / width;
    auto *const table = reinterpret_cast<Entry *>(shared); // for words of memory
    auto *const byte_at = reinterpret_cast<uint16_t *>(table + record_words);
    for (int m = threadIdx.x; m < extent; m += record_threads)
        byte_at[m] = gap;
    const ImageView image = stage_image(t.side, staged_image);
    __syncthreads();
    for (int o = threadIdx.x; o < packed; o += record_threads)
        byte_at[place(t.side, image, o)] = static_cast<uint16_t>(o);
    __syncthreads();
    bool pieces = false;
    for (int w = threadIdx.x; w < record_words; w += record_threads) {
        int places[word];
#pragma unroll
        for (int b = 0; b < word; ++b)
            places[b] = b < width ? byte_at[w * width + b] : gap;
        const Entry e = make_entry(places);
        table[w] = e;
        pieces |= e.select == more_pieces;
    }
    const bool simple = !__syncthreads_or(pieces);

    // Loads may touch bytes on both sides of a record: those at the ends of the transfer go byte by byte.
    const int64_t end = t.first + t.bytes;
    const int64_t margin = slack + word;
    const int64_t tile_packed = static_cast<int64_t>(t.tile) * packed;
    const int64_t last_tile = min(t.tiles, (blockIdx.x + int64_t{1}) * t.tiles_a_block);
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * t.tiles_a_block; i < last_tile; ++i) {
        const int64_t zero = i * tile_packed;
        const char *const dense = t.dense + (zero - t.first);
        char *const mem = t.mem + i * t.tile * extent;
        if (simple && zero - margin >= t.first && zero + tile_packed + margin <= end) {
            constexpr uint32_t full = width == 8 ? gaps : gaps & ((1ull << (4 * width)) - 1);
            const int count = t.tile * record_words;
            if (t.fetch && threadIdx.x == 0)
                fetch(mem, mem + t.tile * extent);
            const auto odd = static_cast<int>(reinterpret_cast<uintptr_t>(mem) % line) / width;
            for (int begin = static_cast<int>(threadIdx.x) - odd; begin < count; begin += at_once * record_threads) {
                // All loads before all stores: what waits is many words, not one.
                Entry e[at_once];
                const char *record[at_once];
                uint2 value[at_once];
#pragma unroll
                for (int i = 0; i < at_once; ++i) {
                    const int k = max(0, min(begin + i * record_threads, count - 1));
                    const auto r = static_cast<int>(t.words.divide(k));
                    e[i] = table[k - r * record_words];
                    record[i] = dense + r * packed - slack;
                    value[i] = load_global(record[i] + e[i].piece[0]);
                }
#pragma unroll
                for (int i = 0; i < at_once; ++i)
                    if (!is_one_piece(e[i]))
                        value[i] = join(value[i], load_global(record[i] + e[i].piece[1]), e[i]);
#pragma unroll
                for (int i = 0; i < at_once; ++i) {
                    const int k = begin + i * record_threads;
                    if (k < 0 || k >= count)
                        continue;
                    if ((e[i].select & full) == 0)
                        store_low<width>(mem + k * width, value[i]);
                    else if ((e[i].select & full) != full)
                        store_covered(mem + k * width, value[i], e[i].select);
                }
            }
        } else {
            const int64_t from = max(t.first - zero, int64_t{0});
            const int64_t until = min(end - zero, tile_packed);
            for (int k = threadIdx.x; k < t.tile * extent; k += record_threads) {
                const auto r = static_cast<int>(t.words.divide(k / width));
                const uint16_t o = byte_at[k - r * extent];
                const int x = r * packed + o;
                if (o != gap && x >= from && x < until)
                    mem[k] = dense[x];
            }
        }
    }
    reach(signal);
}

} // namespace

cudaError_t run_unpack_records(Launcher &launcher, Records t)
{
    int64_t packed = t.packed.value;
    while (t.extent % word != 0 && t.extent * 2 <= most_extent) {
        t.extent *= 2;
        packed *= 2;
    }
    const auto phase = static_cast<int>(reinterpret_cast<uintptr_t>(t.mem) % word);
    const int bits = t.extent | phase | word;
    const int width = bits & -bits;
    t.packed = Divider32::of(packed);
    t.words = Divider32::of(t.extent / width);
    constexpr int64_t of_lines = line / word; // records
    t.tile = static_cast<int32_t>(std::max<int64_t>(tile_words * width / t.extent / of_lines, 1) * of_lines);
    t.tiles = divide_up(t.first + t.bytes, t.tile * packed);
    t.tiles_a_block = static_cast<int32_t>(std::clamp<int64_t>(t.tiles / (launcher.processors() * 32), 1, most_tiles));
    const int64_t table = t.extent / width * static_cast<int64_t>(sizeof(Entry)) + t.extent * 2;
    return for_width(width, [&](auto constant) {
        constexpr int w = std::min<int>(constant, word);
        return launcher.start(unpack_records<w>, divide_up(t.tiles, t.tiles_a_block), record_threads, table, t);
    });
}

} // namespace heddle::gpu::cuda
