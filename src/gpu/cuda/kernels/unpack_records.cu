// SPDX-License-Identifier: BSD-3-Clause
// The other direction: a thread puts a word of memory together and writes what the record has of
// it. No byte of a gap is written, for somebody else may do so at the same time.
#include "gpu/cuda/kernels/records.cuh"

#include <numeric>

namespace heddle::gpu::cuda {
namespace {

constexpr int line = 256; // bytes that a warp is to write whole: sectors that two warps write a
                          // part of cost twice
constexpr int64_t most_tiles = 4;                  // of a block, side by side
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
                *reinterpret_cast<uint16_t *>(to + pair) =
                    static_cast<uint16_t>(part >> (8 * pair));
                continue;
            }
            if ((two & 0x08) == 0)
                to[pair] = static_cast<char>(part >> (8 * pair));
            if ((two & 0x80) == 0)
                to[pair + 1] = static_cast<char>(part >> (8 * pair + 8));
        }
    }
}

// The tiles of an unpack. A record here is several of the type's, so that its length is a multiple
// of `width` bytes. `width` is 8, or less where memory begins at no multiple of 8 or records would
// be too long.
struct UnpackTiles {
    const Records &t;
    int packed;
    int extent;
    int tile_packed;
    int64_t end;

    __device__ __forceinline__ explicit UnpackTiles(const Records &records)
        : t(records),
          packed(static_cast<int>(records.packed.value)),
          extent(records.extent),
          tile_packed(records.tile * packed),
          end(records.first + records.bytes)
    {
    }
    __device__ __forceinline__ int first_of(int64_t i) const
    {
        return static_cast<int>(max(t.first - i * tile_packed, int64_t{0}));
    }
    __device__ __forceinline__ int end_of(int64_t i) const
    {
        return static_cast<int>(min(end - i * tile_packed, int64_t{tile_packed}));
    }
    __device__ __forceinline__ const char *dense_of(int64_t i) const
    {
        return t.dense + (i * tile_packed - t.first);
    }
    __device__ __forceinline__ Stretch stretch(int64_t i) const
    {
        const char *const dense = dense_of(i);
        return stretch_of(dense, dense + first_of(i), dense + end_of(i), t.dense,
                          t.dense + t.bytes);
    }
};

// A table entry for each word of a record's memory, and the packed byte of each byte there.
template <int width>
__device__ __forceinline__ void make_unpack_table(const UnpackTiles &tiles, StagedImage &staged,
                                                  Entry *table, uint16_t *byte_at)
{
    const Records &t = tiles.t;
#pragma unroll 1
    for (int m = threadIdx.x; m < tiles.extent; m += record_threads)
        byte_at[m] = gap;
    const ImageView image = stage_image(t.side, staged);
    __syncthreads();
#pragma unroll 1
    for (int o = threadIdx.x; o < tiles.packed; o += record_threads)
        byte_at[place(t.side, image, o)] = static_cast<uint16_t>(o);
    __syncthreads();
#pragma unroll 1
    for (int w = threadIdx.x; w < tiles.extent / width; w += record_threads) {
        int places[word];
#pragma unroll
        for (int b = 0; b < word; ++b)
            places[b] = b < width ? byte_at[w * width + b] : gap;
        table[w] = make_entry(places);
    }
}

// Writes the records of a tile whose packed bytes are staged at `shared + here`.
template <int width> __device__ __forceinline__ void write_records(const UnpackTiles &tiles,
                                                                   int64_t tile, const char *shared,
                                                                   int here, const Entry *table,
                                                                   const uint16_t *byte_at)
{
    const Records &t = tiles.t;
    const int packed = tiles.packed;
    const int record_words = tiles.extent / width;
    char *const mem = t.mem + tile * t.tile * tiles.extent;
    const int from = tiles.first_of(tile);
    const int until = tiles.end_of(tile);
    const bool whole = from == 0 && until == tiles.tile_packed;
    if (whole && t.fetch && threadIdx.x == 0)
        fetch(mem, mem + t.tile * tiles.extent);
    constexpr uint32_t full = width == 8 ? gaps : gaps & ((1ull << (4 * width)) - 1);
    const int count = t.tile * record_words;
    const auto odd = static_cast<int>(reinterpret_cast<uintptr_t>(mem) % line) / width;
#pragma unroll 2
    for (int k = static_cast<int>(threadIdx.x) - odd; k < count; k += record_threads) {
        if (k < 0)
            continue;
        const auto r = static_cast<int>(t.words.divide(k));
        const int w = k - r * record_words;
        const Entry e = table[w];
        const int record = r * packed;
        if (e.select == more_pieces || (!whole && (record < from || record + packed > until))) {
#pragma unroll
            for (int b = 0; b < width; ++b) {
                const int o = byte_at[w * width + b];
                if (o != gap && record + o >= from && record + o < until)
                    mem[k * width + b] = shared[here + record + o];
            }
            continue;
        }
        uint2 value = load_shared(shared, here + record - slack + e.piece[0]);
        if (!is_one_piece(e))
            value = join(value, load_shared(shared, here + record - slack + e.piece[1]), e);
        if ((e.select & full) == 0)
            store_low<width>(mem + k * width, value);
        else if ((e.select & full) != full)
            store_covered(mem + k * width, value, e.select);
    }
}

template <int width, bool far> __global__ void __launch_bounds__(record_threads)
    unpack_records(const __grid_constant__ Records t, Signal signal)
{
    extern __shared__ uint4 shared_words[];
    __shared__ StagedImage staged_image;
    char *const shared = reinterpret_cast<char *>(shared_words);
    const UnpackTiles tiles(t);
    auto *const table = reinterpret_cast<Entry *>(shared); // for words of memory
    auto *const byte_at = reinterpret_cast<uint16_t *>(table + tiles.extent / width);
    int now = t.staged_at + slack;
    int next = far ? now : now + t.staged_each; // the next tile is on its way in registers, or in
                                                // shared memory
    Held held;
    const int64_t first_tile = static_cast<int64_t>(blockIdx.x) * t.tiles_a_block;
    const int64_t last_tile = min(t.tiles, first_tile + t.tiles_a_block);
    await_earlier();
    Stretch coming = tiles.stretch(first_tile); // arrives while the table is made
    if constexpr (far)
        held.load(coming);
    else
        begin_stage(shared + now, coming);
    let_next_in();
    make_unpack_table<width>(tiles, staged_image, table, byte_at);

    for (int64_t i = first_tile; i < last_tile; ++i) {
        const bool more = i + 1 < last_tile;
        if constexpr (far) {
            held.store(shared + now, coming);
            __syncthreads();
            if (more) { // arrives while this one is written
                coming = tiles.stretch(i + 1);
                held.load(coming);
            }
        } else if (more) {
            begin_stage(shared + next, tiles.stretch(i + 1));
            await_stage<1>();
        } else {
            await_stage<0>();
        }
        const int here =
            now + static_cast<int>(reinterpret_cast<uintptr_t>(tiles.dense_of(i)) % 16);
        write_records<width>(tiles, i, shared, here, table, byte_at);
        __syncthreads();
        const int other = now;
        now = next;
        next = other;
    }
    reach(signal);
}

// Records of a tile: whole lines where those are not many, for lines that two tiles share cost
// twice.
int64_t tile_of(int64_t extent, int width)
{
    const int64_t about = tile_words * width / extent;
    const int64_t of_lines = line / std::gcd(int64_t{line}, extent);
    return of_lines <= 2 * about ? std::max<int64_t>(about / of_lines, 1) * of_lines
                                 : std::max<int64_t>(about, 1);
}

} // namespace

cudaError_t run_unpack_records(Launcher &launcher, Records t, bool far)
{
    int64_t packed = t.packed.value;
    while (t.extent % word != 0 && t.extent * 2 <= record_most_extent) {
        t.extent *= 2;
        packed *= 2;
    }
    const auto phase = static_cast<int>(reinterpret_cast<uintptr_t>(t.mem) % word);
    const int bits = t.extent | phase | word;
    const int width = bits & -bits;
    t.packed = Divider32::of(packed);
    t.words = Divider32::of(t.extent / width);
    t.tile = static_cast<int32_t>(tile_of(t.extent, width));
    t.tiles = divide_up(t.first + t.bytes, t.tile * packed);
    t.tiles_a_block = static_cast<int32_t>(
        std::clamp<int64_t>(t.tiles / (launcher.processors() * 32), 1, most_tiles));
    const int64_t table = t.extent / width * static_cast<int64_t>(sizeof(Entry)) + t.extent * 2;
    t.staged_at = static_cast<int32_t>(align_up(table));
    t.staged_each = static_cast<int32_t>(align_up(int64_t{t.tile} * packed + 16 + 2 * slack));
    const int64_t shared = t.staged_at + (far ? 1 : std::min(t.tiles_a_block, 2)) * t.staged_each;
    return for_width(width, [&](auto constant) {
        constexpr int w = std::min<int>(constant, word);
        return launcher.start(far ? unpack_records<w, true> : unpack_records<w, false>,
                              divide_up(t.tiles, t.tiles_a_block), record_threads, shared, t);
    });
}

} // namespace heddle::gpu::cuda
