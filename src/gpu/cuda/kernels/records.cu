// SPDX-License-Identifier: BSD-3-Clause
// Small records one after the other, with any arrangement of bytes inside a record. They go through
// shared memory, so that both sides are read and written in wide words side by side. A table in
// shared memory says for each byte of a record where it lies on the other side. Blocks stay for
// several tiles, so that they build it less often.
#include "gpu/cuda/kernels/fetch.cuh"
#include "gpu/cuda/kernels/records.cuh"

namespace heddle::gpu::cuda {
namespace {

// Eight packed bytes of records that are staged at `record`, from byte `o` of the first on.
__device__ __forceinline__ uint2 gather_bytes(const char *record, const uint16_t *place_of, int o,
                                              int packed, int extent)
{
    uint64_t value = 0;
#pragma unroll
    for (int b = 0; b < word; ++b) {
        value |= static_cast<uint64_t>(static_cast<unsigned char>(record[place_of[o]])) << (8 * b);
        if (++o == packed) {
            o = 0;
            record += extent;
        }
    }
    return {static_cast<uint32_t>(value), static_cast<uint32_t>(value >> 32)};
}

// The tiles of a pack.
struct PackTiles {
    const Records &t;
    int packed;
    int extent;
    int tile_packed;
    int64_t end;

    __device__ __forceinline__ explicit PackTiles(const Records &records)
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
    __device__ __forceinline__ const char *memory_of(int64_t i) const
    {
        return t.mem + i * t.tile * extent;
    }
    // The first tile and the last are staged from where a record's bytes begin and to where they
    // end, others whole.
    __device__ __forceinline__ bool is_inner(int64_t i) const { return i > 0 && i < t.tiles - 1; }
    // `ends`: the lowest and the highest byte of a record, for the first tile and the last.
    __device__ __forceinline__ void begin(int64_t i, char *staged, const int *ends) const
    {
        const char *const mem = memory_of(i);
        const char *from = mem;
        const char *to = mem + t.tile * extent;
        const char *least = t.mem;
        const char *most = memory_of(t.tiles - 1);
        if (!is_inner(i)) {
            from += t.packed.divide(first_of(i)) * extent + ends[0];
            to = mem + t.packed.divide(end_of(i) - 1) * extent + ends[1];
            least += ends[0];
            most += t.packed.divide(end_of(t.tiles - 1) - 1) * extent + ends[1];
        }
        begin_stage(staged, stretch_of(mem, from, to, least, most));
    }
};

// Where the bytes of a record lie in memory, and table entry o: where packed bytes o to o + 7 do.
__device__ __forceinline__ void make_pack_table(const PackTiles &tiles, StagedImage &staged,
                                                Entry *table, uint16_t *place_of, int *ends,
                                                bool at_edge)
{
    const Records &t = tiles.t;
    const ImageView image = stage_image(t.side, staged);
    if (threadIdx.x == 0) {
        ends[0] = tiles.extent;
        ends[1] = 0;
    }
    __syncthreads();
#pragma unroll 1
    for (int o = threadIdx.x; o < tiles.packed; o += record_threads) {
        const int m = static_cast<int>(place(t.side, image, o));
        place_of[o] = static_cast<uint16_t>(m);
        if (at_edge) {
            atomicMin(&ends[0], m);
            atomicMax(&ends[1], m + 1);
        }
    }
    __syncthreads();
#pragma unroll 1
    for (int o = threadIdx.x; o < tiles.packed; o += record_threads) {
        int places[word];
        int at = o;
        int record = 0;
#pragma unroll
        for (int b = 0; b < word; ++b) {
            places[b] = place_of[at] + record;
            if (++at == tiles.packed) {
                at = 0;
                record += tiles.extent;
            }
        }
        table[o] = make_entry(places);
    }
}

// Writes the packed bytes of a tile that is staged at `shared + here`.
__device__ __forceinline__ void write_packed(const PackTiles &tiles, int64_t tile,
                                             const char *shared, int here, const Entry *table,
                                             const uint16_t *place_of)
{
    const Records &t = tiles.t;
    char *const dense = t.dense + (tile * tiles.tile_packed - t.first);
    // Words of the packed side, and the bytes before and behind them.
    const int from = tiles.first_of(tile);
    const int until = tiles.end_of(tile);
    const auto odd = static_cast<int>(reinterpret_cast<uintptr_t>(dense) % word);
    const int words = from + (-(from + odd) & (word - 1));
    const int words_end = until - ((until + odd) & (word - 1));
#pragma unroll 2
    for (int y = words + threadIdx.x * word; y < words_end; y += record_threads * word) {
        const auto r = static_cast<int>(t.packed.divide(y));
        const int o = y - r * tiles.packed;
        const Entry e = table[o];
        const int record = here + r * tiles.extent;
        uint2 value;
        if (e.select != more_pieces) {
            value = load_shared(shared, record - slack + e.piece[0]);
            if (!is_one_piece(e))
                value = join(value, load_shared(shared, record - slack + e.piece[1]), e);
        } else {
            value = gather_bytes(shared + record, place_of, o, tiles.packed, tiles.extent);
        }
        store_word<word>(dense + y, value);
    }
    const int head = min(words, until);
    const int tail = max(words_end, head);
#pragma unroll 1
    for (int i = from + static_cast<int>(threadIdx.x); i < head + until - tail;
         i += record_threads) {
        const int y = i < head ? i : i + (tail - head);
        const auto r = static_cast<int>(t.packed.divide(y));
        dense[y] = shared[here + r * tiles.extent + place_of[y - r * tiles.packed]];
    }
}

__global__ void __launch_bounds__(record_threads)
    pack_records(const __grid_constant__ Records t, Signal signal)
{
    extern __shared__ uint4 shared_words[];
    __shared__ int ends[2]; // of a record
    char *const shared = reinterpret_cast<char *>(shared_words);
    const PackTiles tiles(t);
    auto *const table = reinterpret_cast<Entry *>(shared);
    auto *const place_of = reinterpret_cast<uint16_t *>(table + tiles.packed);
    int now = t.staged_at + slack;
    int next = now + t.staged_each;
    const auto begin = [&](int64_t i, int at) { tiles.begin(i, shared + at, ends); };

    await_earlier();
    const bool early = tiles.is_inner(blockIdx.x);
    if (early)
        begin(blockIdx.x, now); // arrives while the table is made
    let_next_in();
    const bool at_edge = !early || static_cast<uint32_t>(t.tiles - 1 - blockIdx.x) % gridDim.x == 0;
    make_pack_table(tiles, *reinterpret_cast<StagedImage *>(shared + next - slack), table, place_of,
                    ends, at_edge);

    // While a tile is written the next is on its way.
    if (!early)
        begin(blockIdx.x, now);
    for (int64_t i = blockIdx.x; i < t.tiles; i += gridDim.x) {
        if (i + gridDim.x < t.tiles) {
            begin(i + gridDim.x, next);
            await_stage<1>();
        } else {
            await_stage<0>();
        }
        const int here =
            now + static_cast<int>(reinterpret_cast<uintptr_t>(tiles.memory_of(i)) % 16);
        write_packed(tiles, i, shared, here, table, place_of);
        __syncthreads();
        const int other = now;
        now = next;
        next = other;
    }
    reach(signal);
}

// About the bytes of a tile. Where blocks take several each, more of them run with smaller ones.
constexpr int64_t staged_bytes = 8 * 1024, staged_of_many = 6 * 1024;
constexpr int64_t few_rounds = 2;

cudaError_t run_pack_records(Launcher &launcher, Records t)
{
    const int64_t packed = t.packed.value;
    const int64_t records = divide_up(t.first + t.bytes, packed);
    // tiles end with words
    const auto whole_words = [](int64_t n) { return divide_up(n, word) * word; };
    const int64_t table = packed * static_cast<int64_t>(sizeof(Entry) + sizeof(uint16_t));
    t.staged_at = static_cast<int32_t>(align_up(table));
    // There are as many blocks as run at a time. Each builds its table once, and takes the tiles
    // that lie so many apart.
    int64_t shared = 0, most_blocks = 0, rounds = 0;
    for (const int64_t tile : {staged_bytes, staged_of_many}) {
        t.tile = static_cast<int32_t>(std::max<int64_t>(tile / t.extent / word * word, word));
        const int64_t staged =
            std::max<int64_t>(int64_t{t.tile} * t.extent + 16 + 2 * slack, sizeof(StagedImage));
        t.staged_each = static_cast<int32_t>(align_up(staged));
        shared = t.staged_at + 2 * t.staged_each;
        int resident = 0;
        const cudaError_t e = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &resident, reinterpret_cast<const void *>(pack_records), record_threads,
            static_cast<size_t>(shared));
        if (e != cudaSuccess)
            return e;
        most_blocks = int64_t{launcher.processors()} * std::max(resident, 1);
        rounds = divide_up(records, t.tile * most_blocks);
        if (rounds <= few_rounds)
            break;
    }
    // Each takes as many as the others. A small transfer is spread over all multiprocessors.
    const int64_t shares = rounds > 1 ? rounds * most_blocks : launcher.processors() * 4;
    const int64_t share = std::max<int64_t>(divide_up(records, shares), 1024 / packed);
    t.tile = static_cast<int32_t>(std::min<int64_t>(t.tile, whole_words(share)));
    t.tiles = divide_up(records, t.tile);
    return launcher.start(pack_records, std::min(t.tiles, most_blocks), record_threads, shared, t);
}

} // namespace

cudaError_t run_records(Launcher &launcher, const Work &work)
{
    const Halves h = halves(work);
    const Record r = record_of(*h.other);
    const Origin o = origin(*h.other);
    Records t{};
    t.mem = o.base;
    t.dense = h.dense->base + h.dense->first;
    t.first = o.first;
    t.bytes = work.bytes;
    t.packed = Divider32::of(r.packed);
    t.extent = static_cast<int32_t>(r.extent);
    // Mostly there is something of a record in each of its sectors.
    t.fetch = r.extent < 2 * r.packed && outgrows_cache(launcher.tuning(), work);
    t.side = *h.other;
    return h.pack ? run_pack_records(launcher, t) : run_unpack_records(launcher, t, work.far);
}

} // namespace heddle::gpu::cuda
