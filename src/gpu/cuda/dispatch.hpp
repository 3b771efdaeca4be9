// SPDX-License-Identifier: BSD-3-Clause
// From the kernel that a caller asks for to one that can do the Work.
#pragma once

#include "device.hpp"

#include <span>

namespace heddle::gpu::cuda {

// With the device's context current. `signalled`: the last kernel writes `signal` itself.
int dispatch(const Device &device, cudaStream_t stream, std::span<const Launch> launches, const Signal &signal,
             bool *signalled);

} // namespace heddle::gpu::cuda
