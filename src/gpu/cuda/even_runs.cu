// SPDX-License-Identifier: BSD-3-Clause
// Runs of one length, as far as one can tell beforehand: a word's run is guessed by a division, and the list
// says whether that is right. So nothing waits but for the list and the data.
#include "runs.cuh"

namespace heddle::gpu::cuda {
namespace {

template <int width, bool pack> __global__ void __launch_bounds__(block_threads)
    copy_even_runs(const __grid_constant__ Listed list, const __grid_constant__ Divisor by_run, Signal signal)
{
    const int64_t i = (static_cast<int64_t>(blockIdx.x) * block_threads + threadIdx.x) * width;
    if (i < list.bytes) {
        const int64_t x = list.first + i;
        const int64_t stretch = list.runs.by_bytes.divide(x);
        const int64_t y = x - stretch * list.runs.bytes;
        int64_t run = by_run.divide(y);
        int64_t begin = list.runs.prefix[run];
        const int64_t end = list.runs.prefix[run + 1];
        int64_t displ = list.runs.displs[run];
        Word<width> word;
        if (!pack)
            word = load_word<width>(list.dense + i); // sooner than its place is known
        if (y < begin || y >= end) {
            run = find_block(list.runs.prefix, list.runs.count, y);
            begin = list.runs.prefix[run];
            displ = list.runs.displs[run];
        }
        char *const place = list.mem + stretch * list.runs.extent + displ + (y - begin);
        if (pack)
            store_word<width>(list.dense + i, load_word<width>(place));
        else
            store_word<width>(place, word);
    }
    reach(signal);
}

} // namespace

// Runs of different lengths drift away from the guess, and some tile holds more of them than it should. Of
// much data packed, the list's second array costs more than tiles do (H200, blocks of 32 bytes: 42 against 37
// us at 32 MB).
bool are_even_runs(const Listed &list, int width, bool pack)
{
    constexpr int64_t most_packed = int64_t{8} << 20;
    const RunList &runs = list.runs;
    const int64_t length = runs.bytes / runs.count;
    return length * runs.count == runs.bytes && length % width == 0 && length <= tile_bytes &&
           runs.most <= tile_bytes / length + 2 && (!pack || list.bytes <= most_packed);
}

cudaError_t run_even_runs(Launcher &launcher, const Listed &list, int width, bool pack)
{
    return for_width(width, [&](auto constant) {
        constexpr int w = constant;
        return launcher.start(pack ? copy_even_runs<w, true> : copy_even_runs<w, false>,
                              divide_up(list.bytes / w, block_threads), block_threads, 0, list,
                              Divisor::of(list.runs.bytes / list.runs.count));
    });
}

} // namespace heddle::gpu::cuda
