// SPDX-License-Identifier: BSD-3-Clause
// One element combined with another: by the host's kernels.
#pragma once

#include "heddle.h"

#include <cstddef>

namespace heddle::gpu::sim {

// An element in packed form: its members one after the other without padding.
struct Packed {
    size_t size = 0;
    size_t value = 0; // bytes of the first member; all of them where there is but one
};

// The packed form of a predefined type; size 0 where `basic` is none.
Packed packed_form(heddle_predefined basic);

// Whether `op` computes something on `basic`; not so REPLACE and NO_OP.
bool can_combine(heddle_op op, heddle_predefined basic);

// target = target op source, both packed and of any alignment. Requires can_combine.
void combine(heddle_op op, heddle_predefined basic, std::byte *target, const std::byte *source);

} // namespace heddle::gpu::sim
