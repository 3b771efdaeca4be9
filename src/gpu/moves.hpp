// SPDX-License-Identifier: BSD-3-Clause
// A transfer as asked for, checked, and cut where the memory that it names changes its kind.
#pragma once

#include "devices.hpp"
#include "ends.hpp"

#include <vector>

namespace heddle::gpu {

struct Move {
    End from;
    End to;
    int64_t bytes = 0;
    heddle_op op = HEDDLE_OP_REPLACE;
    heddle_predefined basic = HEDDLE_BYTE; // with an operator: what is combined
    Device *device = nullptr;              // the device to do it on, where it reaches both ends
    bool on_device = false;                // one end at least is memory of a device
    bool by_host = false;                  // the operator is one that no device can carry out

    Move part(int64_t at, int64_t length) const;
};

// Checks one transfer. Errors: as heddle_transfer.
int check_move(const heddle_move &asked, Move &move);

// Finds out what memory a checked move names and appends it to `moves`: one, or several where a type of
// absolute addresses leads from memory of one kind to another's.
void resolve_move(const Move &move, Devices *devices, std::vector<Move> &moves);

// The device that is best placed to do the move, by the memory that its ends name.
void place_move(Move &move, Devices *devices);

} // namespace heddle::gpu
