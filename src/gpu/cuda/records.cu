// SPDX-License-Identifier: BSD-3-Clause
// Small records one after the other: any arrangement of bytes inside a record, through shared memory, so that
// both sides are read and written in wide words side by side. A table in shared memory says for each byte of
// a record where it lies on the other side; blocks stay for several tiles, so that
// they build it less often.
#include "access.cuh"

#include <cuda_pipeline_primitives.h>

namespace heddle::gpu::cuda {
namespace {

constexpr int most_packed = 1024;  // bytes of a record, packed
constexpr int64_t least_bytes = 256 * 1024; // to move
constexpr int most_extent = 2048;  // and in memory
constexpr int word = 8;            // bytes that a thread puts together
constexpr uint16_t gap = 0xffff;   // instead of a place: a byte of memory that the record does not have

struct Records {
    char *mem;   // of the first record that is touched
    char *dense; // where the first packed byte lies
    int64_t first; // packed bytes to move, counted from that record on; below `packed`
    int64_t bytes;
    Divider64 packed; // bytes of a record
    Divider64 extent;
    Divider32 packed32;
    Divider32 extent32;
    int64_t tiles;
    int32_t tile;        // bytes on the written side, a multiple of `word`
    int32_t staged_at;   // in shared memory
    int32_t staged_each; // bytes for a tile; there are two
    Side side; // to locate the bytes of a record
};

// A table entry: where on the staged side the eight bytes from one on of the written side lie. Mostly they
// are two pieces, the first `split` / 8 bytes and the rest, each of which is an unaligned load.
struct Entry {
    uint16_t piece[2]; // the eight bytes' place if all were like this piece's, plus `slack`
    uint8_t covered;   // a bit for each byte that is no gap
    uint8_t split;     // bits; `many`: there are more pieces than two
    uint16_t unused;
};
static_assert(sizeof(Entry) == word);
constexpr int slack = 16; // bytes before and behind what is staged that a load may touch
constexpr uint8_t many = 0xff;

// The entry for bytes whose places are `places`, gaps included.
__device__ __forceinline__ Entry make_entry(const int (&places)[word])
{
    Entry e{};
    int base[2] = {0, 0};
    int pieces = 0;
    e.split = 8 * word;
#pragma unroll
    for (int b = 0; b < word; ++b) {
        if (places[b] == gap)
            continue;
        e.covered |= 1 << b;
        if (pieces == 0 || (pieces == 1 && places[b] - b != base[0])) {
            if (pieces == 1)
                e.split = static_cast<uint8_t>(8 * b);
            base[pieces++] = places[b] - b;
        } else if (places[b] - b != base[pieces - 1]) {
            e.split = many;
        }
    }
    e.piece[0] = static_cast<uint16_t>(base[0] + slack);
    e.piece[1] = static_cast<uint16_t>(base[1] + slack);
    return e;
}

__device__ __forceinline__ uint64_t load_unaligned(const char *from)
{
    const auto address = reinterpret_cast<uintptr_t>(from);
    const auto *const words = reinterpret_cast<const uint32_t *>(from - address % 4);
    const auto shift = static_cast<uint32_t>(address % 4 * 8);
    const uint32_t low = __funnelshift_r(words[0], words[1], shift);
    const uint32_t high = __funnelshift_r(words[1], words[2], shift);
    return static_cast<uint64_t>(high) << 32 | low;
}

// The eight bytes of an entry that has at most two pieces. `record` is where its record is staged.
__device__ __forceinline__ uint64_t gather(const char *record, const Entry &e)
{
    // Both loads always: words that wait for one another cost more than a load.
    const uint64_t second = e.split < 8 * word ? ~uint64_t{0} << e.split : 0;
    return (load_unaligned(record + e.piece[0] - slack) & ~second) |
           (load_unaligned(record + e.piece[1] - slack) & second);
}

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

// Table entry o: where in memory, from the record's address, packed bytes o to o + 7 lie.
__global__ void __launch_bounds__(block_threads, 6) pack_records(const __grid_constant__ Records t, Signal signal)
{
    extern __shared__ uint4 shared[];
    __shared__ StagedImage staged_image;
    __shared__ uint16_t place_of[most_packed];
    __shared__ int lowest;
    __shared__ int highest;
    auto *const table = reinterpret_cast<Entry *>(shared);
    char *const staged = reinterpret_cast<char *>(shared) + t.staged_at;
    const int packed = static_cast<int>(t.packed.value);
    const int extent = static_cast<int>(t.extent.value);
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
#pragma unroll 4
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

// Writes the bytes of `value` whose bits are set in `mask`, and no other, in as few pieces as alignment
// allows.
__device__ __forceinline__ void write_covered(char *to, uint64_t value, uint32_t mask)
{
    if (mask == 0xff) {
        *reinterpret_cast<uint64_t *>(to) = value;
        return;
    }
#pragma unroll
    for (int half = 0; half < word; half += 4) {
        const uint32_t four = mask >> half & 0xf;
        const auto part = static_cast<uint32_t>(value >> (8 * half));
        if (four == 0xf) {
            *reinterpret_cast<uint32_t *>(to + half) = part;
            continue;
        }
#pragma unroll
        for (int pair = 0; pair < 4; pair += 2) {
            const uint32_t two = four >> pair & 3;
            if (two == 3)
                *reinterpret_cast<uint16_t *>(to + half + pair) = static_cast<uint16_t>(part >> (8 * pair));
            else if (two == 1)
                to[half + pair] = static_cast<char>(part >> (8 * pair));
            else if (two == 2)
                to[half + pair + 1] = static_cast<char>(part >> (8 * pair + 8));
        }
    }
}

// Table entry m: which packed bytes, from the record's first, lie at m to m + 7 of memory.
__global__ void __launch_bounds__(block_threads, 6) unpack_records(const __grid_constant__ Records t, Signal signal)
{
    extern __shared__ uint4 shared[];
    __shared__ StagedImage staged_image;
    __shared__ uint16_t byte_at[most_extent];
    auto *const table = reinterpret_cast<Entry *>(shared);
    char *const staged = reinterpret_cast<char *>(shared) + t.staged_at;
    const int packed = static_cast<int>(t.packed.value);
    const int extent = static_cast<int>(t.extent.value);
    const auto odd = static_cast<int64_t>(reinterpret_cast<uintptr_t>(t.mem) % word);
    const int64_t end = t.first + t.bytes;
    const int64_t memory_end = (t.packed.divide(end - 1) + 1) * extent;
    for (int m = threadIdx.x; m < extent; m += block_threads)
        byte_at[m] = gap;
    const ImageView image = stage_image(t.side, staged_image);
    __syncthreads();
    for (int o = threadIdx.x; o < packed; o += block_threads)
        byte_at[place(t.side, image, o)] = static_cast<uint16_t>(o);
    __syncthreads();
    int pieces = 0;
    for (int m = threadIdx.x; m < extent; m += block_threads) {
        int places[word];
        int at = m;
        int record = 0;
#pragma unroll
        for (int b = 0; b < word; ++b) {
            places[b] = byte_at[at] == gap ? gap : byte_at[at] + record;
            if (++at == extent) {
                at = 0;
                record += packed;
            }
        }
        const Entry e = make_entry(places);
        table[m] = e;
        pieces |= e.split == many;
    }
    const bool simple = !__syncthreads_or(pieces);

    // Tiles begin where words of the memory side do.
    const char *const dense = t.dense - t.first; // of packed byte 0
    const auto begin = [&](int64_t i, char *to) {
        const int64_t low = max(int64_t{0}, i * t.tile - odd);
        const int64_t high = min(memory_end, (i + 1) * t.tile - odd);
        const int64_t zero = t.extent.divide(low) * packed;
        const int64_t from = max(t.first, zero);
        const int64_t until = min(end, (t.extent.divide(high - 1) + 1) * packed);
        begin_stage(to, dense + zero, dense + from, dense + max(from, until));
    };
    char *now = staged + slack;
    char *next = now + t.staged_each;
    begin(blockIdx.x, now);
    for (int64_t i = blockIdx.x; i < t.tiles; i += gridDim.x) {
        const int64_t tile_begin = i * t.tile - odd;
        const int64_t low = max(int64_t{0}, tile_begin);
        const int64_t high = min(memory_end, tile_begin + t.tile);
        const int64_t record = t.extent.divide(low);
        if (i + gridDim.x < t.tiles) {
            begin(i + gridDim.x, next);
            await_stage<1>();
        } else {
            await_stage<0>();
        }
        const int64_t zero = record * packed;
        const char *const here = now + reinterpret_cast<uintptr_t>(dense + zero) % 16;
        char *const mem = t.mem + record * extent;
        const int first = static_cast<int>(tile_begin - record * extent);
        const int last = static_cast<int>(high - record * extent);
        // Packed bytes from the record's first that are to be moved, and the words of memory all of whose
        // records are to be moved whole.
        const int from = static_cast<int>(max(t.first - zero, int64_t{0}));
        const auto until = static_cast<int>(min(end - zero, int64_t{1} << 30));
        const int whole = from == 0 ? static_cast<int>(low - record * extent) : extent;
        const int whole_end = min(last, until / packed * extent);
        if (simple && first == whole && last == whole_end && (last - first) % word == 0) {
#pragma unroll 4
            for (int y = first + threadIdx.x * word; y < last; y += block_threads * word) {
                const uint32_t r = t.extent32.divide(y);
                const Entry e = table[y - r * extent];
                write_covered(mem + y, gather(here + r * packed, e), e.covered);
            }
            __syncthreads();
            swap(now, next);
            continue;
        }
        for (int y = first + threadIdx.x * word; y < last; y += block_threads * word) {
            const bool inside = y >= whole && y + word <= whole_end;
            const uint32_t r = inside ? t.extent32.divide(y) : 0;
            const Entry e = table[inside ? y - r * extent : 0];
            if (inside && e.split != many) {
                if (e.covered != 0)
                    write_covered(mem + y, gather(here + r * packed, e), e.covered);
            } else {
                for (int b = max(y, 0); b < min(y + word, last); ++b) {
                    const uint32_t its = t.extent32.divide(b);
                    const uint16_t o = byte_at[b - its * extent];
                    const int x = static_cast<int>(its) * packed + o;
                    if (o != gap && x >= from && x < until)
                        mem[b] = here[x];
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

constexpr int64_t staged_bytes = 10 * 1024; // about, for one tile; several blocks are to share a multiprocessor

constexpr int64_t align_up(int64_t n)
{
    return (n + 15) / 16 * 16;
}

// The longest tile on the written side so that what is staged for it has room.
int64_t tile_length(int64_t written, int64_t staged, int64_t shared_limit)
{
    const auto table = written * static_cast<int64_t>(sizeof(Entry));
    const int64_t fixed = sizeof(StagedImage) + most_extent * sizeof(uint16_t) + 1024;
    const int64_t room = std::min(staged_bytes, (shared_limit - table - fixed) / 2);
    return std::max<int64_t>(room / staged - 2, 1) * written / word * word;
}

} // namespace

bool takes_records(const Work &work)
{
    const Halves h = halves(work);
    if (!h.dense || h.other->shape == Shape::dense)
        return false;
    const Record r = record_of(*h.other);
    if (work.bytes < least_bytes)
        return false; // building the table would cost more than it saves
    return r.packed > 0 && r.packed <= most_packed && r.extent > 0 && r.extent <= most_extent &&
           r.extent <= 4 * r.packed && is_inside(*h.other);
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
    t.extent = Divider64::of(r.extent);
    t.packed32 = Divider32::of(r.packed);
    t.extent32 = Divider32::of(r.extent);
    t.side = *h.other;

    const int64_t written = h.pack ? r.packed : r.extent; // bytes of a record on the side that is written
    const int64_t staged = h.pack ? r.extent : r.packed;  // and on the side that is staged
    const int64_t length = h.pack ? work.bytes : ((o.first + work.bytes - 1) / r.packed + 1) * r.extent;
    const int64_t start = static_cast<int64_t>(reinterpret_cast<uintptr_t>(h.pack ? t.dense : t.mem) % word);
    int64_t tile = std::max<int64_t>(tile_length(written, staged, launcher.shared_limit()), word);
    // A small transfer is spread over all multiprocessors.
    tile = std::clamp(divide_up(length, launcher.processors()) / word * word + word, std::min<int64_t>(tile, 2048), tile);
    t.tile = static_cast<int32_t>(tile);
    t.tiles = divide_up(start + length, tile);
    t.staged_at = static_cast<int32_t>(align_up(written * static_cast<int64_t>(sizeof(Entry))));
    t.staged_each = static_cast<int32_t>(align_up((tile / written + 2) * staged + 16 + 2 * slack));
    const int64_t shared = t.staged_at + 2 * t.staged_each;
    return launcher.start(h.pack ? pack_records : unpack_records,
                          divide_up(t.tiles, std::clamp<int64_t>(t.tiles / (launcher.processors() * 8), 1, 8)),
                          block_threads, shared, t);
}

} // namespace heddle::gpu::cuda
