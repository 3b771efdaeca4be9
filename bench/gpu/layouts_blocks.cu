// SPDX-License-Identifier: BSD-3-Clause
// Blocks at one stride, and one block; with the limit programs that only gather or only scatter the blocks.
#include "move_words.cuh"

#include <algorithm>
#include <type_traits>

namespace bench {
namespace {

struct InPlace {
    __device__ size_t operator()(unsigned i) const { return i; }
};

template <unsigned PerBlock, unsigned Stride> struct Blocks {
    __device__ size_t operator()(unsigned i) const { return size_t{i / PerBlock} * Stride + i % PerBlock; }
};

__device__ inline unsigned bits(unsigned long long word)
{
    return static_cast<unsigned>(word ^ (word >> 32));
}
__device__ inline unsigned bits(uint4 word) { return word.x ^ word.y ^ word.z ^ word.w; }
__device__ inline void make(unsigned long long &word) { word = 0x0101010101010101; }
__device__ inline void make(uint4 &word) { word = {1, 1, 1, 1}; }

// Reads every block and nothing else. What is read must reach memory, or might have to.
template <class Word, int Each, class Place>
__global__ void gather(const Word *__restrict user, unsigned *sink, unsigned words, Place place)
{
    const unsigned first = blockIdx.x * (hand_threads * Each) + threadIdx.x;
    unsigned mixed = 0;
#pragma unroll
    for (int k = 0; k < Each; ++k)
        if (const unsigned i = first + k * hand_threads; i < words)
            mixed ^= bits(__ldcs(user + place(i)));
    if (mixed == 0x9e3779b9) // once in four billion
        *sink = mixed;
}

// Writes every block and nothing else.
template <class Word, int Each, class Place> __global__ void scatter(Word *user, unsigned words, Place place)
{
    const unsigned first = blockIdx.x * (hand_threads * Each) + threadIdx.x;
    Word word;
    make(word);
#pragma unroll
    for (int k = 0; k < Each; ++k)
        if (const unsigned i = first + k * hand_threads; i < words)
            __stcs(user + place(i), word);
}

template <class Word, int Each, class Place> Mover limit(int64_t words, Place place)
{
    return [words, place](const Ends &ends, cudaStream_t stream) {
        const auto grid = static_cast<unsigned>((words + hand_threads * Each - 1) / (hand_threads * Each));
        auto *user = reinterpret_cast<Word *>(ends.user);
        if (ends.pack)
            gather<Word, Each><<<grid, hand_threads, 0, stream>>>(
                user, reinterpret_cast<unsigned *>(ends.packed), static_cast<unsigned>(words), place);
        else
            scatter<Word, Each><<<grid, hand_threads, 0, stream>>>(user, static_cast<unsigned>(words), place);
        BENCH_CUDA(cudaGetLastError());
    };
}

template <unsigned Block, unsigned Stride> Case blocks(int64_t bytes)
{
    using Word = std::conditional_t<Block % 16 == 0, uint4, unsigned long long>;
    using Place = Blocks<Block / sizeof(Word), Stride / sizeof(Word)>;
    const int64_t count = bytes / Block, words = bytes / static_cast<int64_t>(sizeof(Word));
    Case made;
    made.type = Type::from([&](heddle_type **type) {
        return heddle_type_hvector(count, Block / 8, Stride, heddle_type_predefined(HEDDLE_DOUBLE), type);
    });
    made.bytes = bytes;
    made.span = count * Stride;
    made.sectors = count * std::max(32u, Block);
    made.hand = words_mover<Word>(words, Place{});
    made.copy = [count](const Ends &ends, cudaStream_t stream) {
        const auto rows = static_cast<size_t>(count);
        if (ends.pack)
            BENCH_CUDA(cudaMemcpy2DAsync(ends.packed, Block, ends.user, Stride, Block, rows,
                                         cudaMemcpyDefault, stream));
        else
            BENCH_CUDA(cudaMemcpy2DAsync(ends.user, Stride, ends.packed, Block, Block, rows,
                                         cudaMemcpyDefault, stream));
    };
    made.limits = {limit<Word, 1>(words, Place{}), limit<Word, 2>(words, Place{}),
                   limit<Word, 4>(words, Place{}), limit<Word, 8>(words, Place{})};
    return made;
}

Case contiguous(int64_t bytes)
{
    Case made;
    made.type = Type::from([&](heddle_type **type) {
        return heddle_type_contiguous(bytes / 8, heddle_type_predefined(HEDDLE_DOUBLE), type);
    });
    made.bytes = made.span = made.sectors = bytes;
    made.hand = words_mover<uint4>(bytes / 16, InPlace{});
    made.copy = [bytes](const Ends &ends, cudaStream_t stream) {
        BENCH_CUDA(cudaMemcpyAsync(ends.pack ? ends.packed : ends.user, ends.pack ? ends.user : ends.packed,
                                   static_cast<size_t>(bytes), cudaMemcpyDefault, stream));
    };
    return made;
}

template <unsigned Block, unsigned Stride> Layout layout(std::vector<int64_t> sizes)
{
    Layout made{.name = "blocks-" + std::to_string(Block) + "-stride-" + std::to_string(Stride),
                .strided = true,
                .sizes = std::move(sizes),
                .make = blocks<Block, Stride>};
    made.block = Block;
    made.stride = Stride;
    made.copies = made.limits = true;
    return made;
}

} // namespace

std::vector<Layout> block_layouts()
{
    constexpr int64_t Ki = 1 << 10, Mi = 1 << 20;
    const std::vector<int64_t> sizes{Ki, 16 * Ki, 256 * Ki, Mi, 16 * Mi, 64 * Mi, 256 * Mi};
    Layout one{.name = "contiguous", .strided = true, .sizes = sizes, .make = contiguous};
    one.copies = true;
    return {std::move(one),
            layout<8, 512>(sizes),
            layout<16, 512>(sizes),
            layout<32, 512>(sizes),
            layout<64, 512>(sizes),
            layout<128, 512>(sizes),
            layout<4096, 8192>({16 * Ki, 256 * Ki, Mi, 16 * Mi, 64 * Mi, 256 * Mi})};
}

} // namespace bench
