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

__device__ inline unsigned bits(unsigned word) { return word; }
__device__ inline unsigned bits(unsigned long long word)
{
    return static_cast<unsigned>(word ^ (word >> 32));
}
__device__ inline unsigned bits(uint4 word) { return word.x ^ word.y ^ word.z ^ word.w; }

// Reads every block and nothing else. What is read must reach memory, or might have to.
template <class Word, unsigned Each, class Place>
__global__ void gather(const Word *__restrict user, unsigned *sink, unsigned words, Place place)
{
    const unsigned first = blockIdx.x * (blockDim.x * Each) + threadIdx.x;
    unsigned mixed = 0;
#pragma unroll
    for (unsigned k = 0; k < Each; ++k)
        if (const unsigned i = first + k * blockDim.x; i < words)
            mixed ^= bits(user[place(i)]);
    if (mixed == 0x9e3779b9) // once in four billion
        *sink = mixed;
}

// Writes every block and nothing else.
template <class Word, unsigned Each, class Place>
__global__ void scatter(Word *user, unsigned words, Place place)
{
    const unsigned first = blockIdx.x * (blockDim.x * Each) + threadIdx.x;
#pragma unroll
    for (unsigned k = 0; k < Each; ++k)
        if (const unsigned i = first + k * blockDim.x; i < words)
            user[place(i)] = Word{};
}

template <class Word, unsigned Each, class Place> Mover limit(int64_t words, Place place, Start start)
{
    return [words, place, start](const Ends &ends, cudaStream_t stream) {
        const unsigned grid = blocks_for(words, start.threads * Each);
        auto *user = reinterpret_cast<Word *>(ends.user);
        for (const void *kernel : {reinterpret_cast<const void *>(gather<Word, Each, Place>),
                                   reinterpret_cast<const void *>(scatter<Word, Each, Place>)})
            BENCH_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            static_cast<int>(start.shared)));
        if (ends.pack)
            gather<Word, Each><<<grid, start.threads, start.shared, stream>>>(
                user, reinterpret_cast<unsigned *>(ends.packed), static_cast<unsigned>(words), place);
        else
            scatter<Word, Each>
                <<<grid, start.threads, start.shared, stream>>>(user, static_cast<unsigned>(words), place);
        BENCH_CUDA(cudaGetLastError());
    };
}

// The limit programs in every way that was found to be the fastest for some block: words of one width, so
// many a thread, blocks of threads small and large, few and many at a time.
template <class Word, unsigned Block, unsigned Stride>
void add_limits(std::vector<Mover> &limits, int64_t bytes)
{
    if constexpr (Block % sizeof(Word) == 0) {
        const Blocks<Block / sizeof(Word), Stride / sizeof(Word)> place;
        const int64_t words = bytes / static_cast<int64_t>(sizeof(Word));
        for (const Start start : {Start{256, 0}, Start{1024, 0}, Start{256, 60000}}) {
            limits.push_back(limit<Word, 1>(words, place, start));
            limits.push_back(limit<Word, 4>(words, place, start));
        }
    }
}

template <unsigned Block, unsigned Stride> Case blocks(int64_t bytes)
{
    // Four threads a block are fastest up to 64 bytes: a warp touches 8 blocks, not 32 (16 bytes: 343 us by
    // words of 4 bytes, 415 by 8, 486 by 16; 256 MiB, H200).
    using Word =
        std::conditional_t<Block <= 16, unsigned, std::conditional_t<Block == 32, unsigned long long, uint4>>;
    constexpr Start start = Block == 8     ? Start{256, 60000}
                            : Block <= 64  ? Start{1024, 0}
                            : Block == 128 ? Start{512, 0}
                                           : Start{256, 0};
    using Place = Blocks<Block / sizeof(Word), Stride / sizeof(Word)>;
    const int64_t count = bytes / Block, words = bytes / static_cast<int64_t>(sizeof(Word));
    Case made;
    made.type = Type::hvector(count, Block / 8, Stride, Type::predefined(HEDDLE_DOUBLE));
    made.bytes = bytes;
    made.span = count * Stride;
    made.sectors = count * std::max(32u, Block);
    made.hand = words_mover<Word>(words, Place{}, start);
    made.copy = [count](const Ends &ends, cudaStream_t stream) {
        const auto rows = static_cast<size_t>(count);
        if (ends.pack)
            BENCH_CUDA(cudaMemcpy2DAsync(ends.packed, Block, ends.user, Stride, Block, rows,
                                         cudaMemcpyDefault, stream));
        else
            BENCH_CUDA(cudaMemcpy2DAsync(ends.user, Stride, ends.packed, Block, Block, rows,
                                         cudaMemcpyDefault, stream));
    };
    add_limits<unsigned, Block, Stride>(made.limits, bytes);
    add_limits<unsigned long long, Block, Stride>(made.limits, bytes);
    add_limits<uint4, Block, Stride>(made.limits, bytes);
    return made;
}

Case contiguous(int64_t bytes)
{
    Case made;
    made.type = Type::contiguous(bytes / 8, Type::predefined(HEDDLE_DOUBLE));
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
