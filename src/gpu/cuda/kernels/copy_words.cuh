// SPDX-License-Identifier: BSD-3-Clause
// The kernel that copies word by word where both sides say in a few instructions where a word lies
// (access.cuh). One wide word a thread and many threads keep the memory busiest.
#pragma once

#include "gpu/cuda/kernels/access.cuh"

namespace heddle::gpu::cuda {

constexpr unsigned most_threads = 1024;

template <int width> constexpr int words_a_thread = width >= 8 ? 1 : 4;

// `fetch`: the sectors of the target that are written in part (fetch.cuh).
template <int width, int each, class Index, class From, class To>
__global__ void __launch_bounds__(most_threads)
    copy_words(const __grid_constant__ From from, const __grid_constant__ To to, Index words,
               bool fetch, Signal signal)
{
    const Index w = static_cast<Index>(blockIdx.x) * (blockDim.x * each) + threadIdx.x;
    Word<width> word[each];
    if (w + (each - 1) * blockDim.x < words) {
        const char *source[each];
        char *target[each];
#pragma unroll
        for (int i = 0; i < each; ++i) {
            source[i] = from.template at<width>(w + i * blockDim.x);
            target[i] = to.template at<width>(w + i * blockDim.x);
        }
        follow();
#pragma unroll
        for (int i = 0; i < each; ++i)
            word[i] = load_word<width>(source[i]);
        if constexpr (!std::is_same_v<To, DenseAccess>) {
            for (int i = 0; fetch && i < each; ++i)
                to.template fetch<width>(w + i * blockDim.x);
        }
#pragma unroll
        for (int i = 0; i < each; ++i)
            store_word<width>(target[i], word[i]);
    } else {
        follow();
        for (Index i = w; i < words; i += blockDim.x)
            store_word<width>(to.template at<width>(i),
                              load_word<width>(from.template at<width>(i)));
    }
    reach(signal);
}

template <int width, int each, class From, class To>
cudaError_t start_copy(Launcher &launcher, const From &from, const To &to, int64_t words,
                       bool fetch, int threads, int64_t shared)
{
    using Index = typename std::conditional_t<std::is_same_v<From, DenseAccess>, To, From>::Index;
    return launcher.start(copy_words<width, each, Index, From, To>,
                          divide_up(words, int64_t{threads} * each), threads, shared, from, to,
                          static_cast<Index>(words), fetch);
}

template <int width, class From, class To> cudaError_t start_copy(Launcher &launcher,
                                                                  const From &from, const To &to,
                                                                  int64_t bytes, bool fetch)
{
    constexpr int each = words_a_thread<width>;
    const int64_t words = bytes / width;
    // Several small blocks begin and end sooner than a large one, also where each tells of its end.
    const int64_t lanes = divide_up(words, each);
    const auto threads =
        static_cast<int>(std::min<int64_t>(divide_up(lanes, 32) * 32, block_threads));
    return start_copy<width, each>(launcher, from, to, words, fetch, threads, 0);
}

} // namespace heddle::gpu::cuda
