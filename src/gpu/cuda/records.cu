// SPDX-License-Identifier: BSD-3-Clause
// Small records one after the other: any arrangement of bytes inside a record, through shared memory, so that
// both sides are read and written in wide words side by side. A table in shared memory says for each byte of
// a record where it lies on the other side; blocks stay for several tiles, so that they build it less often.
#include "records.cuh"

namespace heddle::gpu::cuda {
namespace {

constexpr int word = 8; // bytes that a thread puts together

// A table entry: where in memory eight packed bytes lie. Mostly they are two pieces, the first `split` / 8 bytes
// and the rest, each of which is an unaligned load.
struct Entry {
    uint16_t piece[2]; // where all eight would lie if they were like this piece's, plus `slack`
    uint32_t split;    // bits; `many`: there are more pieces than two
};
static_assert(sizeof(Entry) == word);
constexpr uint32_t many = 0xff;

__device__ __forceinline__ Entry make_entry(const int (&places)[word])
{
    int base[2] = {places[0], 0};
    uint32_t split = 8 * word;
#pragma unroll
    for (int b = 1; b < word; ++b) {
        const int here = places[b] - b;
        if (split == 8 * word && here != base[0]) {
            split = 8 * b;
            base[1] = here;
        } else if (split < 8 * word && here != base[1]) {
            split = many;
        }
    }
    return {{static_cast<uint16_t>(base[0] + slack), static_cast<uint16_t>(base[1] + slack)}, split};
}

// The eight bytes of an entry that has at most two pieces. `record` is where its record is staged.
__device__ __forceinline__ uint64_t gather(const char *record, const Entry &e)
{
    uint64_t value = load_unaligned(record + e.piece[0] - slack);
    if (e.split < 8 * word) {
        const uint64_t second = ~uint64_t{0} << e.split;
        value = (value & ~second) | (load_unaligned(record + e.piece[1] - slack) & second);
    }
    return value;
}

// Table entry o: where in memory, from the record's address, packed bytes o to o + 7 lie.
__global__ void __launch_bounds__(block_threads, resident_blocks) pack_records(const __grid_constant__ Records t, Signal signal)
{
    extern __shared__ uint4 shared[];
    __shared__ StagedImage staged_image;
    __shared__ uint16_t place_of[most_packed];
    __shared__ int lowest;
    __shared__ int highest;
    auto *const table = reinterpret_cast<Entry *>(shared);
    char *const staged = reinterpret_cast<char *>(shared) + t.staged_at;
    const int packed = static_cast<int>(t.packed.value);
    const int extent = t.extent;
    const ImageView image = stage_image(t.side, staged_image);
    if (threadIdx.x == 0) {
        lowest = extent;
        highest = 0;
    }
    __syncthreads();
    for (int o = threadIdx.x; o < packed; o += block_threads) {
        const int m = static_cast<int>(place(t.side, image, o));
        place_of[o] = static_cast<uint16_t>(m);
        atomicMin(&lowest, m);
        atomicMax(&highest, m + 1);
    }
    __syncthreads();
    int pieces = 0;
    for (int o = threadIdx.x; o < packed; o += block_threads) {
        int places[word];
        int at = o;
        int record = 0;
#pragma unroll
        for (int b = 0; b < word; ++b) {
            places[b] = place_of[at] + record;
            if (++at == packed) {
                at = 0;
                record += extent;
            }
        }
        const Entry e = make_entry(places);
        table[o] = e;
        pieces |= e.split == many;
    }
    const bool simple = !__syncthreads_or(pieces);

    // Tiles begin where words of the packed side do. While one is written the next is on its way.
    const auto odd = static_cast<int64_t>(reinterpret_cast<uintptr_t>(t.dense) % word);
    const int64_t end = t.first + t.bytes;
    const auto begin = [&](int64_t i, char *to) {
        const int64_t low = max(t.first, t.first - odd + i * t.tile);
        const int64_t high = min(end, t.first - odd + (i + 1) * t.tile);
        const char *const mem = t.mem + t.packed.divide(low) * extent;
        begin_stage(to, mem, mem + lowest, t.mem + t.packed.divide(high - 1) * extent + highest);
    };
    char *now = staged + slack;
    char *next = now + t.staged_each;
    begin(blockIdx.x, now);
    for (int64_t i = blockIdx.x; i < t.tiles; i += gridDim.x) {
        const int64_t tile_begin = t.first - odd + i * t.tile;
        const int64_t low = max(t.first, tile_begin);
        const int64_t high = min(end, tile_begin + t.tile);
        const int64_t record = t.packed.divide(low);
        if (i + gridDim.x < t.tiles) {
            begin(i + gridDim.x, next);
            await_stage<1>();
        } else {
            await_stage<0>();
        }
        const char *const here = now + reinterpret_cast<uintptr_t>(t.mem + record * extent) % 16;
        const int64_t zero = record * packed;
        char *const dense = t.dense + (zero - t.first); // of the record's packed byte 0
        const int first = static_cast<int>(tile_begin - zero);
        const int whole = static_cast<int>(low - zero);
        const int last = static_cast<int>(high - zero);
        if (simple && first == whole && (last - first) % word == 0) {
#pragma unroll 2
            for (int y = first + threadIdx.x * word; y < last; y += block_threads * word) {
                const uint32_t r = t.packed32.divide(y);
                *reinterpret_cast<uint64_t *>(dense + y) = gather(here + r * extent, table[y - r * packed]);
            }
            __syncthreads();
            swap(now, next);
            continue;
        }
        for (int y = first + threadIdx.x * word; y < last; y += block_threads * word) {
            const bool inside = y >= whole && y + word <= last;
            const uint32_t r = inside ? t.packed32.divide(y) : 0;
            const Entry e = table[inside ? y - r * packed : 0];
            if (inside && e.split != many) {
                *reinterpret_cast<uint64_t *>(dense + y) = gather(here + r * extent, e);
            } else {
                for (int b = max(y, whole); b < min(y + word, last); ++b) {
                    const uint32_t its = t.packed32.divide(b);
                    dense[b] = here[its * extent + place_of[b - its * packed]];
                }
            }
        }
        __syncthreads();
        swap(now, next);
    }
    reach(signal);
}

// A record's packed bytes and extent, of an image or of a strided side whose outermost dimension repeats it.
struct Record {
    int64_t packed;
    int64_t extent;
};

Record record_of(const Side &s)
{
    if (s.shape == Shape::image)
        return {s.bytes, s.extent};
    return {outer_bytes(s), s.dim[s.dims - 1].stride};
}

// Whether a strided side's record lies within its extent. Of an image the caller knows.
bool is_inside(const Side &s)
{
    if (s.shape == Shape::image)
        return true;
    int64_t span = s.block;
    for (int d = 0; d < s.dims - 1; ++d) {
        if (s.dim[d].stride < 0 || s.dim[d].stride > most_extent || s.dim[d].count > most_packed)
            return false;
        span += (s.dim[d].count - 1) * s.dim[d].stride;
    }
    return span <= s.dim[s.dims - 1].stride;
}

constexpr int64_t least_bytes = 256 * 1024;  // to move: for less, the table costs more than it saves
constexpr int64_t staged_bytes = 14 * 1024; // of a tile, about

cudaError_t run_pack_records(Launcher &launcher, Records t)
{
    const int64_t packed = t.packed.value;
    const int64_t table = align_up(packed * static_cast<int64_t>(sizeof(Entry)));
    const int64_t fixed = sizeof(StagedImage) + most_packed * sizeof(uint16_t) + 1024;
    const int64_t room = std::min(staged_bytes, (launcher.shared_limit() - table - fixed) / 2);
    const int64_t records = std::max<int64_t>(room / t.extent - 2, 1);
    // A small transfer is spread over all multiprocessors.
    const int64_t share = std::max<int64_t>(t.bytes / launcher.processors(), 2048);
    const int64_t tile = std::max<int64_t>(std::min(records * packed, share) / word * word, word);
    t.tile = static_cast<int32_t>(tile);
    t.tiles = divide_up(static_cast<int64_t>(reinterpret_cast<uintptr_t>(t.dense) % word) + t.bytes, tile);
    t.staged_at = static_cast<int32_t>(table);
    t.staged_each = static_cast<int32_t>(align_up((tile / packed + 2) * t.extent + 16 + 2 * slack));
    return launcher.start(pack_records, blocks_for(launcher, t.tiles), block_threads, table + 2 * t.staged_each, t);
}

} // namespace

bool takes_records(const Work &work)
{
    const Halves h = halves(work);
    if (!h.dense || h.other->shape == Shape::dense)
        return false;
    const Record r = record_of(*h.other);
    return work.bytes >= least_bytes && r.packed > 0 && r.packed <= most_packed && r.extent >= r.packed &&
           r.extent <= std::min(most_extent, 4 * r.packed) && is_inside(*h.other);
}

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
    t.packed = Divider64::of(r.packed);
    t.extent = static_cast<int32_t>(r.extent);
    t.packed32 = Divider32::of(r.packed);
    t.side = *h.other;
    return h.pack ? run_pack_records(launcher, t) : run_unpack_records(launcher, t);
}

} // namespace heddle::gpu::cuda
