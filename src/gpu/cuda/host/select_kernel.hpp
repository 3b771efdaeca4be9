// SPDX-License-Identifier: BSD-3-Clause
// The choice of a kernel for each Work. This is the only place that chooses. It goes by the work's
// shape and by what was measured (Tuning). No CUDA in here: the simulated device chooses by the
// same rules.
#pragma once

#include "gpu/core/backend.hpp"
#include "gpu/cuda/kernels/tuning.hpp"

namespace heddle::gpu::cuda {

// Chooses for a work that is launched by itself. `wanted` is taken where it can do the work.
// `beside`: other launches run at the same time.
Kernel select_kernel(const Work &work, const Tuning &tuning, Kernel wanted, bool beside);

// Chooses for all works of one call, of which several may share a launch. A work that moves nothing
// gets no kernel.
void select_kernels(std::span<Launch> launches, const Tuning &tuning, bool beside);

// Whether several works by this kernel are one launch.
constexpr bool is_batch(Kernel kernel)
{
    return kernel == Kernel::batch || kernel == Kernel::batch_images || kernel == Kernel::batch_any;
}

} // namespace heddle::gpu::cuda
