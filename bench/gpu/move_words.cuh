// SPDX-License-Identifier: BSD-3-Clause
// The frame of most hand-written kernels: a word a thread, in pack order; a shape says where each
// lies.
#pragma once

#include "layout.hpp"

namespace bench {

// `place(i)`: the index, counted in words, of packed word i.
template <class Word, bool Pack, class Place>
__global__ void move_words(Word *__restrict user, Word *__restrict packed, unsigned words,
                           Place place)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= words)
        return;
    if (Pack)
        packed[i] = user[place(i)];
    else
        user[place(i)] = packed[i];
}

// A place where nothing lies between.
struct InPlace {
    __device__ size_t operator()(unsigned i) const { return i; }
};

// How a kernel is started. Shared memory that it does not use keeps blocks off a multiprocessor.
// Fewer words in flight are faster where every word lies in a page of its own.
struct Start {
    unsigned threads = 256;
    unsigned shared = 0;
};
constexpr unsigned most_shared_unasked = 48 * 1024; // above it a kernel's attribute must allow it

inline unsigned blocks_for(int64_t words, unsigned threads)
{
    return static_cast<unsigned>((words + threads - 1) / threads);
}

template <class Word, class Place> Mover words_mover(int64_t words, Place place, Start start = {})
{
    const auto go = [words, start, place](auto kernel, const Ends &ends, cudaStream_t stream) {
        if (start.shared > most_shared_unasked)
            BENCH_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            static_cast<int>(start.shared)));
        kernel<<<blocks_for(words, start.threads), start.threads, start.shared, stream>>>(
            reinterpret_cast<Word *>(ends.user), reinterpret_cast<Word *>(ends.packed),
            static_cast<unsigned>(words), place);
        BENCH_CUDA(cudaGetLastError());
    };
    return [go](const Ends &ends, cudaStream_t stream) {
        if (ends.pack)
            go(move_words<Word, true, Place>, ends, stream);
        else
            go(move_words<Word, false, Place>, ends, stream);
    };
}

} // namespace bench
