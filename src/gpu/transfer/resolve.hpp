// SPDX-License-Identifier: BSD-3-Clause
// A transfer as asked for, checked, and cut where the memory that it names changes its kind.
#pragma once

#include "gpu/core/devices.hpp"
#include "gpu/memory/pointer_cache.hpp"

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
Error check_move(const heddle_move &asked, Move &move);

// Finds out what memory a move names, and the device that is best placed to do it. Each side must
// lie in one kind of memory, which types of absolute addresses need not.
void place_move(Move &move, Devices *devices, MemoryMap &map);
// Does so for any move: the last of `moves`. It becomes several moves where a type of absolute
// addresses leads from one kind of memory to another.
void resolve_last(Devices *devices, MemoryMap &map, Moves &moves);

} // namespace heddle::gpu
