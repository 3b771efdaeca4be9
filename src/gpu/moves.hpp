// SPDX-License-Identifier: BSD-3-Clause
// A transfer as asked for, checked, and cut where the memory that it names changes its kind.
#pragma once

#include "devices.hpp"
#include "ends.hpp"
#include "transfer.hpp"

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
    bool by_host = false;                  // the operator is one that no device can carry out

    Move part(int64_t at, int64_t length) const;
    // Bytes of what must not be cut: an element that an operator combines, or one byte.
    int64_t element() const;
    // `length` bytes cut down to whole elements, at least one.
    int64_t whole(int64_t length) const;
};

// Checks one transfer. Errors: as heddle_transfer.
int check_move(const heddle_move &asked, Move &move);

// What memory addresses name, for the length of one call: nobody may free it meanwhile, so that what one
// allocation's answer was serves for its other addresses, too.
class MemoryMap {
public:
    // A null backend: all memory is the host's. `several` addresses are to come, so that ranges pay.
    MemoryMap(const Backend *backend, bool several) : backend_(backend), several_(several) {}

    // Valid until the next call. By reference: what was just written in pieces is slow to copy as a whole.
    const Memory &at(const char *address);
    // What the next addresses may name.
    void expect(const Known &known)
    {
        if (known.from)
            last_[0] = *known.from;
        if (known.to)
            last_[1] = *known.to;
    }

private:
    const Backend *backend_;
    bool several_;
    Memory last_[2]; // a source's and a target's, in turn
    int turn_ = 0;
};

// Finds out what memory a move names that does not lead from one kind to another, as types of absolute
// addresses may, and the device that is best placed to do it.
void place_move(Move &move, Devices *devices, MemoryMap &map);
// The same for any move, the last of `moves`, which becomes several where a type of absolute addresses leads from
// memory of one kind to another's.
void resolve_last(Devices *devices, MemoryMap &map, std::vector<Move> &moves);

} // namespace heddle::gpu
