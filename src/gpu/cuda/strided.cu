// SPDX-License-Identifier: BSD-3-Clause
// Strided sides: everything in parameters, no memory but the data's.
#include "copy_words.cuh"

namespace heddle::gpu::cuda {
namespace {

// Short blocks far apart in much memory lie in a DRAM row each. About 512 of them at a time on a
// multiprocessor, cut into four words, are packed up to a quarter faster than more of them (H200,
// strides of 256 to 1024 bytes).
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

template <int width, class From, class To>
cudaError_t start_sparse(Launcher &launcher, const From &from, const To &to, int64_t bytes,
                         int64_t block, bool fetch)
{
    const bool narrow = width == 4;
    const int64_t threads =
        narrow ? std::min<int64_t>(sparse_blocks / 4 * block / width, most_threads) : most_threads;
    return start_copy<width, 1>(launcher, from, to, bytes / width, fetch, static_cast<int>(threads),
                                narrow ? quarter_shared : 0);
}

template <int width, class Access>
cudaError_t start_half(Launcher &launcher, const Work &work, const Halves &h)
{
    const auto other = strided_access<Access>(*h.other, width);
    const DenseAccess dense = dense_access(*h.dense);
    const bool fetch = !h.pack && is_fetched(work, h.other->block) && has_parts(*h.other);
    if constexpr (width >= 4) {
        const int64_t block = h.other->block;
        if (is_sparse(*h.other, work.bytes, width))
            return h.pack ? start_sparse<width>(launcher, other, dense, work.bytes, block, false)
                          : start_sparse<width>(launcher, dense, other, work.bytes, block, fetch);
    }
    return h.pack ? start_copy<width>(launcher, other, dense, work.bytes, false)
                  : start_copy<width>(launcher, dense, other, work.bytes, fetch);
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
            return start_copy<w>(launcher, strided_access<Loop>(work.from, w),
                                 strided_access<Loop>(work.to, w), work.bytes, false);
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
