// SPDX-License-Identifier: BSD-3-Clause
// Strided sides whose memory order and pack order disagree: neighbours in memory are not neighbours
// in the packed form. Tiles go through shared memory, so that both sides are read and written in
// long rows.
#include "gpu/cuda/kernels/access.cuh"

namespace heddle::gpu::cuda {
namespace {

constexpr int tile = transposed_tile;
constexpr int rows_at_once = block_threads / tile;
constexpr int each = tile / rows_at_once; // elements of a thread

// A dimension that tiles do not stand on.
struct Apart {
    Divider32 count;
    int64_t stride; // in memory, bytes
    int64_t packed; // in the packed form, bytes
};

// Elements of `width` bytes. Tiles stand on dimension 0, the packed form's fastest, and on
// dimension `near`, in which neighbours touch in memory.
struct Transpose {
    char *mem;
    char *dense;
    int64_t first; // of the packed bytes to move, from mem's element 0 on
    int64_t bytes;
    int64_t far;    // elements in dimension 0
    int64_t near;   // and in the other
    int64_t stride; // in memory between neighbours in dimension 0, bytes
    int64_t step;   // in the packed form between neighbours in dimension `near`, bytes
    Divider32 tiles_far;
    Divider32 tiles_near;
    int aparts;
    Apart apart[max_dims - 2]; // fastest first
};

// Where a thread block's tile lies.
struct Corner {
    int64_t far; // the first elements of its dimensions
    int64_t near;
    char *mem;
    int64_t x; // packed byte
};

template <int width, bool pack> __device__ __forceinline__ Corner corner_of(const Transpose &t)
{
    uint32_t rest = blockIdx.x;
    const auto next_of = [&](const Divider32 &count) {
        const uint32_t quotient = count.divide(rest);
        const uint32_t i = rest - quotient * count.value;
        rest = quotient;
        return static_cast<int64_t>(i);
    };
    // Neighbouring blocks write neighbouring tiles.
    int64_t far = 0;
    if (pack)
        far = next_of(t.tiles_far) * tile;
    const int64_t near = next_of(t.tiles_near) * tile;
    if (!pack)
        far = next_of(t.tiles_far) * tile;
    char *mem = t.mem + far * t.stride + near * width;
    int64_t x = far * width + near * t.step;
#pragma unroll 1
    for (int d = 0; d < t.aparts; ++d) {
        const int64_t i = next_of(t.apart[d].count);
        mem += i * t.apart[d].stride;
        x += i * t.apart[d].packed;
    }
    return {far, near, mem, x - t.first};
}

template <int width, bool pack> __global__ void __launch_bounds__(block_threads)
    transpose(const __grid_constant__ Transpose t, Signal signal)
{
    __shared__ Word<width> cells[tile][tile + 1]; // the column more keeps the banks apart

    const Corner corner = corner_of<width, pack>(t);
    const int64_t far = corner.far, near = corner.near, x = corner.x;
    char *const mem = corner.mem;
    char *const dense = t.dense + x;

    const int lane = threadIdx.x % tile;
    const int row = threadIdx.x / tile;
    using W = Word<width>;
    follow();
    // `wanted(i, k)`: whether element i of dimension 0, k of the other, counted from the corner, is
    // to be moved.
    const auto move = [&](auto wanted) {
        char *const in_mem = mem + row * t.stride + lane * width;
        char *const in_dense = dense + row * t.step + lane * width;
        W cell[each]; // all loads come before what waits for them
#pragma unroll
        for (int i = 0; i < each; ++i) {
            const int r = row + i * rows_at_once;
            if (pack && wanted(r, lane))
                cell[i] = *reinterpret_cast<const W *>(in_mem + i * rows_at_once * t.stride);
            if (!pack && wanted(lane, r))
                cell[i] = *reinterpret_cast<const W *>(in_dense + i * rows_at_once * t.step);
        }
#pragma unroll
        for (int i = 0; i < each; ++i)
            cells[row + i * rows_at_once][lane] = cell[i];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < each; ++i) {
            const int r = row + i * rows_at_once;
            if (pack && wanted(lane, r))
                *reinterpret_cast<W *>(in_dense + i * rows_at_once * t.step) = cells[lane][r];
            if (!pack && wanted(r, lane))
                *reinterpret_cast<W *>(in_mem + i * rows_at_once * t.stride) = cells[lane][r];
        }
    };
    if (far + tile <= t.far && near + tile <= t.near && x >= 0 &&
        x + (tile - 1) * (t.step + width) + width <= t.bytes)
        move([](int, int) { return true; });
    else
        move([&](int i, int k) {
            const int64_t y = x + i * width + k * t.step;
            return far + i < t.far && near + k < t.near && y >= 0 && y < t.bytes;
        });
    reach(signal);
}

} // namespace

cudaError_t run_transpose(Launcher &launcher, const Work &work)
{
    const Halves h = halves(work);
    const Side &s = *h.other;
    const Origin o = origin(s);
    const int near = near_dimension(s);
    const int64_t end = o.first + work.bytes;
    Transpose t{};
    t.mem = o.base;
    t.dense = h.dense->base + h.dense->first;
    t.first = o.first;
    t.bytes = work.bytes;
    t.far = elements_along(s, 0, end);
    t.near = elements_along(s, near, end);
    t.stride = s.dim[0].stride;
    t.step = s.dim[near].bytes;
    t.tiles_far = Divider32::of(divide_up(t.far, tile));
    t.tiles_near = Divider32::of(divide_up(t.near, tile));
    for (int d = 1; d < s.dims; ++d)
        if (d != near)
            t.apart[t.aparts++] = {Divider32::of(elements_along(s, d, end)), s.dim[d].stride,
                                   s.dim[d].bytes};
    return for_width(word_width(work), [&](auto constant) {
        constexpr int width = constant;
        return launcher.start(h.pack ? transpose<width, true> : transpose<width, false>,
                              transposed_tiles(s, near, end), block_threads, 0, t);
    });
}

} // namespace heddle::gpu::cuda
