// SPDX-License-Identifier: BSD-3-Clause
// A little data in few runs of any length. Here the time depends on how many loads must wait for
// another load. Each thread block takes the whole list into shared memory at once. Each thread
// bisects there for the run of its one word.
#include "gpu/cuda/kernels/runs.cuh"

#include <bit>

namespace heddle::gpu::cuda {
namespace {

// One block ends sooner than two. If there are more, small blocks end sooner.
constexpr int one_block = 1024;
constexpr int small_block = 512;

template <int width, bool pack> __global__ void __launch_bounds__(one_block)
    copy_few_runs(const __grid_constant__ Listed list, int top, Signal signal)
{
    extern __shared__ int64_t offsets[]; // of the memory of a run against its packed bytes
    const auto count = static_cast<int>(list.runs.count);
    auto *const begins = reinterpret_cast<uint32_t *>(offsets + count);
    const int64_t i = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * width;
    const bool mine = i < list.bytes;
    Word<width> word;
    if (!pack) {
        follow();
        if (mine)
            word = load_word<width>(list.dense + i); // sooner than its place is known
    }
    for (int r = threadIdx.x; r < count; r += blockDim.x) {
        const int64_t begin = __ldg(list.runs.prefix + r);
        offsets[r] = __ldg(list.runs.displs + r) - begin;
        begins[r] = static_cast<uint32_t>(begin);
    }
    __syncthreads();
    if (pack)
        follow();
    if (mine) {
        const int64_t x = list.first + i;
        const int64_t stretch = list.runs.by_bytes.divide(x);
        const auto y = static_cast<uint32_t>(x - stretch * list.runs.bytes);
        int run = 0;
        for (int step = top; step > 0; step /= 2)
            if (run + step < count && begins[run + step] <= y)
                run += step;
        char *const place = list.mem + stretch * list.runs.extent + offsets[run] + y;
        if (pack)
            store_word<width>(list.dense + i, load_word<width>(place));
        else
            store_word<width>(place, word);
    }
    reach(signal);
}

} // namespace

cudaError_t run_few_runs(Launcher &launcher, const Listed &list, int width, bool pack)
{
    const int64_t words = list.bytes / width;
    const int threads =
        words > one_block ? small_block : static_cast<int>(divide_up(words, 32) * 32);
    const auto count = static_cast<uint32_t>(list.runs.count);
    const int64_t shared =
        int64_t{count} * static_cast<int64_t>(sizeof(int64_t) + sizeof(uint32_t));
    return for_width(width, [&](auto constant) {
        constexpr int w = constant;
        return launcher.start(pack ? copy_few_runs<w, true> : copy_few_runs<w, false>,
                              divide_up(words, threads), threads, shared, list,
                              static_cast<int>(std::bit_floor(count)));
    });
}

} // namespace heddle::gpu::cuda
