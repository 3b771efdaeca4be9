// SPDX-License-Identifier: BSD-3-Clause
// The methods that a transfer can be carried out by, and their names for settings and counters.
#pragma once

#include "gpu/core/work.hpp"

#include <string_view>

namespace heddle::gpu {

enum class Method : uint8_t {
    host,        // both ends in the host's memory: the engine
    copy_engine, // both ends contiguous
    blocks,      // blocks at one stride or two: the copy engine's 2-D and 3-D copies
    kernel,      // one kernel that reaches both ends, also in pinned memory (one-shot)
    staged,   // device, one slab of device memory, copy engine, pinned memory: overlapped by chunks
    bounced,  // through pinned slabs, where no device reaches both ends
    combined, // an operator that no device has: both go to the host, and the target comes back
    count
};

const char *method_name(Method method);
// The method of that name; count: there is none.
Method method_named(std::string_view name);

} // namespace heddle::gpu
