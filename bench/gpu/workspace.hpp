// SPDX-License-Identifier: BSD-3-Clause
// A layout at one size with the memory to move it in, and the check that what moves it moves it
// right.
#pragma once

#include "layout.hpp"

#include <map>

namespace bench {

class Workspace {
public:
    Workspace(const Layout &layout, int64_t size);

    const Case &made() const { return made_; }

    // The ends of sample `i`. Several pairs of buffers take turns where the rate in memory is
    // measured, and one pair might stay in the L2 cache.
    Ends ends(int i, bool pack, bool pinned);

    // Moves data once, from memory that holds a pattern into memory that holds another. Compares
    // with what heddle_pack and heddle_unpack do in the host's memory. Above `checked_on_host`
    // bytes of user memory it compares with the hand-written kernel, which was itself compared at
    // smaller sizes. Throws where a byte is wrong. Returns the seconds that the move took, which
    // was the first of its kind.
    double check(const Mover &mover, bool pack, bool pinned);

    // Before something else than a move writes to the buffers.
    void will_damage() { damaged_ = true; }

private:
    static constexpr int64_t checked_on_host = 64 << 20;

    const Device &expected(bool pack);

    Case made_;
    std::vector<Device> users_, packs_;
    std::map<bool, Device> expected_; // by `pack`
    bool damaged_ = false;            // the user's memory was written to since it was filled
};

// The workspace of a layout at a size. Only the last one asked for is kept.
Workspace &workspace(const Layout &layout, int64_t size);

} // namespace bench
