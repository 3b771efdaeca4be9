// SPDX-License-Identifier: BSD-3-Clause
// The sender's end of a message that should not wait for its receiver: it lies on offer
// (offers.hpp), and is over as soon as it was taken. If nobody does so for a while, its bytes are
// copied into the host's memory, the offer is withdrawn, and they are pushed to the receiver's
// port, matched or not; the caller is told then, and all that is left is to hear that it was
// matched. One to a receiver of this same port is never pushed: the copy takes the place of the
// buffer.
#pragma once

#include "offers.hpp"
#include "outgoing.hpp"
#include "pushed.hpp"

#include <optional>

namespace heddle::pipeline {

class Offered final : public Outgoing {
public:
    Offered(Port &port, void *peer, bool within, const heddle_side &from, int64_t bytes,
            uint64_t key, heddle_message_ended ended, void *argument);

    // Right after it was made. Otherwise nothing has happened.
    bool can_be() const { return within_ || offer_.number(); }
    Envelope envelope() const override;
    bool look(Clock::time_point now) override;
    bool was_seen_taken() override;
    bool withdraws() const override { return true; }
    void forget_pushed() override;
    void forsake() override;
    ~Offered() override;
    void abandoned(int error) override;

    void advance() override;
    int arrived(const Header &header, const void *data, size_t bytes) override;
    void carried(Chunk &chunk, int error) override;
    void moved(Chunk &chunk, int error) override;
    void drop_chunks() override;

private:
    bool is_over() const { return answered_ && done_ == wanted_; }
    void failing() override;
    void was_taken();
    void copy();
    void push();
    void push_failure();
    void push_nothing();
    void answer(const Header &header);
    void tell_where();

    const bool within_;
    std::optional<Loan> own_;
    Offer offer_;
    Clock::time_point until_; // it is not copied before; counted from the first look
    Clock::time_point last_;  // nor, if somebody reads it, before
    Bytes copy_ = no_bytes();
    Chunk all_; // of it, while it is copied or pushed
    bool copies_ = false;
    bool pushes_ = false;
    bool withdrawn_ = false;
    bool lost_ = false;    // what was pushed does not come
    bool depends_ = false; // its receiver can do nothing but wait for the copy
};

} // namespace heddle::pipeline
