// SPDX-License-Identifier: BSD-3-Clause
// What both kinds of receiver's ends have in common: an envelope that was met, how much of its
// message is wanted, and the fastest way to it.
#pragma once

#include "message.hpp"

namespace heddle::pipeline {

class Incoming : public Message {
public:
    Incoming(Port &port, void *peer, const Envelope &envelope, const heddle_side &to,
             int64_t capacity, heddle_message_ended ended, void *argument);

    virtual void begin() = 0;
    // Answers after all, that the sender may know that it was matched.
    virtual void confirm() = 0;
    // What it waits for, no header tells: sees whether it is there. False where it waits no more.
    virtual bool look(Clock::time_point) { return false; }

protected:
    // It is all there, as far as it is wanted.
    void finish_received();

    const uint64_t process_; // the sender's
    const int64_t bytes_;    // that it sends, or would
    const Loan at_;          // where all of it lies, or will
    const bool truncated_;
};

} // namespace heddle::pipeline
