// SPDX-License-Identifier: BSD-3-Clause
// A transfer as asked for, checked, and cut where the memory that it names changes its kind.
#pragma once

#include "devices.hpp"
#include "memory_map.hpp"

#include <memory_resource>
#include <vector>

namespace heddle::gpu {

struct Move {
    Move() {} // not defaulted, or all of it would be zeroed before

    End from;
    End to;
    int64_t bytes = 0;
    heddle_op op = HEDDLE_OP_REPLACE;
    heddle_predefined basic = HEDDLE_BYTE; // with an operator: what is combined
    Device *device = nullptr;              // the device to do it on, where it reaches both ends
    bool on_device = false;                // one end at least is memory of a device
    bool by_host = false; // no device can carry out the operator, or its elements lie in two
                          // memories each: `from` and `to` say nothing of those then

    Move part(int64_t at, int64_t length) const;
    // Bytes of what must not be cut: an element that an operator combines, or one byte.
    int64_t element() const;
    // `length` bytes cut down to whole elements, at least one.
    int64_t whole(int64_t length) const;
};

using Moves = std::pmr::vector<Move>;

// Checks one transfer. Errors: as heddle_transfer.
int check_move(const heddle_move &asked, Move &move);

// Finds out what memory a move names that does not lead from one kind to another, as types of
// absolute addresses may, and the device that is best placed to do it.
void place_move(Move &move, Devices *devices, MemoryMap &map);
// The same for any move, the last of `moves`, which becomes several where a type of absolute
// addresses leads from
// memory of one kind to another's.
void resolve_last(Devices *devices, MemoryMap &map, Moves &moves);

} // namespace heddle::gpu
