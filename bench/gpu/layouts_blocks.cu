// SPDX-License-Identifier: BSD-3-Clause
// Blocks at one stride, and one block.
#include "limits.cuh"

#include <algorithm>
#include <type_traits>

namespace bench {
namespace {

template <unsigned PerBlock, unsigned Stride> struct Blocks {
    __device__ size_t operator()(unsigned i) const
    {
        return size_t{i / PerBlock} * Stride + i % PerBlock;
    }
};

// Shares of a multiprocessor's shared memory, in bytes.
constexpr unsigned third = 60000, quarter = 48 << 10, seventh = 30000;

// Adds each way that was the fastest for some block. They differ in the words' width, in one or
// four words a thread, in the size of thread blocks, and in how many run at a time. Fetching
// sectors was never faster.
template <class Word, class Place> void add_limits(Case &made, int64_t bytes, Place place)
{
    const TouchWords<Word, Place> touch{place};
    const int64_t words = bytes / static_cast<int64_t>(sizeof(Word));
    const auto add = [&]<unsigned Each>(std::integral_constant<unsigned, Each>, Start start) {
        for (const bool apart : {false, true}) {
            made.limit.pack.push_back(limit_mover<true, Each>(words, bytes, touch, {start, apart}));
            made.limit.unpack.push_back(
                limit_mover<false, Each>(words, bytes, touch, {start, apart}));
        }
        made.alone.pack.push_back(limit_mover<true, Each>(words, 0, touch, {start}));
        made.alone.unpack.push_back(limit_mover<false, Each>(words, 0, touch, {start}));
    };
    for (const Start start : {Start{256}, Start{512}, Start{1024}, Start{256, quarter},
                              Start{512, quarter}, Start{128, seventh}, Start{256, third}})
        add(std::integral_constant<unsigned, 1>(), start);
    for (const Start start : {Start{256}, Start{256, quarter}, Start{256, third}})
        add(std::integral_constant<unsigned, 4>(), start);
}

template <unsigned Block, unsigned Stride> Case blocks(int64_t bytes)
{
    // Four threads a block are fastest up to 64 bytes: a warp touches 8 blocks, not 32. Blocks of
    // 16 bytes, 256 MiB, H200: 343 us by words of 4 bytes, 415 by 8, 486 by 16.
    using Word = std::conditional_t<Block <= 16, unsigned,
                                    std::conditional_t<Block == 32, unsigned long long, uint4>>;
    constexpr Start start = Block == 8     ? Start{256, quarter}
                            : Block <= 32  ? Start{512, quarter}
                            : Block == 64  ? Start{1024, 0}
                            : Block == 128 ? Start{512, 0}
                                           : Start{256, 0};
    using Place = Blocks<Block / sizeof(Word), Stride / sizeof(Word)>;
    const int64_t count = bytes / Block, words = bytes / static_cast<int64_t>(sizeof(Word));
    Case made;
    constexpr unsigned element = Block < 8 ? 4 : 8;
    made.type = Type::hvector(count, Block / element, Stride,
                              Type::predefined(element == 4 ? HEDDLE_INT32 : HEDDLE_DOUBLE));
    made.bytes = bytes;
    made.span = count * Stride;
    made.sectors = Stride < 32 ? made.span : count * std::max(32u, Block);
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
    const auto limits = [&]<class Each>(Each) {
        // Words that make more than eight of a block are slower, up to the widest.
        if constexpr (Block % sizeof(Each) == 0 &&
                      (8 * sizeof(Each) >= Block || sizeof(Each) == 16))
            add_limits<Each>(made, bytes, Blocks<Block / sizeof(Each), Stride / sizeof(Each)>{});
    };
    limits(0u);
    limits(0ull);
    limits(uint4{});
    return made;
}

Case contiguous(int64_t bytes)
{
    Case made;
    made.type = Type::contiguous(bytes / 8, Type::predefined(HEDDLE_DOUBLE));
    made.bytes = made.span = made.sectors = bytes;
    made.hand = words_mover<uint4>(bytes / 16, InPlace{});
    made.copy = [bytes](const Ends &ends, cudaStream_t stream) {
        BENCH_CUDA(cudaMemcpyAsync(ends.pack ? ends.packed : ends.user,
                                   ends.pack ? ends.user : ends.packed, static_cast<size_t>(bytes),
                                   cudaMemcpyDefault, stream));
    };
    add_limits<uint4>(made, bytes, InPlace{});
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
    made.copies = made.limits = made.alone = true;
    return made;
}

} // namespace

std::vector<Layout> block_layouts()
{
    constexpr int64_t Ki = 1 << 10, Mi = 1 << 20;
    const std::vector<int64_t> sizes{Ki, 16 * Ki, 256 * Ki, Mi, 16 * Mi, 64 * Mi, 256 * Mi};
    Layout one{.name = "contiguous", .strided = true, .sizes = sizes, .make = contiguous};
    one.copies = one.limits = true;
    // the imaginary parts are left out
    return {std::move(one),
            layout<4, 8>({Ki, 16 * Ki, 256 * Ki, Mi, 16 * Mi, 64 * Mi}),
            layout<8, 512>(sizes),
            layout<16, 512>(sizes),
            layout<32, 512>(sizes),
            layout<64, 512>(sizes),
            layout<128, 512>(sizes),
            layout<4096, 8192>({16 * Ki, 256 * Ki, Mi, 16 * Mi, 64 * Mi, 256 * Mi})};
}

} // namespace bench
