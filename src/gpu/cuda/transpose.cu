// SPDX-License-Identifier: BSD-3-Clause
// Strided sides whose memory order and pack order disagree: neighbours in memory are not neighbours in the
// packed form. Tiles go through shared memory, so that both sides are read and written in long rows.
#include "access.cuh"

namespace heddle::gpu::cuda {
namespace {

constexpr int tile = 32; // elements on a side
constexpr int rows_at_once = block_threads / tile;

// Elements e = i[0] + n[0] * (i[1] + n[1] * ...) of `width` bytes. Tiles stand on dimension 0, the packed
// form's fastest, and on dimension `near`, in which neighbours touch in memory.
struct Transpose {
    char *mem;
    char *dense;
    int64_t first; // of the packed bytes to move, from mem's element 0 on
    int64_t bytes;
    int dims;
    int near;
    Divider64 count[max_dims];
    int64_t stride[max_dims]; // in memory, bytes
    int64_t packed[max_dims]; // in the packed form, bytes
    Divider64 tiles_across;   // in dimension 0
    Divider64 tiles_along;    // in dimension `near`
};

template <int width, bool pack>
__global__ void __launch_bounds__(block_threads) transpose(const __grid_constant__ Transpose t, Signal signal)
{
    __shared__ Word<width> cells[tile][tile + 1]; // [near][0]; the column more keeps the banks apart

    int64_t rest = blockIdx.x;
    const auto next_of = [&](const Divider64 &count) {
        const int64_t quotient = count.divide(rest);
        const int64_t i = rest - quotient * count.value;
        rest = quotient;
        return i;
    };
    const int64_t across = next_of(t.tiles_across) * tile;
    const int64_t along = next_of(t.tiles_along) * tile;
    char *mem = t.mem;
    int64_t x = 0; // packed byte of the tile's corner
    for (int d = 1; d < t.dims; ++d) {
        if (d == t.near)
            continue;
        const int64_t i = next_of(t.count[d]);
        mem += i * t.stride[d];
        x += i * t.packed[d];
    }
    mem += across * t.stride[0] + along * width;
    x += across * width + along * t.packed[t.near];
    char *const dense = t.dense + (x - t.first);

    const int lane = threadIdx.x % tile;
    const int row = threadIdx.x / tile;
    // Whether the element at (i0, near) of the tile is to be moved.
    const int64_t step = t.packed[t.near];
    const bool full = across + tile <= t.count[0].value && along + tile <= t.count[t.near].value && x >= t.first &&
                      x - t.first + (tile - 1) * (step + width) + width <= t.bytes;
    const auto wanted = [&](int i0, int i1) {
        if (full)
            return true;
        const int64_t y = x + i0 * width + i1 * step - t.first;
        return across + i0 < t.count[0].value && along + i1 < t.count[t.near].value && y >= 0 && y < t.bytes;
    };
    using W = Word<width>;
    if (pack) {
        const char *from = mem + row * t.stride[0] + lane * width;
#pragma unroll
        for (int r = row; r < tile; r += rows_at_once, from += rows_at_once * t.stride[0])
            if (wanted(r, lane))
                cells[lane][r] = *reinterpret_cast<const W *>(from);
        __syncthreads();
        char *to = dense + row * step + lane * width;
#pragma unroll
        for (int r = row; r < tile; r += rows_at_once, to += rows_at_once * step)
            if (wanted(lane, r))
                *reinterpret_cast<W *>(to) = cells[r][lane];
    } else {
        const char *from = dense + row * step + lane * width;
#pragma unroll
        for (int r = row; r < tile; r += rows_at_once, from += rows_at_once * step)
            if (wanted(lane, r))
                cells[r][lane] = *reinterpret_cast<const W *>(from);
        __syncthreads();
        char *to = mem + row * t.stride[0] + lane * width;
#pragma unroll
        for (int r = row; r < tile; r += rows_at_once, to += rows_at_once * t.stride[0])
            if (wanted(r, lane))
                *reinterpret_cast<W *>(to) = cells[lane][r];
    }
    reach(signal);
}

// The dimension, other than the fastest, in which blocks touch; -1: none.
int near_dimension(const Side &s)
{
    for (int d = 1; d < s.dims; ++d)
        if (s.dim[d].stride == s.block)
            return d;
    return -1;
}

// Below this many elements a side, tiles are mostly empty.
constexpr int64_t least_side = 8;

} // namespace

bool takes_transpose(const Work &work)
{
    const Halves h = halves(work);
    if (!h.dense || h.other->shape != Shape::strided || h.other->block != word_width(work))
        return false;
    const int near = near_dimension(*h.other);
    if (near < 0 || h.other->dim[0].count < least_side)
        return false;
    return near == h.other->dims - 1 || h.other->dim[near].count >= least_side;
}

cudaError_t run_transpose(Launcher &launcher, const Work &work)
{
    const Halves h = halves(work);
    const Side &s = *h.other;
    const Origin o = origin(s);
    Transpose t{};
    t.mem = o.base;
    t.dense = h.dense->base + h.dense->first;
    t.first = o.first;
    t.bytes = work.bytes;
    t.dims = s.dims;
    t.near = near_dimension(s);
    int64_t packed = s.block;
    int64_t blocks = 1;
    for (int d = 0; d < s.dims; ++d) {
        t.stride[d] = s.dim[d].stride;
        t.packed[d] = packed;
        const int64_t count = d < s.dims - 1 ? s.dim[d].count : divide_up(o.first + work.bytes, packed);
        t.count[d] = Divider64::of(count);
        packed *= count;
        if (d != 0 && d != t.near)
            blocks *= count;
    }
    t.tiles_across = Divider64::of(divide_up(t.count[0].value, tile));
    t.tiles_along = Divider64::of(divide_up(t.count[t.near].value, tile));
    blocks *= t.tiles_across.value * t.tiles_along.value;
    return for_width(word_width(work), [&](auto constant) {
        constexpr int width = constant;
        return launcher.start(h.pack ? transpose<width, true> : transpose<width, false>, blocks, block_threads, 0, t);
    });
}

} // namespace heddle::gpu::cuda
