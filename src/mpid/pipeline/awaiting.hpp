// SPDX-License-Identifier: BSD-3-Clause
// The receiver's end of a message that its sender writes where a ticket says (tickets.hpp): sees
// when all is there.
#pragma once

#include "incoming.hpp"
#include "tickets.hpp"

namespace heddle::pipeline {

class Awaiting final : public Incoming {
public:
    Awaiting(Port &port, void *peer, const Envelope &envelope, const heddle_side &to,
             int64_t capacity, Ticket ticket, heddle_message_ended ended, void *argument);

    void begin() override;
    void confirm() override {} // its sender knows
    bool look(Clock::time_point now) override;

    void advance() override;
    void drop_chunks() override;
    void forsake() override;
    int arrived(const Header &, const void *, size_t) override { return HEDDLE_ERR_FORMAT; }

private:
    bool may_be_written();

    Ticket ticket_;
    Clock::time_point until_; // having failed, it waits for its sender
    bool over_ = false;
};

} // namespace heddle::pipeline
