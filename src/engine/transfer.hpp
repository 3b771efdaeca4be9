// SPDX-License-Identifier: BSD-3-Clause
// Moving bytes between a committed type's memory and its packed form, on the host.
#pragma once

#include "engine/plan.hpp"

namespace heddle {

// Packed bytes [lo, hi) of `count` instances at `memory`; `packed` holds byte lo.
void pack_range(const Plan &plan, int64_t count, const void *memory, void *packed, int64_t lo,
                int64_t hi);
void unpack_range(const Plan &plan, int64_t count, void *memory, const void *packed, int64_t lo,
                  int64_t hi);

// Packed bytes [lo, hi) from one type's memory to another's.
void copy_range(const Plan &from, int64_t from_count, const void *source, const Plan &to,
                int64_t to_count, void *target, int64_t lo, int64_t hi);

// The largest end, not beyond `hi`, at which no predefined element is cut; `hi` itself where that
// would leave nothing of [lo, hi).
int64_t whole_elements(const Plan &plan, int64_t count, int64_t lo, int64_t hi);

} // namespace heddle
