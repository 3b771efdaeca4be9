// SPDX-License-Identifier: BSD-3-Clause
// What the layers above the C API of transfers tell it beside what that asks.
#pragma once

#include "gpu/memory/location.hpp"

namespace heddle::gpu {

class Device;
struct Fold;

// As heddle_transfer_begin, but the caller keeps the types until it has ended. `known`: of each
// move, or empty.
Error begin_transfer(std::span<const heddle_move> moves, std::span<const Known> known,
                     heddle_request **request);

// Begins to combine vectors, whose memory the device reaches.
Error begin_fold(Device &device, const Fold &fold, heddle_request **request);

// As heddle_staging_alloc, near that device's memory; null: ordinary memory.
Error allocate_staging(int64_t bytes, Device *device, void **ptr);
// Whose memory that is: the driver need not be asked. `bytes`: as many as are of interest.
Memory staging_memory(void *ptr, int64_t bytes);

} // namespace heddle::gpu
