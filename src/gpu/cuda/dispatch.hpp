// SPDX-License-Identifier: BSD-3-Clause
// From the kernel that a caller asks for to one that can do the Work.
#pragma once

#include "device.hpp"

#include <span>

namespace heddle::gpu::cuda {

// With the device's context current. `signalled`: how many words of `signal` the last kernel
// writes.
int dispatch(Device &device, cudaStream_t stream, std::span<const Launch> launches,
             const Signal &signal, int *signalled);

} // namespace heddle::gpu::cuda
