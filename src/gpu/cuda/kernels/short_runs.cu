// SPDX-License-Identifier: BSD-3-Clause
// Not too many short runs: neighbouring threads for each, whose loads wait for the run's place
// alone.
#include "gpu/cuda/kernels/divider.hpp"
#include "gpu/cuda/kernels/runs.cuh"

#include <bit>

namespace heddle::gpu::cuda {
namespace {

struct Groups : Listed {
    uint32_t groups;
    int log_lanes;
    Divider32 by_count; // runs of a stretch
};

template <int width, bool pack> __global__ void __launch_bounds__(block_threads)
    copy_short_runs(const __grid_constant__ Groups g, Signal signal)
{
    const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    const uint32_t group = thread >> g.log_lanes;
    if (group < g.groups) {
        const uint32_t stretch = g.by_count.divide(group);
        const uint32_t run = group - stretch * g.by_count.value;
        const int64_t from = __ldg(g.runs.prefix + run);
        const int64_t to = __ldg(g.runs.prefix + run + 1);
        const int64_t displ = __ldg(g.runs.displs + run);
        const int64_t within = static_cast<int64_t>(thread - (group << g.log_lanes)) * width;
        const int64_t i = stretch * g.runs.bytes + from + within - g.first; // of the bytes to move
        char *const place = g.mem + stretch * g.runs.extent + displ + within;
        follow();
        if (from + within < to && i >= 0 && i < g.bytes) {
            if (pack)
                store_word<width>(g.dense + i, load_word<width>(place));
            else
                store_word<width>(place, load_word<width>(g.dense + i));
        }
    }
    reach(signal);
}

} // namespace

cudaError_t run_short_runs(Launcher &launcher, const Listed &list, int width, bool pack)
{
    const int64_t lanes = short_run_lanes(list, width);
    const int64_t groups = short_run_groups(list);
    const Groups g{list, static_cast<uint32_t>(groups),
                   std::countr_zero(static_cast<uint32_t>(lanes)), Divider32::of(list.runs.count)};
    const auto threads =
        static_cast<int>(std::min<int64_t>(divide_up(groups * lanes, 32) * 32, block_threads));
    return for_width(width, [&](auto constant) {
        constexpr int w = constant;
        return launcher.start(pack ? copy_short_runs<w, true> : copy_short_runs<w, false>,
                              divide_up(groups * lanes, threads), threads, 0, g);
    });
}

} // namespace heddle::gpu::cuda
