// SPDX-License-Identifier: BSD-3-Clause
// Starts the kernels that were selected for a call's works.
#pragma once

#include "gpu/cuda/host/device.hpp"

#include <span>

namespace heddle::gpu::cuda {

// With the device's context current. `signalled`: how many words of `signal` the last kernel
// writes.
Error dispatch(Device &device, cudaStream_t stream, std::span<Launch> launches,
               const Others &others, const Signal &signal, int *signalled);
// The same of several vectors.
Error dispatch_fold(Device &device, cudaStream_t stream, const Fold &fold, const Signal &signal,
                    int *signalled);

} // namespace heddle::gpu::cuda
