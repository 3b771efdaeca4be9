// SPDX-License-Identifier: BSD-3-Clause
// What both kinds of sender's ends have in common: an envelope, a key by which it is known before
// it is answered, and a receiver that may be of this same port, and moves everything itself.
#pragma once

#include "message.hpp"

namespace heddle::pipeline {

class Outgoing : public Message {
public:
    Outgoing(Port &port, void *peer, const heddle_side &from, int64_t bytes, uint64_t key,
             heddle_message_ended ended, void *argument)
        : Message(port, peer, from, bytes, ended, argument), key_(key), total_(bytes)
    {
    }

    virtual Envelope envelope() const = 0;
    // What lies on offer (offers.hpp) may have been taken; nobody else tells. Sees what became of
    // it, and does what is to be done if it was not. False where there is nothing to see any more.
    virtual bool look(Clock::time_point now) = 0;
    // The same, for whether it was taken alone.
    virtual bool was_seen_taken() = 0;
    // Its offer may be withdrawn, which is not free.
    virtual bool withdraws() const { return false; }
    uint64_t key() const { return key_; }
    int64_t bytes() const { return total_; }
    // It is known to have been matched: its receiver has answered, or said that a probe did.
    bool is_matched() const { return answered_ || probed_; }
    void probed() { probed_ = true; }
    // Nobody can have its envelope, if that was not sent.
    virtual bool can_be_abandoned() const { return !answered_; }
    // It was matched by nobody who wants any of it.
    void dropped();
    // Nobody takes it; `error`: why.
    void refused(int error);
    // Nor knows its receiver which it is: what was pushed of it is not to be kept.
    virtual void forget_pushed() {}
    // Its receiver has not answered.
    bool waits_for_match() const { return !answered_ && !failed() && is_awaited(); }
    // Its envelope was not sent.
    virtual void abandoned(int error) { fail_alone(error); }
    // A receiver of this port moves so many bytes itself, out of what side() says, until it calls
    // given().
    bool can_give() const { return !answered_ && !failed(); }
    void give(int64_t bytes);
    void given(int error);
    heddle_side side() const { return buffer_.after(0); }
    const gpu::Memory &memory() const { return buffer_.memory(); }

    void drop_chunks() override;

protected:
    // Where this process is, and its port.
    Envelope addressed() const;

    const uint64_t key_;
    const int64_t total_;
    bool answered_ = false;
    bool probed_ = false;
    bool gives_ = false; // a receiver of this port reads the buffer
};

} // namespace heddle::pipeline
