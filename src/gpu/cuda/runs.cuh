// SPDX-License-Identifier: BSD-3-Clause
// What the kernels for lists of runs have in common.
#pragma once

#include "device_code.cuh"

namespace heddle::gpu::cuda {

struct Listed {
    char *mem;     // of the first stretch that is touched
    char *dense;   // where the first packed byte lies
    int64_t first; // packed bytes to move, counted from that stretch's beginning
    int64_t bytes;
    RunList runs;
};

inline Listed listed(const Work &work)
{
    const Halves h = halves(work);
    const RunList &runs = h.other->runs;
    const int64_t stretch = h.other->first / runs.bytes;
    return {h.other->base + stretch * runs.extent, h.dense->base + h.dense->first,
            h.other->first - stretch * runs.bytes, work.bytes, runs};
}

// All of one length; not too many short ones; a few of any length. `fetch`: see is_fetched().
bool are_even_runs(const Listed &list, int width, bool pack);
cudaError_t run_even_runs(Launcher &launcher, const Listed &list, int width, bool pack, bool fetch);
bool are_short_runs(const Listed &list, int width);
cudaError_t run_short_runs(Launcher &launcher, const Listed &list, int width, bool pack);
bool are_few_runs(const Listed &list, int width);
cudaError_t run_few_runs(Launcher &launcher, const Listed &list, int width, bool pack);

// Whether run_runs() takes one of the first two.
bool are_direct_runs(const Work &work);

} // namespace heddle::gpu::cuda
