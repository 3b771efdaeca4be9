// SPDX-License-Identifier: BSD-3-Clause
// The receiver's end of a get: reads the data where they lie, and marks the slot (slots.hpp). If
// that cannot be, or they were withdrawn while they were read, it unpacks what its sender pushes.
// Its answers only ask for something: the sender goes its way whatever becomes of them.
#include "pipeline/counters.hpp"
#include "pipeline/protocol/reading_recv.hpp"

namespace heddle::pipeline {

namespace {

class GetRecv final : public ReadingRecv {
public:
    using ReadingRecv::ReadingRecv;

    void begin() override
    {
        if (!pushed_came(other_) && !reads_at_once())
            begin_round();
    }

    bool pushed_came(uint64_t name) override
    {
        if (name != other_ || !port_.unexpected().find(other_, pushed_))
            return false;
        if (pushed_.error || pushed_.bytes != bytes_)
            fail(pushed_.error ? pushed_.error : HEDDLE_ERR_FORMAT);
        else if (state_ != State::reading)
            unpack_pushed();
        return true;
    }

    void advance() override
    {
        if (failed() && chunks_.empty()) {
            if (other_)
                tell(Kind::failed);
            if (other_ && pushed_.state != Pushed::State::whole) // it may still come
                port_.unexpected().drop(other_);
            finish();
        } else if (!failed() && state_ == State::done) {
            count(counter_of(Counter::received_by_value, mode_));
            if (pushed_.at)
                tell(Kind::returned);
            finish_received();
        }
    }

    Error arrived(const Header &header, const void *, size_t bytes) override
    {
        switch (header.kind) {
        case Kind::chunk:
            return told_place(header, bytes);
        case Kind::failed:
            if (!pushed_.at)
                fail_alone(HEDDLE_ERR_PEER);
            return HEDDLE_SUCCESS;
        default:
            return HEDDLE_ERR_FORMAT;
        }
    }

    void moved(Chunk &chunk, Error error) override
    {
        if (state_ == State::reading && !failed()) {
            if (error || !slot_.change(SlotState::busy, SlotState::done))
                return read_in_vain(chunk, error);
            count(Counter::claimed);
        } else if (error) {
            fail(error);
        }
        end_chunk(chunk);
    }

private:
    void begin_round() override
    {
        const bool can_read = mode_ == Mode::reference;
        state_ = can_read ? State::asking : State::waiting;
        send_answer(can_read ? 1 : 0);
    }

    Error told_place(const Header &header, size_t bytes)
    {
        if (failed() || pushed_.at || header.round != round_)
            return count(Counter::strays), HEDDLE_SUCCESS;
        if (state_ != State::asking || header.mode != mode_ || header.offset != 0 ||
            header.bytes != wanted_ || bytes != 0)
            return HEDDLE_ERR_FORMAT;
        find_slot();
        if (!slot_)
            ask_for_copy("its slot cannot be seen");
        else if (slot_.state() != SlotState::open)
            state_ = State::waiting;
        else
            open(header);
        return HEDDLE_SUCCESS;
    }

    // Its sender may withdraw it, and free that memory, while this opens it.
    void open(const Header &header)
    {
        Import import;
        const Error e = importer().try_open(header.memory, header.bytes, import);
        if (!e)
            return read_all(std::move(import));
        if (slot_.state() != SlotState::open) {
            state_ = State::waiting;
            return;
        }
        importer().remember_closed(header.memory, e);
        ask_for_copy("its memory cannot be opened");
    }

    void read_all(Import &&from) override
    {
        if (!slot_)
            return ask_for_copy("its slot cannot be seen");
        if (!slot_.change(SlotState::open, SlotState::busy)) {
            state_ = State::waiting;
            return;
        }
        state_ = State::reading;
        read(add_chunk(0, wanted_), std::move(from));
        port_.transfers().begin_if_idle();
    }

    // An error that lasts is met again by what is pushed, or by its sender.
    void read_in_vain(const Chunk &chunk, Error error)
    {
        erase(chunk);
        if (pushed_.at)
            unpack_pushed();
        else if (error)
            ask_for_copy("its memory cannot be read");
        else
            state_ = State::waiting;
    }

    void ask_for_copy(const char *reason)
    {
        log_fall_back(other_, process_, reason);
        begin_by_value();
    }

    // Takes the place of all else that was to come.
    void unpack_pushed()
    {
        stop_waiting();
        state_ = State::unpacking;
        mode_ = Mode::value;
        Chunk &chunk = add_chunk(0, wanted_);
        if (wanted_ > 0 && !buffer_.of_host()) {
            unpack(chunk, packed(pushed_.at.get(), wanted_));
            return port_.transfers().begin_if_idle();
        }
        if (const Error e = unpack_at_once(pushed_.at.get(), 0, wanted_))
            fail(e);
        end_chunk(chunk);
    }

    void end_chunk(const Chunk &chunk)
    {
        if (!failed()) {
            state_ = State::done;
            done_ = wanted_;
            count_received(wanted_, 1);
        }
        erase(chunk);
        port_.ready(*this);
    }

    enum class State : uint8_t {
        matched,   // and waits, perhaps, until what it will read is packed
        asking,    // where the data lie
        reading,   // until the slot is marked
        waiting,   // for all to be pushed
        unpacking, // what was pushed
        done
    };
    State state_ = State::matched;
    Pushed pushed_;
};

} // namespace

std::unique_ptr<Receiver> receive_get(Port &port, const Envelope &envelope, const Request &request)
{
    return std::make_unique<GetRecv>(port, envelope, request);
}

} // namespace heddle::pipeline
