// SPDX-License-Identifier: BSD-3-Clause
// What a port has noted of how its peers took messages, for those to come.
#pragma once

#include "pipeline/wire.hpp"

#include <algorithm>
#include <map>

namespace heddle::pipeline {

class Peers {
public:
    // How a peer took the last message.
    void note_mode(const void *peer, Mode mode) { noted_[peer].mode = mode; }
    Mode mode(const void *peer) const { return get(peer).mode; }

    // ---- gets ----

    // A receiver that cannot read a get has the next 15 messages packed. One that missed the
    // time-out has the next one packed, and with each miss twice as many more, up to 15. A get
    // that it reads in time ends that.
    void note_refusal(const void *peer) { noted_[peer].gets = {most_skipped, most_skipped}; }
    void note_miss(const void *peer) { noted_[peer].gets.miss(); }
    void note_read(const void *peer) { noted_[peer].gets.missed = 0; }
    bool skips_gets(const void *peer) const { return get(peer).gets.skipped > 0; }
    void note_skipped_get(const void *peer) { --noted_[peer].gets.skipped; }
    // Bytes were pushed to it, and are there until a receive asks for them. Its port keeps no more
    // than a few of those.
    void note_pushed(const void *peer) { ++noted_[peer].pushed; }
    void note_received(const void *peer)
    {
        if (get(peer).pushed > 0) // it may have been forgotten
            --noted_[peer].pushed;
    }
    bool is_full(const void *peer) const { return get(peer).pushed >= most_pushed; }

    // ---- puts ----

    // Whether its next RTR is waited for. After one that did not come the next is not, and with
    // each twice as many more, up to 15, until one comes.
    bool awaits_rtr(const void *peer) const { return get(peer).rtrs.skipped == 0; }
    void note_rtr(const void *peer) { noted_[peer].rtrs = {}; }
    // None came, though it was waited for.
    void note_missing_rtr(const void *peer) { noted_[peer].rtrs.miss(); }
    void note_skipped_rtr(const void *peer) { --noted_[peer].rtrs.skipped; }

    void forget(const void *peer) { noted_.erase(peer); }

private:
    static constexpr int most_skipped = 15;
    static constexpr int most_pushed = 64; // some 8 KiB each

    struct BackOff {
        int skipped = 0; // how many more are
        int missed = 0;  // how many were to be after the last miss

        void miss() { skipped = missed = std::min(2 * missed + 1, most_skipped); }
    };
    struct Noted {
        Mode mode = Mode::value;
        BackOff gets;
        BackOff rtrs;
        int pushed = 0; // messages that it has and has not asked for
    };
    Noted get(const void *peer) const
    {
        const auto noted = noted_.find(peer);
        return noted == noted_.end() ? Noted() : noted->second;
    }

    std::map<const void *, Noted> noted_;
};

} // namespace heddle::pipeline
