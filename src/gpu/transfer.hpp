// SPDX-License-Identifier: BSD-3-Clause
// What the layers above the C API of transfers tell it beside what that asks.
#pragma once

#include "backend.hpp"

namespace heddle::gpu {

// What memory the ends of a move begin in, where that was asked for already and is valid still.
// Null, or without a range: it is asked for.
struct Known {
    const Memory *from = nullptr;
    const Memory *to = nullptr;
};

// As heddle_transfer_begin, but the caller keeps the types until it has ended. `known`: of each
// move, or empty.
int begin_transfer(std::span<const heddle_move> moves, std::span<const Known> known,
                   heddle_request **request);

} // namespace heddle::gpu
