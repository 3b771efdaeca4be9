// SPDX-License-Identifier: BSD-3-Clause
// A put: its receiver has posted an RTR (rtr.hpp). The sender writes the data where they belong
// while its envelope is on its way, and the slot says when all is there. Its receiver can do
// nothing meanwhile, so it is for senders that stay until then, or come back.
#include "gpu/api/transfer.hpp"
#include "pipeline/counters.hpp"
#include "pipeline/protocol/port.hpp"
#include "pipeline/protocol/rtr.hpp"

#include <utility>

namespace heddle::pipeline {

namespace {

// Between two polls of the transport. The receiver's take some 0.2 us; a poll, and what else is
// between two looks, takes as long.
constexpr int sender_looks = 9;
constexpr int receiver_looks = 101;

class PutSend final : public Sender {
public:
    PutSend(Port &port, const Request &request, uint64_t after)
        : Sender(port, request, EnvelopeKind::put)
    {
        note_answer(); // the receive that it is for is known
        envelope_.at.allocation = after;
        mode_ = Mode::reference;
    }
    ~PutSend() override
    {
        heddle_wait(&request_);
        leave(SlotState::failed);
    }

    // Claims the RTR, and begins unless it is batched. False where it cannot: nothing has happened.
    bool begin(bool is_batched)
    {
        const Error e = caught([&]() -> Error {
            claim_ = claim_rtr(envelope_.at.allocation, bytes());
            if (!claim_)
                return HEDDLE_ERR_PEER;
            const RtrRecord &record = record_of(claim_);
            const Importer importer{*buffer_.device(), record.process, mode_};
            const Error e = open_target(record, importer, bytes(), port_.remote_types(), to_);
            return e || is_batched ? e : write_now();
        });
        if (e)
            leave(SlotState::open);
        return !e;
    }

    // A batched one, together with others, by the port's progress.
    void write_with_others()
    {
        if (const Error e = move(add_chunk(0, bytes()), data(), to_.data()))
            fail(e);
    }

    void moved(Chunk &chunk, Error error) override
    {
        Message::moved(chunk, error);
        chunks_.clear();
        if (failed())
            return;
        leave(SlotState::done);
        done_ = bytes();
    }

    bool look(Clock::time_point) override
    {
        if (done_ < bytes()) {
            int done = 0;
            Error e;
            for (int left = port_.waits_for_one() ? sender_looks : 1; left > 0 && !e && !done;
                 --left)
                e = Error::of(heddle_test(&request_, &done));
            if (!e && !done)
                return true;
            if (!e && !failed()) {
                leave(SlotState::done);
                done_ = bytes();
                finish_soon();
                return true;
            }
            if (e) {
                fail(e);
                heddle_wait(&request_); // it may still use the buffers
            }
        }
        port_.ready(*this);
        return false;
    }

    // Its receive waits for another message.
    void abandoned(Error error) override
    {
        left_as_ = SlotState::open;
        Sender::abandoned(error);
    }

    // Its receiver hears of a failure by the RTR, once nobody writes any more.
    void advance() override
    {
        if (request_ || !chunks_.empty() || (!failed() && done_ < bytes()))
            return;
        leave(left_as_);
        if (done_ == bytes()) {
            count(Counter::delivered);
            count(Counter::sent_by_reference);
            port_.peer(peer_).mode = mode_;
        }
        finish();
    }

    // Nothing is told to it, but that its receive failed.
    Error arrived(const Header &header, const void *, size_t bytes) override
    {
        return bytes || (header.kind != Kind::failed && header.kind != Kind::refused)
                   ? HEDDLE_ERR_FORMAT
                   : HEDDLE_SUCCESS;
    }

    void drop_chunks() override
    {
        heddle_wait(&request_);
        Sender::drop_chunks();
    }

private:
    Error write_now()
    {
        const heddle_move move{data().side, to_.side, bytes(), HEDDLE_OP_REPLACE};
        const gpu::Known known{&buffer_.memory(), to_.import.memory};
        return gpu::begin_transfer({&move, 1}, {&known, 1}, &request_);
    }
    void leave(SlotState as)
    {
        if (claim_)
            leave_rtr(std::exchange(claim_, {}), as);
    }

    Slot claim_;                            // its receiver's RTR, while it is this one's alone
    SlotState left_as_ = SlotState::failed; // unless all was written
    PutTarget to_;
    heddle_request *request_ = nullptr; // while it writes
};

class PutRecv final : public Receiver {
public:
    PutRecv(Port &port, const Envelope &envelope, const Request &request, const Slot &rtr)
        : Receiver(port, envelope, request), rtr_(rtr)
    {
        mode_ = Mode::reference;
    }
    ~PutRecv() override { end_rtr(rtr_); }

    void begin() override { port_.watch(*this); }

    // Every nanosecond counts here: so it looks more than once, and says what it sees before all
    // else.
    bool look(Clock::time_point) override
    {
        if (failed() && may_be_written())
            return true;
        if (!is_notified() && !failed()) {
            SlotState state = SlotState::busy;
            for (int left = port_.waits_for_one() ? receiver_looks : 1;
                 left > 0 && state == SlotState::busy; --left)
                state = rtr_.state();
            if (state == SlotState::busy)
                return true;
            if (state == SlotState::done) {
                done_ = wanted_;
                finish_soon();
                return true;
            }
            // Otherwise whoever sent that envelope holds no such RTR.
            fail_alone(state == SlotState::failed ? HEDDLE_ERR_PEER : HEDDLE_ERR_FORMAT);
        }
        port_.ready(*this);
        return false;
    }

    void advance() override
    {
        if (is_notified()) {
            count(Counter::received_by_reference);
            count(Counter::bytes_by_reference, wanted_);
        }
        if (is_notified() || (failed() && !may_be_written()))
            finish();
    }

    void forsake() override
    {
        until_ = Clock::now();
        port_.ready(*this);
    }

    void drop_chunks() override
    {
        if (failed())
            end_rtr_unwritten(rtr_);
    }

private:
    // An end that fails uses nobody's memory when it has ended, and its sender uses the caller's.
    bool may_be_written()
    {
        if (rtr_.state() != SlotState::busy)
            return false;
        const auto now = Clock::now();
        if (until_ == Clock::time_point())
            until_ = now + lost_sender_timeout;
        return now < until_;
    }

    const Slot rtr_;
    Clock::time_point until_; // having failed, it waits for its sender
};

} // namespace

bool wait_for_rtr(Port &port, const void *peer, uint64_t after, bool is_persistent)
{
    BackOff &rtrs = port.peer(peer).rtrs;
    while (!is_rtr_open(after)) { // most look once
        if (rtrs.skipped > 0)
            return --rtrs.skipped, false;
        if (!port.may_wait_for_rtr(is_persistent ? persistent_rtr_timeout : rtr_timeout))
            return rtrs.miss(), false;
    }
    rtrs = {};
    return true;
}

Sender *send_put(Port &port, const Request &request, uint64_t after, bool is_batched)
{
    auto made = std::make_unique<PutSend>(port, request, after);
    if (!made->begin(is_batched))
        return nullptr;
    PutSend &added = port.add(std::move(made));
    if (!is_batched)
        return &port.watch(added);
    added.write_with_others();
    return &added;
}

std::unique_ptr<Receiver> receive_put(Port &port, const Envelope &envelope, const Request &request,
                                      const Slot &rtr)
{
    return std::make_unique<PutRecv>(port, envelope, request, rtr);
}

} // namespace heddle::pipeline
