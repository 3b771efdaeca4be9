// SPDX-License-Identifier: BSD-3-Clause
// What a port has noted of how its peers took messages, for those to come.
#pragma once

#include "wire.hpp"

#include <map>

namespace heddle::pipeline {

class Peers {
public:
    // How a peer took the last message.
    void note_mode(const void *peer, Mode mode) { noted_[peer].mode = mode; }
    Mode mode(const void *peer) const;
    // It cannot read what is on offer: the next 15 are not worth one. Or it was late for one: the
    // next is not, and each time twice as many more, until it takes one.
    void note_refusal(const void *peer);
    void note_late(const void *peer);
    void note_taken(const void *peer) { noted_[peer].late = 0; }
    // Bytes were pushed to it, and are there until a receive asks for them.
    void note_pushed(const void *peer) { ++noted_[peer].pushed; }
    void note_received(const void *peer);
    // Asked once for each message that might be offered. Not while many are pushed and nobody has
    // asked for them: its port keeps no more than those.
    bool take_offers(const void *peer);
    // Whether there is a ticket for what is sent to it after `after`, or may be soon; then it is
    // waited for, a little longer than it saves: where both ends go on at the same time, it comes
    // when its sender looks. After one that did not come the next is not waited for, and each time
    // twice as many more, until one comes.
    bool is_worth_a_ticket(const void *peer, uint64_t after);
    bool finds_ticket(const void *peer, uint64_t after);
    void forget(const void *peer) { noted_.erase(peer); }

private:
    struct Noted {
        Mode mode = Mode::value;
        int refusals = 0;  // messages that are not to be offered
        int late = 0;      // refusals after the last lateness
        int pushed = 0;    // messages that it has and has not asked for
        int unawaited = 0; // tickets that are not to be waited for
        int missed = 0;    // of these after the last that did not come
    };

    std::map<const void *, Noted> noted_;
};

} // namespace heddle::pipeline
