// SPDX-License-Identifier: BSD-3-Clause
// The frame of most hand-written kernels: two words a thread, in pack order; a shape says where each lies.
#pragma once

#include "layout.hpp"

namespace bench {

constexpr unsigned hand_threads = 256, hand_each = 2;

// `place(i)`: the index, counted in words, of packed word i.
template <class Word, bool Pack, class Place>
__global__ void move_words(Word *__restrict user, Word *__restrict packed, unsigned words, Place place)
{
    const unsigned first = blockIdx.x * (hand_threads * hand_each) + threadIdx.x;
    Word held[hand_each];
#pragma unroll
    for (unsigned k = 0; k < hand_each; ++k)
        if (const unsigned i = first + k * hand_threads; i < words)
            held[k] = __ldcs(Pack ? user + place(i) : packed + i);
#pragma unroll
    for (unsigned k = 0; k < hand_each; ++k)
        if (const unsigned i = first + k * hand_threads; i < words)
            __stcs(Pack ? packed + i : user + place(i), held[k]);
}

template <class Word, class Place> Mover words_mover(int64_t words, Place place)
{
    return [words, place](const Ends &ends, cudaStream_t stream) {
        const auto grid =
            static_cast<unsigned>((words + hand_threads * hand_each - 1) / (hand_threads * hand_each));
        auto *user = reinterpret_cast<Word *>(ends.user), *packed = reinterpret_cast<Word *>(ends.packed);
        if (ends.pack)
            move_words<Word, true>
                <<<grid, hand_threads, 0, stream>>>(user, packed, static_cast<unsigned>(words), place);
        else
            move_words<Word, false>
                <<<grid, hand_threads, 0, stream>>>(user, packed, static_cast<unsigned>(words), place);
        BENCH_CUDA(cudaGetLastError());
    };
}

} // namespace bench
