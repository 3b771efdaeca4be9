// SPDX-License-Identifier: BSD-3-Clause
// A struct of few strided members (engine/members.hpp) is moved member by member: each needs a
// launch or a copy, or shares one, and none needs a list of runs, which is long and takes long to
// make.
#pragma once

#include "gpu/transfer/resolve.hpp"

namespace heddle::gpu {

// Whether a side of what is asked for, which nobody has checked yet, may be cut.
bool has_members(const heddle_move &asked);

// Cuts those of the resolved moves from `first` on that a device takes part in. Errors: NO_MEMORY.
void cut_at_members(Moves &moves, size_t first);

// Bytes that the members of a plan with by_members take on a device.
int64_t member_image_bytes(const heddle_type &type, const Plan &plan);

} // namespace heddle::gpu
