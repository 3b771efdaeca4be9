// SPDX-License-Identifier: BSD-3-Clause
#include "incoming.hpp"

#include "borrowing.hpp"
#include "port.hpp"

namespace heddle::pipeline {

namespace {

// The fastest way that both ends know of.
Mode mode_for(const Envelope &envelope, const Buffer &buffer, const Limits &limits)
{
    const uint64_t here = whereabouts().node;
    if (envelope.node != here || !here)
        return Mode::value;
    const auto can = [&](Mode mode, bool own) {
        return buffer.can_stay(mode) && allows(limits, mode) &&
               !cannot_borrow(*buffer.device(), envelope.process, mode, own);
    };
    if (envelope.lends && can(Mode::reference, envelope.in_place()))
        return Mode::reference;
    return envelope.shares && can(Mode::shared, false) ? Mode::shared : Mode::value;
}

} // namespace

Incoming::Incoming(Port &port, void *peer, const Envelope &envelope, const heddle_side &to,
                   int64_t capacity, heddle_message_ended ended, void *argument)
    : Message(port, peer, to, std::min(envelope.bytes, capacity), ended, argument),
      process_(envelope.process),
      bytes_(envelope.bytes),
      at_(envelope.at),
      truncated_(envelope.bytes > capacity)
{
    other_ = envelope.message;
    wanted_ = std::min(envelope.bytes, capacity);
    mode_ = mode_for(envelope, buffer_, port.limits());
}

void Incoming::finish_received()
{
    if (truncated_)
        ending_.error = HEDDLE_ERR_TRUNCATE;
    finish();
}

} // namespace heddle::pipeline
