// SPDX-License-Identifier: BSD-3-Clause
// A message to this same port. Its receiver moves all of it at once, from one buffer to the other.
// Nothing is sent. After the time-out a copy takes the place of the sender's buffer.
#include "pipeline/counters.hpp"
#include "pipeline/protocol/eager_send.hpp"

namespace heddle::pipeline {

namespace {

class SelfSend final : public EagerSend {
public:
    using EagerSend::EagerSend;

private:
    void withdraw(Chunk &) override
    {
        state_ = State::withdrawn;
        count(Counter::withdrawn);
        buffer_ = Buffer(packed(copy_.get(), bytes()).side, bytes());
        notify_end(bytes());
    }
};

// Also of a rendezvous or a get of this port.
class SelfRecv final : public Receiver {
public:
    SelfRecv(Port &port, const Envelope &envelope, const Request &request, Sender &sender)
        : Receiver(port, envelope, request), sender_(sender)
    {
        mode_ = Mode::reference; // by which is judged what is small
    }
    bool is_within() const override { return true; }

    void begin() override
    {
        if (wanted_ > 0)
            if (const Error e = move(add_chunk(0, wanted_), sender_.data(), buffer_.data(0)))
                return fail(e);
        count(Counter::within);
        other_ = 0;
        sender_.give(wanted_);
        if (wanted_ == 0)
            sender_.given(HEDDLE_SUCCESS);
        port_.ready(*this);
    }

    void moved(Chunk &chunk, Error error) override
    {
        Message::moved(chunk, error);
        sender_.given(error);
        chunks_.clear();
        if (failed())
            return;
        done_ = wanted_;
        count_received(wanted_, 0);
    }

    void advance() override
    {
        if (!chunks_.empty())
            return;
        if (!failed())
            return finish_received();
        if (other_)
            tell(Kind::failed);
        finish();
    }

private:
    Sender &sender_; // stays until it was told
};

} // namespace

Sender *send_self(Port &port, const Request &request)
{
    return &port.watch(
        port.add(std::make_unique<SelfSend>(port, request, EnvelopeKind::rendezvous)));
}

std::unique_ptr<Receiver> receive_self(Port &port, const Envelope &envelope, const Request &request,
                                       Sender &sender)
{
    return std::make_unique<SelfRecv>(port, envelope, request, sender);
}

} // namespace heddle::pipeline
