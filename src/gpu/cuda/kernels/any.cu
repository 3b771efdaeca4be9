// SPDX-License-Identifier: BSD-3-Clause
// Any two sides: each word is located by itself on both. Blocks stay for many words, so that an
// image is staged once for each of them.
#include "gpu/cuda/kernels/device_code.cuh"

namespace heddle::gpu::cuda {
namespace {

template <int width> __global__ void __launch_bounds__(block_threads)
    locate_words(const __grid_constant__ Work work, Signal signal)
{
    __shared__ StagedImage from_image;
    __shared__ StagedImage to_image;
    const ImageView from = stage_image(work.from, from_image);
    const ImageView to = stage_image(work.to, to_image);
    follow();
    const int64_t step = static_cast<int64_t>(gridDim.x) * block_threads * width;
    for (int64_t i = (static_cast<int64_t>(blockIdx.x) * block_threads + threadIdx.x) * width;
         i < work.bytes; i += step) {
        const char *source = work.from.base + place(work.from, from, work.from.first + i);
        char *target = work.to.base + place(work.to, to, work.to.first + i);
        store_word<width>(target, load_word<width>(source));
    }
    reach(signal);
}

} // namespace

cudaError_t run_any(Launcher &launcher, const Work &work)
{
    return for_width(word_width(work), [&](auto constant) {
        constexpr int width = constant;
        const int64_t blocks =
            std::min<int64_t>(divide_up(work.bytes, int64_t{block_threads} * width),
                              int64_t{launcher.processors()} * 8);
        return launcher.start(locate_words<width>, blocks, block_threads, 0, work);
    });
}

} // namespace heddle::gpu::cuda
