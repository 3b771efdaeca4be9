// SPDX-License-Identifier: BSD-3-Clause
// Strided sides: everything in parameters, no memory but the data's. One wide word a thread and many threads
// keep the memory busiest.
#include "access.cuh"

namespace heddle::gpu::cuda {
namespace {

constexpr unsigned most_threads = 1024;

template <int width> constexpr int words_a_thread = width >= 8 ? 1 : 4;

// Short blocks far apart in much memory lie in a DRAM row each. About 512 of them at a time on a
// multiprocessor, cut into four words, are packed up to a quarter faster than more of them (H200, strides of
// 256 to 1024 bytes).
constexpr int64_t sparse_block = 64;
constexpr int64_t sparse_stride = 256;
constexpr int64_t sparse_span = int64_t{256} << 20;
constexpr int64_t sparse_blocks = 512;
// Shared memory that nobody uses: a multiprocessor then holds no more than four thread blocks.
constexpr int64_t quarter_shared = 48 << 10;

bool is_sparse(const Side &s, int64_t bytes, int width)
{
    const int64_t stride = std::abs(s.dim[0].stride);
    return width >= 4 && s.block >= 8 && s.block <= sparse_block && stride >= sparse_stride &&
           stride >= 4 * s.block && bytes / s.block >= sparse_span / stride;
}

// The smallest words that make no more than four of a block.
int sparse_width(int64_t block, int width)
{
    int narrow = 4;
    while (narrow < width && narrow * 4 < block)
        narrow *= 2;
    return narrow;
}

template <int width, int each, class Index, class From, class To>
__global__ void __launch_bounds__(most_threads)
    copy_words(const __grid_constant__ From from, const __grid_constant__ To to, Index words, Signal signal)
{
    const Index w = static_cast<Index>(blockIdx.x) * (blockDim.x * each) + threadIdx.x;
    Word<width> word[each];
    if (w + (each - 1) * blockDim.x < words) {
#pragma unroll
        for (int i = 0; i < each; ++i)
            word[i] = load_word<width>(from.template at<width>(w + i * blockDim.x));
#pragma unroll
        for (int i = 0; i < each; ++i)
            store_word<width>(to.template at<width>(w + i * blockDim.x), word[i]);
    } else {
        for (Index i = w; i < words; i += blockDim.x)
            store_word<width>(to.template at<width>(i), load_word<width>(from.template at<width>(i)));
    }
    reach(signal);
}

template <int width, int each, class From, class To> cudaError_t
start(Launcher &launcher, const From &from, const To &to, int64_t words, int threads, int64_t shared)
{
    using Index = typename std::conditional_t<std::is_same_v<From, DenseAccess>, To, From>::Index;
    return launcher.start(copy_words<width, each, Index, From, To>, divide_up(words, int64_t{threads} * each),
                          threads, shared, from, to, static_cast<Index>(words));
}

template <int width, class From, class To>
cudaError_t start(Launcher &launcher, const From &from, const To &to, int64_t bytes)
{
    constexpr int each = words_a_thread<width>;
    const int64_t words = bytes / width;
    // A little goes to one block, or to few: the fewer end, the sooner the end is known.
    const int64_t lanes = divide_up(words, each);
    const bool little = lanes <= 2 * most_threads;
    const auto threads =
        static_cast<int>(little ? std::min<int64_t>(divide_up(lanes, 32) * 32, most_threads) : block_threads);
    return start<width, each>(launcher, from, to, words, threads, 0);
}

template <int width, class From, class To>
cudaError_t start_sparse(Launcher &launcher, const From &from, const To &to, int64_t bytes, int64_t block)
{
    const bool narrow = width == 4;
    const int64_t threads =
        narrow ? std::min<int64_t>(sparse_blocks / 4 * block / width, most_threads) : most_threads;
    return start<width, 1>(launcher, from, to, bytes / width, static_cast<int>(threads),
                           narrow ? quarter_shared : 0);
}

template <int width, class Access>
cudaError_t start_half(Launcher &launcher, const Work &work, const Halves &h)
{
    const auto other = strided_access<Access>(*h.other, width);
    const DenseAccess dense = dense_access(*h.dense);
    if constexpr (width >= 4) {
        const int64_t block = h.other->block;
        if (is_sparse(*h.other, work.bytes, width))
            return h.pack ? start_sparse<width>(launcher, other, dense, work.bytes, block)
                          : start_sparse<width>(launcher, dense, other, work.bytes, block);
    }
    return h.pack ? start<width>(launcher, other, dense, work.bytes)
                  : start<width>(launcher, dense, other, work.bytes);
}

} // namespace

bool takes_strided(const Work &work)
{
    const Halves h = halves(work);
    if (h.dense)
        return h.other->shape == Shape::strided;
    const int width = word_width(work);
    const auto narrow = [&](const Side &s) {
        return s.shape == Shape::strided && is_narrow(s, origin(s).first, work.bytes, width);
    };
    return narrow(work.from) && narrow(work.to);
}

cudaError_t run_strided(Launcher &launcher, const Work &work)
{
    const Halves h = halves(work);
    int width = word_width(work);
    if (h.dense && is_sparse(*h.other, work.bytes, width))
        width = sparse_width(h.other->block, width);
    return for_width(width, [&](auto constant) -> cudaError_t {
        constexpr int w = constant;
        using Loop = StridedAccess<Divider32, 0>;
        if (!h.dense)
            return start<w>(launcher, strided_access<Loop>(work.from, w), strided_access<Loop>(work.to, w),
                            work.bytes);
        if (!is_narrow(*h.other, origin(*h.other).first, work.bytes, w))
            return start_half<w, StridedAccess<Divider64, 0>>(launcher, work, h);
        switch (h.other->dims) {
        case 1:
            return start_half<w, StridedAccess<Divider32, 1>>(launcher, work, h);
        case 2:
            return start_half<w, StridedAccess<Divider32, 2>>(launcher, work, h);
        case 3:
            return start_half<w, StridedAccess<Divider32, 3>>(launcher, work, h);
        case 4:
            return start_half<w, StridedAccess<Divider32, 4>>(launcher, work, h);
        default:
            return start_half<w, Loop>(launcher, work, h);
        }
    });
}

} // namespace heddle::gpu::cuda
