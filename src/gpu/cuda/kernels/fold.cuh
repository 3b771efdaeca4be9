// SPDX-License-Identifier: BSD-3-Clause
// Several dense vectors combined, in their order: each is read once, and the result is written
// once to each target. Sources may lie in other devices' memory, so that all loads of a thread are
// begun before the first is needed.
#pragma once

#include "gpu/cuda/kernels/combine.cuh"
#include "gpu/cuda/kernels/device_code.cuh"

namespace heddle::gpu::cuda {

constexpr int fold_word = 16; // bytes

// The elements of a word, each combined with its counterpart. `op` is looked at once a word.
template <class T> struct alignas(fold_word) FoldWord {
    static constexpr int count = fold_word / static_cast<int>(sizeof(T));
    T element[count];

    template <heddle_op op> __device__ __forceinline__ void apply(const FoldWord &other)
    {
#pragma unroll
        for (int i = 0; i < count; ++i)
            element[i] = combine(op, element[i], other.element[i]);
    }
    __device__ __forceinline__ void add(heddle_op op, const FoldWord &other)
    {
        switch (op) {
        case HEDDLE_OP_SUM:
            return apply<HEDDLE_OP_SUM>(other);
        case HEDDLE_OP_PROD:
            return apply<HEDDLE_OP_PROD>(other);
        case HEDDLE_OP_MAX:
            return apply<HEDDLE_OP_MAX>(other);
        case HEDDLE_OP_MIN:
            return apply<HEDDLE_OP_MIN>(other);
        default:
#pragma unroll 1 // seldom, and long
            for (int i = 0; i < count; ++i)
                element[i] = combine(op, element[i], other.element[i]);
        }
    }
};

template <class T> __device__ __forceinline__ FoldWord<T> load_fold(const char *from, int64_t word)
{
    FoldWord<T> value;
    *reinterpret_cast<uint4 *>(&value) = reinterpret_cast<const uint4 *>(from)[word];
    return value;
}

// `together` words from `word` on, `step` apart. `n` 0: as many vectors as the fold says.
template <class T, int n, int together>
__device__ __forceinline__ void fold_some(const Fold &fold, int64_t word, int64_t step)
{
    FoldWord<T> result[together];
    if constexpr (n > 0) {
        FoldWord<T> source[n][together];
#pragma unroll
        for (int s = 0; s < n; ++s)
#pragma unroll
            for (int i = 0; i < together; ++i)
                source[s][i] = load_fold<T>(fold.from[s], word + i * step);
#pragma unroll
        for (int i = 0; i < together; ++i)
            result[i] = source[0][i];
#pragma unroll
        for (int s = 1; s < n; ++s)
#pragma unroll
            for (int i = 0; i < together; ++i)
                result[i].add(fold.op, source[s][i]);
    } else {
#pragma unroll
        for (int i = 0; i < together; ++i)
            result[i] = load_fold<T>(fold.from[0], word + i * step);
        for (int s = 1; s < fold.n; ++s) {
            FoldWord<T> source[together];
#pragma unroll
            for (int i = 0; i < together; ++i)
                source[i] = load_fold<T>(fold.from[s], word + i * step);
#pragma unroll
            for (int i = 0; i < together; ++i)
                result[i].add(fold.op, source[i]);
        }
    }
    for (int t = 0; t < fold.targets; ++t)
#pragma unroll
        for (int i = 0; i < together; ++i)
            reinterpret_cast<uint4 *>(fold.to[t])[word + i * step] =
                *reinterpret_cast<const uint4 *>(&result[i]);
}

// Elements `first` to `end`, one by one.
template <class T> __device__ __forceinline__ void fold_elements(const Fold &fold, int64_t first,
                                                                 int64_t end, int64_t step)
{
    for (int64_t i = first; i < end; i += step) {
        T value = reinterpret_cast<const T *>(fold.from[0])[i];
        for (int s = 1; s < fold.n; ++s)
            value = combine(fold.op, value, reinterpret_cast<const T *>(fold.from[s])[i]);
        for (int t = 0; t < fold.targets; ++t)
            reinterpret_cast<T *>(fold.to[t])[i] = value;
    }
}

// `words`: all vectors lie at multiples of a word; else they go element by element.
template <class T, int n> __global__ void __launch_bounds__(block_threads)
    fold_vectors(const __grid_constant__ Fold fold, int64_t words, Signal signal)
{
    constexpr int together = n == 2 ? 4 : n == 8 ? 1 : 2;
    follow();
    const int64_t step = static_cast<int64_t>(gridDim.x) * block_threads;
    const int64_t first = static_cast<int64_t>(blockIdx.x) * block_threads + threadIdx.x;
    int64_t word = first;
    for (; word + (together - 1) * step < words; word += together * step)
        fold_some<T, n, together>(fold, word, step);
    for (; word < words; word += step)
        fold_some<T, n, 1>(fold, word, step);
    constexpr int64_t each = FoldWord<T>::count;
    fold_elements<T>(fold, words * each + first, fold.bytes / static_cast<int64_t>(sizeof(T)),
                     step);
    reach(signal);
}

template <class T> cudaError_t start_fold(Launcher &launcher, const Fold &fold)
{
    constexpr int64_t blocks_each = 4; // of a multiprocessor: the last of them gives the signal
    const int64_t words = fold.word >= fold_word ? fold.bytes / fold_word : 0;
    const int64_t steps = words > 0 ? words : fold.bytes / static_cast<int64_t>(sizeof(T));
    const int64_t blocks = std::clamp<int64_t>(divide_up(steps, block_threads), 1,
                                               launcher.processors() * blocks_each);
    const auto start = [&](auto kernel) {
        return launcher.start(kernel, blocks, block_threads, 0, fold, words);
    };
    switch (fold.n) {
    case 2:
        return start(fold_vectors<T, 2>);
    case 4:
        return start(fold_vectors<T, 4>);
    case 8:
        return start(fold_vectors<T, 8>);
    default:
        return start(fold_vectors<T, 0>);
    }
}

// In fold_integers.cu and fold_floats.cu.
cudaError_t run_fold_integers(Launcher &launcher, const Fold &fold);
cudaError_t run_fold_floats(Launcher &launcher, const Fold &fold);

} // namespace heddle::gpu::cuda
