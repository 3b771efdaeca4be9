// SPDX-License-Identifier: BSD-3-Clause
// Strided sides: everything in parameters, no memory but the data's.
#include "gpu/cuda/kernels/copy_words.cuh"

namespace heddle::gpu::cuda {
namespace {

// Blocks of a work of the sparse form that a multiprocessor reads at a time (Tuning says when it is
// taken). Shared memory that nobody uses sees to it: a multiprocessor then holds no more than four
// thread blocks.
constexpr int64_t sparse_blocks = 512;
constexpr int64_t quarter_shared = 48 << 10;

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
cudaError_t start_half(Launcher &launcher, const Work &work, const Halves &h, bool sparse)
{
    const auto other = strided_access<Access>(*h.other, width);
    const DenseAccess dense = dense_access(*h.dense);
    const bool fetch =
        !h.pack && is_fetched(launcher.tuning(), work, h.other->block) && has_parts(*h.other);
    if constexpr (width >= 4) {
        const int64_t block = h.other->block;
        if (sparse)
            return h.pack ? start_sparse<width>(launcher, other, dense, work.bytes, block, false)
                          : start_sparse<width>(launcher, dense, other, work.bytes, block, fetch);
    }
    return h.pack ? start_copy<width>(launcher, other, dense, work.bytes, false)
                  : start_copy<width>(launcher, dense, other, work.bytes, fetch);
}

} // namespace

cudaError_t run_strided(Launcher &launcher, const Work &work, Kernel form)
{
    const Halves h = halves(work);
    const bool sparse = form == Kernel::sparse;
    int width = word_width(work);
    if (sparse)
        width = sparse_width(h.other->block, width);
    return for_width(width, [&](auto constant) -> cudaError_t {
        constexpr int w = constant;
        using Loop = StridedAccess<Divider32, 0>;
        if (!h.dense)
            return start_copy<w>(launcher, strided_access<Loop>(work.from, w),
                                 strided_access<Loop>(work.to, w), work.bytes, false);
        if (!is_narrow(*h.other, origin(*h.other).first, work.bytes, w))
            return start_half<w, StridedAccess<Divider64, 0>>(launcher, work, h, sparse);
        switch (h.other->dims) {
        case 1:
            return start_half<w, StridedAccess<Divider32, 1>>(launcher, work, h, sparse);
        case 2:
            return start_half<w, StridedAccess<Divider32, 2>>(launcher, work, h, sparse);
        case 3:
            return start_half<w, StridedAccess<Divider32, 3>>(launcher, work, h, sparse);
        case 4:
            return start_half<w, StridedAccess<Divider32, 4>>(launcher, work, h, sparse);
        default:
            return start_half<w, Loop>(launcher, work, h, sparse);
        }
    });
}

} // namespace heddle::gpu::cuda
