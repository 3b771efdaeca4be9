// SPDX-License-Identifier: BSD-3-Clause
// The pool's blocks of host memory (engine/pool.hpp) that are pinned, so that a copy engine reads a
// type's arrays where they lie. To pin a block takes longer than to copy it once. But where a type
// is made for each message, the same block serves again and again.
#pragma once

#include "gpu/core/devices.hpp"

namespace heddle::gpu {

// Whether `bytes` bytes at `at`, the beginning of a block of pages, are pinned. They are at the
// second question about the same block, unless the system refuses.
bool is_pinned_block(Device &device, const void *at, size_t bytes);

} // namespace heddle::gpu
