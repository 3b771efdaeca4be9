// SPDX-License-Identifier: BSD-3-Clause
// What both kinds of receiver's ends have in common: an envelope that was met, how much of its message is wanted, and the
// fastest way to it.
#pragma once

#include "message.hpp"

namespace heddle::pipeline {

class Incoming : public Message {
public:
    Incoming(Port &port, void *peer, const Envelope &envelope, const heddle_side &to, int64_t capacity,
             heddle_message_ended ended, void *argument);

    virtual void begin() = 0;
    // Answers after all, that the sender may know that it was matched.
    virtual void confirm() = 0;

protected:
    // It is all there, as far as it is wanted.
    void finish_received();

    const uint64_t process_; // the sender's
    const int64_t bytes_;    // that it sends, or would
    const Loan own_;         // where the sender's own memory is lent: nothing is packed, if it comes by reference
    const bool truncated_;
};

} // namespace heddle::pipeline
