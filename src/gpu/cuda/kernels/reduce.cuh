// SPDX-License-Identifier: BSD-3-Clause
// Reductions: a kernel for each type of element, for dense onto strided and for any two sides.
#pragma once

#include "gpu/cuda/kernels/access.cuh"
#include "gpu/cuda/kernels/combine.cuh"

namespace heddle::gpu::cuda {

// One element at an address that is a multiple of `width` bytes.
template <class T> __device__ __forceinline__ T load_element(const char *from, int width)
{
    T value;
    const auto pieces = [&](auto piece) {
        using Piece = decltype(piece);
        constexpr int n = sizeof(T) < sizeof(Piece) ? 0 : sizeof(T) / sizeof(Piece);
#pragma unroll
        for (int i = 0; i < n; ++i)
            reinterpret_cast<Piece *>(&value)[i] = reinterpret_cast<const Piece *>(from)[i];
    };
    if (width >= static_cast<int>(sizeof(T)))
        value = *reinterpret_cast<const T *>(from);
    else if (width == 8)
        pieces(uint64_t{});
    else if (width == 4)
        pieces(uint32_t{});
    else if (width == 2)
        pieces(uint16_t{});
    else
        pieces(uint8_t{});
    return value;
}

template <class T> __device__ __forceinline__ void store_element(char *to, T value, int width)
{
    const auto pieces = [&](auto piece) {
        using Piece = decltype(piece);
        constexpr int n = sizeof(T) < sizeof(Piece) ? 0 : sizeof(T) / sizeof(Piece);
#pragma unroll
        for (int i = 0; i < n; ++i)
            reinterpret_cast<Piece *>(to)[i] = reinterpret_cast<const Piece *>(&value)[i];
    };
    if (width >= static_cast<int>(sizeof(T)))
        *reinterpret_cast<T *>(to) = value;
    else if (width == 8)
        pieces(uint64_t{});
    else if (width == 4)
        pieces(uint32_t{});
    else if (width == 2)
        pieces(uint16_t{});
    else
        pieces(uint8_t{});
}

// ---- dense onto strided, at natural alignment ----

template <class T, class To> __global__ void __launch_bounds__(block_threads)
    reduce_strided(const __grid_constant__ DenseAccess from, const __grid_constant__ To to,
                   uint32_t elements, heddle_op op, Signal signal)
{
    constexpr int each = 4;
    constexpr int size = sizeof(T);
    const uint32_t e = blockIdx.x * (block_threads * each) + threadIdx.x;
    if (e + (each - 1) * block_threads < elements) {
        T source[each];
        T target[each];
        char *at[each];
#pragma unroll
        for (int i = 0; i < each; ++i)
            at[i] = to.template at<size>(e + i * block_threads);
        follow();
#pragma unroll
        for (int i = 0; i < each; ++i) {
            source[i] = *reinterpret_cast<const T *>(from.at<size>(e + i * block_threads));
            target[i] = *reinterpret_cast<const T *>(at[i]);
        }
#pragma unroll
        for (int i = 0; i < each; ++i)
            *reinterpret_cast<T *>(at[i]) = combine(op, target[i], source[i]);
    } else {
        follow();
        for (uint32_t i = e; i < elements; i += block_threads) {
            auto *at = reinterpret_cast<T *>(to.template at<size>(i));
            *at = combine(op, *at, *reinterpret_cast<const T *>(from.at<size>(i)));
        }
    }
    reach(signal);
}

// ---- any two sides, any alignment ----

// The source's element at packed byte `x`.
template <class T> __device__ __forceinline__ T load_source(const Work &work,
                                                            const ImageView &image, int64_t x,
                                                            int width)
{
    const Side &s = work.from;
    if (!work.split)
        return load_element<T>(s.base + place(s, image, x), width);
    T value;
#pragma unroll 1 // seldom needed, and long
    for (int i = 0; i < static_cast<int>(sizeof(T)); ++i)
        reinterpret_cast<char *>(&value)[i] = s.base[place(s, image, x + i)];
    return value;
}

template <class T> __global__ void __launch_bounds__(block_threads)
    reduce_elements(const __grid_constant__ Work work, int from_width, int to_width, Signal signal)
{
    __shared__ StagedImage from_image;
    __shared__ StagedImage to_image;
    const ImageView from = stage_image(work.from, from_image);
    const ImageView to = stage_image(work.to, to_image);
    follow();
    constexpr int64_t size = sizeof(T);
    const int64_t step = static_cast<int64_t>(gridDim.x) * block_threads * size;
    for (int64_t i = (static_cast<int64_t>(blockIdx.x) * block_threads + threadIdx.x) * size;
         i < work.bytes; i += step) {
        char *target = work.to.base + place(work.to, to, work.to.first + i);
        const T source = load_source<T>(work, from, work.from.first + i, from_width);
        store_element(target, combine(work.op, load_element<T>(target, to_width), source),
                      to_width);
    }
    reach(signal);
}

// ---- choosing ----

inline int64_t blocks_to_stay(const Launcher &launcher, int64_t elements)
{
    return std::min<int64_t>(divide_up(elements, block_threads),
                             int64_t{launcher.processors()} * 8);
}

template <class T> cudaError_t run_elements(Launcher &launcher, const Work &work)
{
    constexpr int size = sizeof(T);
    const int64_t elements = work.bytes / size;
    const Side &to = work.to;
    if (work.from.shape == Shape::dense && to.shape == Shape::strided &&
        std::min(work.from.word, to.word) >= size &&
        is_narrow(to, origin(to).first, work.bytes, size)) {
        const auto start = [&](auto access) {
            return launcher.start(reduce_strided<T, decltype(access)>,
                                  divide_up(elements, block_threads * 4), block_threads, 0,
                                  dense_access(work.from), access, static_cast<uint32_t>(elements),
                                  work.op);
        };
        if (to.dims == 1)
            return start(strided_access<StridedAccess<Divider32, 1>>(to, size));
        return start(strided_access<StridedAccess<Divider32, 0>>(to, size));
    }
    return launcher.start(reduce_elements<T>, blocks_to_stay(launcher, elements), block_threads, 0,
                          work, int{work.from.word}, int{work.to.word});
}

// In reduce_integers.cu, reduce_floats.cu and reduce_pairs.cu.
cudaError_t run_reduce_integers(Launcher &launcher, const Work &work);
cudaError_t run_reduce_floats(Launcher &launcher, const Work &work);
cudaError_t run_reduce_pairs(Launcher &launcher, const Work &work);

} // namespace heddle::gpu::cuda
