// SPDX-License-Identifier: BSD-3-Clause
// The sender's end of a get, which should not wait for its receiver: its slot can be taken back.
// If nobody reads the data in time, they are copied into the host's memory, the slot is withdrawn,
// and they are pushed to the receiver's port, matched or not. Of a buffer that is not dense its
// receiver reads a packed copy.
#include "pipeline/counters.hpp"
#include "pipeline/protocol/eager_send.hpp"

#include <utility>

namespace heddle::pipeline {

namespace {

// Who is reading gets so many times the time-out.
constexpr int for_readers = 10;

class GetSend final : public EagerSend {
public:
    GetSend(Port &port, const Request &request) : EagerSend(port, request, EnvelopeKind::get)
    {
        envelope_.exports = true;
    }
    ~GetSend() override
    {
        if (is_withdrawn())
            if (Peer &its = port_.peer(peer_); its.pushed > 0) // unless it was forgotten
                --its.pushed;
    }

    // Right after it was made. Otherwise nothing has happened.
    bool can_be()
    {
        if (buffer_.dense()) {
            if (export_own())
                take_slot(SlotState::open);
        } else if (can_stay(Mode::reference) && !caught([&] { return add_early_chunk(); }) &&
                   chunk_bytes_ >= bytes()) {
            state_ = State::packing;
            take_slot(SlotState::filling);
        }
        return static_cast<bool>(slot_);
    }

    void pack_early()
    {
        if (state_ != State::packing)
            return;
        if (!pack(chunks_.front()))
            return begin_early_chunk();
        state_ = State::waiting;
        need_copy();
    }

    // Whoever has its envelope nevertheless, and finds the slot withdrawn, waits for what is
    // pushed.
    void abandoned(Error error) override
    {
        Sender::abandoned(error);
        if (!is_withdrawn())
            push_failure();
    }

    // ---- what the receiver says ----

    Error arrived(const Header &header, const void *, size_t bytes) override
    {
        if (bytes)
            return HEDDLE_ERR_FORMAT;
        switch (header.kind) {
        case Kind::answer:
            if (!is_withdrawn())
                return answered(header);
            note_answer();
            other_ = header.from;
            return HEDDLE_SUCCESS;
        case Kind::returned: // it has what was pushed
            if (!is_withdrawn())
                return HEDDLE_ERR_FORMAT;
            refused(HEDDLE_SUCCESS);
            return HEDDLE_SUCCESS;
        case Kind::failed:
        case Kind::refused:
            if (!is_withdrawn() && !failed() && !is_over())
                push_failure(); // it waits for what is pushed to throw it away
            refused(Error::of(header.error));
            return HEDDLE_SUCCESS;
        default:
            return HEDDLE_ERR_FORMAT;
        }
    }

    void carried(Chunk &chunk, Error error) override
    {
        erase(chunk);
        if (error) {
            state_ = State::lost;
            fail(error);
        }
        port_.ready(*this);
    }

    void moved(Chunk &chunk, Error error) override
    {
        if (state_ == State::packing)
            packed_early(chunk, error);
        else
            EagerSend::moved(chunk, error);
    }

private:
    // Its receiver may read it now.
    void packed_early(Chunk &chunk, Error error)
    {
        const bool is_wanted = !failed() && !is_over();
        state_ = State::waiting;
        chunk.state = Chunk::State::exported;
        if (is_wanted && !error && slot_->change(SlotState::filling, SlotState::open))
            return tell_place();
        erase(chunk);
        if (is_wanted)
            need_copy();
        port_.ready(*this);
    }

    // Who cannot read gets the bytes at once. Others are told how to open the memory that they lie
    // in, if they ask; if that fails, all is pushed.
    void take_answer(const Header &answer, bool anew) override
    {
        if (!anew)
            return;
        note_answer();
        other_ = answer.from;
        chunk_bytes_ = answer.chunk;
        mode_ = answer.mode;
        round_ = answer.round;
        if (mode_ == Mode::reference && (own_ || is_packed())) {
            asked_place_ = answer.bytes;
            return tell_place();
        }
        port_.peer(peer_).gets = {BackOff::most, BackOff::most};
        need_copy();
    }

    // Or is being packed.
    bool is_packed() const { return !chunks_.empty() && chunks_.front().round == no_round; }

    // Once all of it is there.
    void tell_place()
    {
        if (!asked_place_ || state_ == State::packing)
            return;
        Header place = header(Kind::chunk);
        place.bytes = std::exchange(asked_place_, 0);
        place.memory = own_ ? *own_ : chunks_.front().block.handle();
        static_cast<void>(port_.send(peer_, id(), place));
    }

    void was_read(int64_t bytes) override
    {
        Sender::was_read(bytes);
        port_.peer(peer_).gets.missed = 0;
    }

    void failing() override
    {
        if (state_ == State::withdrawn) // its receiver gets it nevertheless
            return;
        Sender::failing();
        // Who has the envelope waits for what is pushed.
        if (!other_ && (state_ == State::lost || needs_copy_))
            push_failure();
    }

    // ---- the copy ----

    // Nothing else will do. It is tried once more, unless it is being made.
    void need_copy()
    {
        needs_copy_ = true;
        if (state_ == State::kept)
            state_ = State::waiting;
    }

    Clock::duration timeout() const override
    {
        return EagerSend::timeout() * (slot_->state() == SlotState::busy ? for_readers : 1);
    }

    void withdraw(Chunk &copy) override
    {
        if (!slot_->change({SlotState::filling, SlotState::open, SlotState::busy}, SlotState::none))
            return was_read(bytes());
        slot_ = GetSlot();
        own_.reset();
        erase_chunks(Chunk::State::exported);
        count(Counter::withdrawn);
        state_ = State::withdrawn;
        push(copy);
        if (!failed())
            notify_end(bytes());
    }

    void push(Chunk &copy)
    {
        Peer &its = port_.peer(peer_);
        its.gets.miss();
        ++its.pushed;
        count(Counter::sent_by_value);
        Header with = header(Kind::pushed);
        with.bytes = bytes();
        bool done = false;
        copy.state = Chunk::State::carried;
        if (const Error e = port_.send(peer_, id(), with, copy_.get(), &copy, &done))
            carried(copy, e);
        else if (done)
            erase(copy);
    }

    void push_failure()
    {
        Header with = header(Kind::pushed);
        with.error = HEDDLE_ERR_PEER;
        static_cast<void>(port_.send(peer_, id(), with));
    }

    int64_t asked_place_ = 0; // bytes of which the receiver asks where they lie
};

} // namespace

Sender *send_get(Port &port, const Request &request)
{
    auto made = std::make_unique<GetSend>(port, request);
    if (!made->can_be())
        return nullptr;
    GetSend &added = port.add(std::move(made));
    added.pack_early();
    return &port.watch(added);
}

} // namespace heddle::pipeline
