// SPDX-License-Identifier: BSD-3-Clause
// The other direction: records are written in units of 1 to 8 bytes, each as wide as alignment and the record's
// gaps allow. No byte of a gap is written, for somebody else may do so at the same time.
#include "records.cuh"

namespace heddle::gpu::cuda {
namespace {

constexpr uint16_t gap = 0xffff;           // instead of a place: a byte that the record does not have
constexpr int64_t staged_bytes = 8 * 1024; // of a tile, about

struct Unit {
    uint16_t at;    // in memory, from the record on
    uint16_t place; // of its first packed byte
    uint32_t bytes;
};

// The widest unit that byte m belongs to: aligned, whole, and of neighbours in the packed form too.
__device__ __forceinline__ Unit unit_of(const uint16_t *byte_at, int m, int extent, uint32_t phase, int widest)
{
    for (int bytes = widest; bytes > 1; bytes /= 2) {
        const int at = m - static_cast<int>((phase + m) % bytes);
        bool whole = at >= 0 && at + bytes <= extent && byte_at[at] != gap;
        for (int b = 1; whole && b < bytes; ++b)
            whole = byte_at[at + b] == byte_at[at] + b;
        if (whole)
            return {static_cast<uint16_t>(at), byte_at[at], static_cast<uint32_t>(bytes)};
    }
    return {static_cast<uint16_t>(m), byte_at[m], 1};
}

// Fills the table in the order of memory and returns how many units there are. Called by all threads.
__device__ __forceinline__ int build_units(Unit *units, const uint16_t *byte_at, int extent, uint32_t phase)
{
    __shared__ int count;
    if (threadIdx.x < 32) {
        const int widest = min(8, extent & -extent);
        int before = 0;
        for (int begin = 0; begin < extent; begin += 32) {
            const int m = begin + static_cast<int>(threadIdx.x);
            Unit u{};
            if (m < extent && byte_at[m] != gap)
                u = unit_of(byte_at, m, extent, phase, widest);
            const bool heads = u.bytes != 0 && u.at == m;
            const uint32_t all = __ballot_sync(0xffffffff, heads);
            if (heads)
                units[before + __popc(all & ((1u << threadIdx.x) - 1))] = u;
            before += __popc(all);
        }
        if (threadIdx.x == 0)
            count = before;
    }
    __syncthreads();
    return count;
}

__device__ __forceinline__ void store_unit(char *to, uint2 value, uint32_t bytes)
{
    if (bytes == 8)
        *reinterpret_cast<uint2 *>(to) = value;
    else if (bytes == 4)
        *reinterpret_cast<uint32_t *>(to) = value.x;
    else if (bytes == 2)
        *reinterpret_cast<uint16_t *>(to) = static_cast<uint16_t>(value.x);
    else
        *to = static_cast<char>(value.x);
}

// A record here is as many of the type's as make every alignment come round again.
__global__ void __launch_bounds__(record_threads) unpack_records(const __grid_constant__ Records t, Signal signal)
{
    extern __shared__ uint4 shared_words[];
    char *const shared = reinterpret_cast<char *>(shared_words);
    auto *const units = reinterpret_cast<Unit *>(shared);
    int now = t.staged_at + slack;
    int next = now + t.staged_each;
    const auto packed = static_cast<int>(t.packed.value);
    const int extent = t.extent;

    const int64_t end = t.first + t.bytes;
    const char *const dense = t.dense - t.first; // of packed byte 0
    const int64_t tile_packed = static_cast<int64_t>(t.tile) * packed;
    const auto begin = [&](int64_t i, int at) {
        const int64_t zero = i * tile_packed;
        begin_stage(shared + at, dense + zero, dense + max(t.first, zero), dense + min(end, zero + tile_packed));
    };
    begin(blockIdx.x, now);

    auto *const scratch = reinterpret_cast<Scratch *>(shared + next - slack);
    uint16_t *const byte_at = scratch->byte_at;
    for (int m = threadIdx.x; m < extent; m += record_threads)
        byte_at[m] = gap;
    const ImageView image = stage_image(t.side, scratch->image);
    __syncthreads();
    for (int o = threadIdx.x; o < packed; o += record_threads)
        byte_at[place(t.side, image, o)] = static_cast<uint16_t>(o);
    __syncthreads();
    const auto count = static_cast<uint32_t>(build_units(units, byte_at, extent, reinterpret_cast<uintptr_t>(t.mem) % 8));
    const uint32_t log = 31 - __clz(count);
    const Divider32 by_count{(count & (count - 1)) == 0 ? 0 : static_cast<uint32_t>((uint64_t{1} << (32 + log)) / count) + 1,
                             log, count};

    __syncthreads(); // the scratch space is free

    for (int64_t i = blockIdx.x; i < t.tiles; i += gridDim.x) {
        if (i + gridDim.x < t.tiles) {
            begin(i + gridDim.x, next);
            await_stage<1>();
        } else {
            await_stage<0>();
        }
        const int64_t zero = i * tile_packed;
        const int here = now + static_cast<int>(reinterpret_cast<uintptr_t>(dense + zero) % 16);
        char *const mem = t.mem + i * t.tile * extent;
        // Packed bytes of the tile that are to be moved.
        const auto from = static_cast<int>(max(t.first - zero, int64_t{0}));
        const auto until = static_cast<int>(min(end - zero, tile_packed));
        const auto pieces = static_cast<int>((t.packed.divide(until - 1) + 1) * count);
        if (from == 0 && until == tile_packed) {
#pragma unroll 2
            for (int k = threadIdx.x; k < pieces; k += record_threads) {
                const auto r = static_cast<int>(by_count.divide(k));
                const Unit u = units[k - r * count];
                const uint2 value = load_unaligned(shared, here + r * packed + u.place);
                store_unit(mem + (r * extent + u.at), value, u.bytes);
            }
        } else {
            for (int k = threadIdx.x; k < pieces; k += record_threads) {
                const auto r = static_cast<int>(by_count.divide(k));
                const Unit u = units[k - r * count];
                const int x = r * packed + u.place;
                for (int b = 0; b < static_cast<int>(u.bytes); ++b)
                    if (x + b >= from && x + b < until)
                        mem[r * extent + u.at + b] = shared[here + x + b];
            }
        }
        __syncthreads();
        const int other = now;
        now = next;
        next = other;
    }
    reach(signal);
}

} // namespace

cudaError_t run_unpack_records(Launcher &launcher, Records t)
{
    int64_t packed = t.packed.value;
    while (t.extent % 8 != 0 && t.extent * 2 <= most_extent) {
        t.extent *= 2;
        packed *= 2;
    }
    t.packed = Divider32::of(packed);
    // A small transfer is spread over all multiprocessors.
    const int64_t share = std::max<int64_t>(t.bytes / (launcher.processors() * 4), 1024);
    t.tile = static_cast<int32_t>(std::max<int64_t>(std::min(staged_bytes, share) / packed, 1));
    t.tiles = divide_up(t.first + t.bytes, t.tile * packed);
    return start_records(launcher, unpack_records, t, packed * static_cast<int64_t>(sizeof(Unit)), t.tile * packed);
}

} // namespace heddle::gpu::cuda
