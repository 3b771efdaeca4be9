// SPDX-License-Identifier: BSD-3-Clause
// From a checked end of a transfer to a kernel's side of it.
#pragma once

#include "devices.hpp"
#include "ends.hpp"

namespace heddle::gpu {

// `end` as kernels on `device` see it. A general plan's image is uploaded where that has not
// happened. Errors: NO_MEMORY, DEVICE.
int make_side(const End &end, Device &device, Side &side);

// Whether that needs no image.
bool fits_parameters(const Plan &plan, int64_t count);

// A dense side of `bytes` bytes as a strided one of a single block, for the kernel that does
// strided sides.
void make_one_block(Side &side, int64_t bytes);

// Whether the memory of one record, an instance of the side's outermost repetition, lies between
// the record's address and the next one's, so that a tile of records is a tile of memory.
struct Records {
    int64_t bytes = 0; // packed; 0: there are no such records
    int64_t extent = 0;
};
Records records_of(const End &end, const Side &side);

} // namespace heddle::gpu
