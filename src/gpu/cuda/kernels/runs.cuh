// SPDX-License-Identifier: BSD-3-Clause
// What the kernels for lists of runs have in common.
#pragma once

#include "gpu/cuda/kernels/device_code.cuh"

namespace heddle::gpu::cuda {

// One for each form: `run_runs` by tiles, others for runs of one length, for short ones, and for
// few of any length. `fetch`: see is_fetched().
cudaError_t run_even_runs(Launcher &launcher, const Listed &list, int width, bool pack, bool fetch);
cudaError_t run_short_runs(Launcher &launcher, const Listed &list, int width, bool pack);
cudaError_t run_few_runs(Launcher &launcher, const Listed &list, int width, bool pack);

} // namespace heddle::gpu::cuda
