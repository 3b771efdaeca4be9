// SPDX-License-Identifier: BSD-3-Clause
// The sender's end of a message that its receiver has a ticket for (tickets.hpp): writes it where
// it belongs, while its envelope is on its way, and says when all is there. Its receiver can do
// nothing meanwhile, so it is for senders that stay until then.
#pragma once

#include "borrowing.hpp"
#include "outgoing.hpp"
#include "tickets.hpp"

namespace heddle::pipeline {

class Delivering final : public Outgoing {
public:
    // Of what follows `after`.
    Delivering(Port &port, void *peer, uint64_t after, const heddle_side &from, int64_t bytes,
               uint64_t key, heddle_message_ended ended, void *argument);

    ~Delivering() override;

    // Claims its ticket and begins to write, before all else that a message takes. False where it
    // cannot: nothing has happened.
    bool begin();
    Envelope envelope() const override;
    bool look(Clock::time_point now) override;
    bool was_seen_taken() override { return false; }
    bool can_be_abandoned() const override
    {
        return true;
    } // it is known who takes it, not that somebody has

    void abandoned(int error) override;
    void advance() override;
    int arrived(const Header &header, const void *data, size_t bytes) override;
    void drop_chunks() override;

private:
    bool claim();

    const uint64_t after_;
    const bool can_be_;
    Claim claim_;
    Borrowed to_;
    heddle_request *request_ = nullptr; // while it writes
    bool abandoned_ = false;
};

} // namespace heddle::pipeline
