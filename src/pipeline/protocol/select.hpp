// SPDX-License-Identifier: BSD-3-Clause
// Which path a message takes, from one description of its buffer and of the peer. All choices are
// made here; HEDDLE_LOG=policy prints each with its reason.
#pragma once

#include "pipeline/limits.hpp"
#include "pipeline/protocol/buffer.hpp"

#include <algorithm>

namespace heddle::pipeline {

// ---- what a port has noted of how its peers took messages, for those to come ----

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

// ---- the choice ----

// What a sender knows before it begins.
struct Facts {
    const Buffer &buffer;
    int flags;           // of enum heddle_message_flag
    int64_t eager_limit; // bytes
    bool has_rtr;        // the receiver has said where its buffer is
    bool get_runs;       // another get is on its way
};

struct Choice {
    heddle_message_path path;
    const char *reason;
    bool for_misses = false; // a get that the peer's misses ruled out
};

// Whether an RTR would be of use.
bool can_put(const Facts &facts, const Limits &limits);
Choice select(const Facts &facts, const Limits &limits, const Peer &peer);
// Prints what this process chose for a message; 0: one that the caller packs.
void log_choice(const Facts &facts, const Choice &choice, uint64_t message);
// Prints that a receiver asks for a sender's message by value after all.
void log_fall_back(uint64_t message, uint64_t process, const char *reason);

bool is_of_this_node(const Envelope &envelope);
// How a receiver gets the data of an envelope's message: the fastest way that both ends know of.
Mode select_mode(const Envelope &envelope, const Buffer &buffer, const Limits &limits);

} // namespace heddle::pipeline
