// SPDX-License-Identifier: BSD-3-Clause
// From a checked end of a transfer to a kernel's side of it.
#pragma once

#include "gpu/core/devices.hpp"
#include "gpu/memory/endpoint.hpp"

namespace heddle::gpu {

// `end` as kernels on `device` see it. A general plan's image is uploaded where that has not
// happened. Errors: NO_MEMORY, DEVICE.
Error make_side(const End &end, Device &device, Side &side);

// Whether that needs no image.
bool fits_parameters(const Plan &plan, int64_t count);

// A dense side of `bytes` bytes as a strided one of a single block, for the kernel that does
// strided sides.
void make_one_block(Side &side, int64_t bytes);

} // namespace heddle::gpu
