// SPDX-License-Identifier: BSD-3-Clause
// Small records one after the other: any arrangement of bytes inside a record, through shared memory, so that
// both sides are read and written in wide words side by side. A table in shared memory says for each byte of
// a record where it lies on the other side; blocks stay for many tiles, so that they build it once.
#include "access.cuh"

namespace heddle::gpu::cuda {
namespace {

constexpr int most_packed = 1024;  // bytes of a record, packed
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
    int32_t tile;      // bytes on the written side, a multiple of `word`
    int32_t staged_at; // in shared memory
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
    int base[2] = {-slack, -slack};
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
    uint64_t value = load_unaligned(record + e.piece[0] - slack);
    if (e.split < 8 * word) {
        const uint64_t first = (uint64_t{1} << e.split) - 1;
        value = (value & first) | (load_unaligned(record + e.piece[1] - slack) & ~first);
    }
    return value;
}

// Copies [from, to) to shared memory, 16 bytes at a time; byte 0 of `staged` stands for the 16-byte boundary
// at or below `zero`. Reads no byte outside the range.
__device__ __forceinline__ void stage(char *staged, const char *zero, const char *from, const char *to)
{
    const auto boundary = reinterpret_cast<uintptr_t>(zero) & ~uintptr_t{15};
    const auto begin = reinterpret_cast<uintptr_t>(from) - boundary;
    const auto end = reinterpret_cast<uintptr_t>(to) - boundary;
    const auto *const bytes = reinterpret_cast<const char *>(boundary);
    const uintptr_t inner = (begin + 15) & ~uintptr_t{15};
    const uintptr_t inner_end = end & ~uintptr_t{15};
    if (inner < inner_end)
        for (uintptr_t i = inner + threadIdx.x * 16; i < inner_end; i += block_threads * 16)
            *reinterpret_cast<uint4 *>(staged + i) = load_word<16>(bytes + i);
    const uintptr_t head = min(inner, end);
    for (uintptr_t i = begin + threadIdx.x; i < head; i += block_threads)
        staged[i] = bytes[i];
    for (uintptr_t i = max(inner_end, head) + threadIdx.x; i < end; i += block_threads)
        staged[i] = bytes[i];
}

// Table entry o: where in memory, from the record's address, packed bytes o to o + 7 lie.
__global__ void __launch_bounds__(block_threads) pack_records(const __grid_constant__ Records t, Signal signal)
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
        table[o] = make_entry(places);
    }

    // Tiles begin where words of the packed side do.
    const auto odd = static_cast<int64_t>(reinterpret_cast<uintptr_t>(t.dense) % word);
    const int64_t end = t.first + t.bytes;
    for (int64_t i = blockIdx.x; i < t.tiles; i += gridDim.x) {
        const int64_t tile_begin = t.first - odd + i * t.tile;
        const int64_t low = max(t.first, tile_begin);
        const int64_t high = min(end, tile_begin + t.tile);
        const int64_t record = t.packed.divide(low);
        const int64_t last_record = t.packed.divide(high - 1);
        const char *const mem = t.mem + record * extent;
        __syncthreads();
        stage(staged + slack, mem, mem + lowest, t.mem + last_record * extent + highest);
        __syncthreads();
        const char *const here = staged + slack + reinterpret_cast<uintptr_t>(mem) % 16;
        const int64_t zero = record * packed;
        for (int64_t x = tile_begin + threadIdx.x * word; x < high; x += block_threads * word) {
            char *const to = t.dense + (x - t.first);
            const auto start = static_cast<uint32_t>(x - zero);
            const bool whole = x >= low && x + word <= high;
            const uint32_t start_record = whole ? t.packed32.divide(start) : 0;
            const Entry e = table[whole ? start - start_record * packed : 0];
            if (whole && e.split != many) {
                *reinterpret_cast<uint64_t *>(to) = gather(here + start_record * extent, e);
            } else {
                for (int b = 0; b < word; ++b)
                    if (x + b >= low && x + b < high) {
                        const auto y = static_cast<uint32_t>(x + b - zero);
                        const uint32_t r = t.packed32.divide(y);
                        to[b] = here[r * extent + place_of[y - r * packed]];
                    }
            }
        }
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
__global__ void __launch_bounds__(block_threads) unpack_records(const __grid_constant__ Records t, Signal signal)
{
    extern __shared__ uint4 shared[];
    __shared__ StagedImage staged_image;
    __shared__ uint16_t byte_at[most_extent];
    auto *const table = reinterpret_cast<Entry *>(shared);
    char *const staged = reinterpret_cast<char *>(shared) + t.staged_at;
    const int packed = static_cast<int>(t.packed.value);
    const int extent = static_cast<int>(t.extent.value);
    for (int m = threadIdx.x; m < extent; m += block_threads)
        byte_at[m] = gap;
    const ImageView image = stage_image(t.side, staged_image);
    __syncthreads();
    for (int o = threadIdx.x; o < packed; o += block_threads)
        byte_at[place(t.side, image, o)] = static_cast<uint16_t>(o);
    __syncthreads();
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
        table[m] = make_entry(places);
    }

    // Tiles begin where words of the memory side do.
    const auto odd = static_cast<int64_t>(reinterpret_cast<uintptr_t>(t.mem) % word);
    const int64_t end = t.first + t.bytes;
    const int64_t memory_end = (t.packed.divide(end - 1) + 1) * extent;
    const char *const dense = t.dense - t.first; // of packed byte 0
    for (int64_t i = blockIdx.x; i < t.tiles; i += gridDim.x) {
        const int64_t tile_begin = i * t.tile - odd;
        const int64_t low = max(int64_t{0}, tile_begin);
        const int64_t high = min(memory_end, tile_begin + t.tile);
        const int64_t record = t.extent.divide(low);
        const int64_t last_record = t.extent.divide(high - 1);
        const int64_t zero = record * packed;
        const int64_t from = max(t.first, zero);
        const int64_t to = min(end, (last_record + 1) * packed);
        __syncthreads();
        if (from < to)
            stage(staged + slack, dense + zero, dense + from, dense + to);
        __syncthreads();
        const char *const here = staged + slack + reinterpret_cast<uintptr_t>(dense + zero) % 16;
        // Words of memory all of whose records are to be moved whole.
        const int64_t whole = zero >= t.first ? low : low + extent;
        const int64_t whole_end = (last_record + 1) * packed <= end ? high : high - extent;
        for (int64_t a = tile_begin + threadIdx.x * word; a < high; a += block_threads * word) {
            char *const at = t.mem + a;
            const auto start = static_cast<uint32_t>(a - record * extent);
            const bool inside = a >= whole && a + word <= whole_end;
            const uint32_t start_record = inside ? t.extent32.divide(start) : 0;
            const Entry e = table[inside ? start - start_record * extent : 0];
            if (inside && e.split != many) {
                if (e.covered != 0)
                    write_covered(at, gather(here + start_record * packed, e), e.covered);
            } else {
                for (int b = 0; b < word; ++b) {
                    if (a + b < low || a + b >= high)
                        continue;
                    const auto y = static_cast<uint32_t>(a + b - record * extent);
                    const uint32_t r = t.extent32.divide(y);
                    const uint16_t o = byte_at[y - r * extent];
                    const int64_t x = zero + static_cast<int64_t>(r) * packed + o;
                    if (o != gap && x >= from && x < to)
                        at[b] = here[x - zero];
                }
            }
        }
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

constexpr int64_t staged_bytes = 24 * 1024; // about; several blocks are to share a multiprocessor

constexpr int64_t align_up(int64_t n)
{
    return (n + 15) / 16 * 16;
}

// The longest tile on the written side so that what is staged for it has room.
int64_t tile_length(int64_t written, int64_t staged, int64_t shared_limit)
{
    const auto table = written * static_cast<int64_t>(sizeof(Entry));
    const int64_t fixed = sizeof(StagedImage) + most_extent * sizeof(uint16_t) + 1024;
    const int64_t room = std::min(staged_bytes, shared_limit - table - fixed);
    return std::max<int64_t>(room / staged - 2, 1) * written / word * word;
}

} // namespace

bool takes_records(const Work &work)
{
    const Halves h = halves(work);
    if (!h.dense || h.other->shape == Shape::dense)
        return false;
    const Record r = record_of(*h.other);
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
    const int64_t shared = t.staged_at + (tile / written + 2) * staged + 16 + 2 * slack;
    return launcher.start(h.pack ? pack_records : unpack_records,
                          std::min<int64_t>(t.tiles, int64_t{launcher.processors()} * 8), block_threads, shared, t);
}

} // namespace heddle::gpu::cuda
