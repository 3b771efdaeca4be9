// SPDX-License-Identifier: BSD-3-Clause
// A sender that does not wait for its receiver: a get, or one to this same port. It has a time-out,
// after which its data are copied into the host's memory. Then its caller is told of the end, and
// all that is left is to hear of the receiver.
#pragma once

#include "pipeline/protocol/port.hpp"

namespace heddle::pipeline {

class EagerSend : public Sender {
public:
    using Sender::Sender;

    bool look(Clock::time_point now) override
    {
        if (failed() || is_over() || is_withdrawn() || see_read())
            return false;
        // Not when it was made: to read the clock takes as long as much else before the envelope.
        if (since_ == Clock::time_point())
            since_ = now;
        // Its caller may free the buffer once it is copied: so nothing reads that then.
        if (state_ == State::waiting && !is_moving() && (needs_copy_ || now - since_ >= timeout()))
            make_copy();
        return true;
    }

    void moved(Chunk &chunk, Error error) override
    {
        chunk.state = Chunk::State::moved;
        state_ = State::kept;
        if (!failed() && !is_moving() && !is_over()) {
            if (!error)
                withdraw(chunk);
            else if (needs_copy_)
                fail(error);
        }
        erase_chunks(Chunk::State::moved);
        port_.ready(*this);
    }

    void advance() override
    {
        if (is_moving() || !(failed() || is_over()))
            return;
        slot_ = GetSlot(); // its caller is told of it, and nobody may read it any more
        erase_chunks(Chunk::State::exported);
        if (chunks_.empty())
            finish();
    }

protected:
    enum class State : uint8_t {
        packing,   // a get that is not dense: into memory that its receiver reads
        waiting,   // until all was read, or the time-out
        copying,   // into the host's memory
        kept,      // no copy could be made: it waits for its receiver, as a longer one would
        withdrawn, // the copy has taken the buffer's place; of a get, it is on its way, or has left
        lost       // the transport does not bring the copy
    };
    bool is_withdrawn() const { return state_ >= State::withdrawn; }

    // From its first look on.
    virtual Clock::duration timeout() const
    {
        return std::chrono::microseconds(port_.limits().timeout);
    }
    // The copy takes the buffer's place, unless that was read after all.
    virtual void withdraw(Chunk &copy) = 0;

    State state_ = State::waiting;
    bool needs_copy_ = false; // a get: its receiver can do nothing but wait for that
    Bytes copy_ = no_bytes();

private:
    void make_copy()
    {
        state_ = State::copying;
        copy_ = new_bytes(bytes(), buffer_.dense() ? buffer_.address(0) : nullptr);
        if (copy_ && !caught([&] {
                return move(add_chunk(0, bytes()), data(), packed(copy_.get(), bytes()));
            }))
            return;
        state_ = State::kept;
        if (needs_copy_)
            fail(HEDDLE_ERR_NO_MEMORY);
    }

    Clock::time_point since_; // its first look
};

} // namespace heddle::pipeline
