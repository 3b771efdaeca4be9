// SPDX-License-Identifier: BSD-3-Clause
// What a port has noted of how its peers took messages, for those to come.
#pragma once

#include "pipeline/wire.hpp"

#include <algorithm>
#include <map>

namespace heddle::pipeline {

// Messages for which something is not tried.
struct BackOff {
    static constexpr int most = 15;

    int skipped = 0; // how many more
    int missed = 0;  // how many were to be after the last miss

    // The next one, and with each miss twice as many more.
    void miss() { skipped = missed = std::min(2 * missed + 1, most); }
};

struct Peer {
    static constexpr int most_pushed = 64; // some 8 KiB each

    Mode mode = Mode::value; // how it took the last message
    // Gets, after one that it cannot read (the most) or did not read in time. One that it reads
    // ends that.
    BackOff gets;
    BackOff rtrs;   // waits for its RTRs, until one comes
    int pushed = 0; // messages whose bytes its port keeps until a receive asks for them
};
using Peers = std::map<const void *, Peer>;

} // namespace heddle::pipeline
