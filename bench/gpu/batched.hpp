// SPDX-License-Identifier: BSD-3-Clause
// The rival cub::DeviceMemcpy::Batched: one copy for each run of memory.
#pragma once

#include "layout.hpp"

namespace bench {

// More runs than this are not tried: their lists alone would take longer
// to make than the whole benchmark.
constexpr int64_t most_batched = 1 << 20;

// A mover for one pair of buffers, whose addresses are in its lists.
// Empty where there are too many runs.
Mover batched_mover(const Case &made, const Ends &ends);

} // namespace bench
