// SPDX-License-Identifier: BSD-3-Clause
#include "awaiting.hpp"

#include "counters.hpp"
#include "port.hpp"

#include <utility>

namespace heddle::pipeline {

namespace {

// Some 0.2 us; a poll of the transport, and what else is between two looks, takes as long.
constexpr int looks = 100;

} // namespace

Awaiting::Awaiting(Port &port, void *peer, const Envelope &envelope, const heddle_side &to,
                   int64_t capacity, Ticket ticket, heddle_message_ended ended, void *argument)
    : Incoming(port, peer, envelope, to, capacity, ended, argument), ticket_(std::move(ticket))
{
    mode_ = Mode::reference;
}

void Awaiting::begin() { port_.watch(*this); }

// Every nanosecond counts here: so it looks more than once, and says what it sees before all else.
bool Awaiting::look(Clock::time_point)
{
    if (failed() && may_be_written())
        return true;
    if (!over_ && !failed()) {
        Standing standing = ticket_.standing();
        for (int left = port_.waits_for_one() ? looks : 0;
             left > 0 && standing == Standing::claimed; --left)
            standing = ticket_.standing();
        if (standing == Standing::claimed)
            return true;
        if (standing == Standing::done) {
            done_ = wanted_;
            over_ = true;
            finish_soon();
            return true;
        }
        // Otherwise whoever sent that envelope holds no such ticket.
        fail_alone(standing == Standing::failed ? HEDDLE_ERR_PEER : HEDDLE_ERR_FORMAT);
    }
    port_.ready(*this);
    return false;
}

// An end that fails uses nobody's memory when it has ended, and its sender uses the caller's.
bool Awaiting::may_be_written()
{
    if (ticket_.standing() != Standing::claimed)
        return false;
    const auto now = Clock::now();
    if (until_ == Clock::time_point())
        until_ = now + grace;
    return now < until_;
}

void Awaiting::advance()
{
    if (over_) {
        count(Counter::received_by_reference);
        count(Counter::bytes_by_reference, wanted_);
    }
    if (over_ || (failed() && !may_be_written()))
        finish();
}

void Awaiting::forsake()
{
    until_ = Clock::now();
    port_.ready(*this);
}

void Awaiting::drop_chunks()
{
    if (failed())
        ticket_.wait();
}

} // namespace heddle::pipeline
