// SPDX-License-Identifier: BSD-3-Clause
// The reduction kernels: one loop for each predefined operator and each type that MPI allows it on.
#pragma once

#include "heddle.h"

#include <cstdint>

namespace heddle {

// inout[i] = inout[i] op in[i] for n packed elements at addresses of any alignment that do not
// overlap. A packed pair is its two members with no padding between or behind them.
using ReduceKernel = void (*)(void *inout, const void *in, std::int64_t n);

// Null where MPI does not define `op` on `kind` (MPI 4.0, section 6.9.2), and for REPLACE and
// NO_OP, which compute nothing.
ReduceKernel reduce_kernel(heddle_op op, heddle_predefined kind);

} // namespace heddle
