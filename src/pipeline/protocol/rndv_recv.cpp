// SPDX-License-Identifier: BSD-3-Clause
// The receiver's end of a rendezvous: answers, with as many chunks as it has room for, and unpacks
// them as they come. What this same port sends it moves at once, from one buffer to the other.
//
// And of a get: reads the data where they lie, and marks the slot (slots.hpp). If that cannot be,
// or they were withdrawn while they were read, it unpacks what its sender pushes. Its answers only
// tell the sender that it was matched, or ask for something: the sender goes its way whatever
// becomes of them.
#include "pipeline/counters.hpp"
#include "pipeline/protocol/port.hpp"
#include "pipeline/protocol/select.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>
#include <vector>

namespace heddle::pipeline {

namespace {

// ---- from this same port ----

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

    Error arrived(const Header &, const void *, size_t) override { return HEDDLE_ERR_FORMAT; }

private:
    Sender &sender_; // stays until it was told
};

// ---- from another one ----

class RndvRecv final : public Receiver {
public:
    RndvRecv(Port &port, const Envelope &envelope, const Request &request)
        : Receiver(port, envelope, request),
          is_get_(envelope.kind == EnvelopeKind::get),
          slot_number_(envelope.slot),
          chunk_(std::clamp(int64_t{1} << envelope.chunk_log2, smallest_chunk,
                            is_of_this_node(envelope) ? port.limits().chunk
                                                      : port.limits().chunk_between_nodes))
    {
        cut();
    }

    // Takes room and answers, or reads at once.
    void begin() override
    {
        if (!pushed_came(other_) && !reads_at_once())
            begin_round();
    }

    bool pushed_came(uint64_t name) override
    {
        if (!is_get_ || name != other_ || !port_.unexpected().find(other_, pushed_))
            return false;
        if (pushed_.error || pushed_.bytes != bytes_)
            fail(pushed_.error ? pushed_.error : HEDDLE_ERR_FORMAT);
        else if (state_ != State::reading)
            unpack_pushed();
        return true;
    }

    // Its sender may be far from progress, and does not hear of it otherwise if this process fails,
    // nor this one if that does.
    bool look(Clock::time_point now) override
    {
        if (state_ != State::packing || failed())
            return false;
        const SlotState packing = slot_.state();
        if (packing == SlotState::filling && now < until_)
            return true;
        if (packing == SlotState::open)
            read_all(std::exchange(packed_, {}));
        else
            begin_round();
        return false;
    }

    void advance() override
    {
        if (failed() || state_ == State::falling_back)
            room_.clear();
        if (failed()) {
            if (!chunks_.empty())
                return;
            if (other_)
                tell(Kind::failed);
            if (other_ && is_get_ && pushed_.state != Pushed::State::whole) // it may still come
                port_.unexpected().drop(other_);
            return finish();
        }
        if (state_ == State::falling_back) {
            if (chunks_.empty())
                fall_back();
            return;
        }
        if (state_ == State::waiting || (state_ == State::unpacking && done_ < wanted_))
            return;
        if (done_ == wanted_) {
            count(counter_of(Counter::received_by_value, mode_));
            if (state_ == State::unpacking)
                tell(Kind::returned);
            return finish_received();
        }
        if (mode_ == Mode::value && wants_room()) {
            if (buffer_.direct())
                granted_ = std::min(chunks(), through_ + port_.limits().window);
            else
                port_.receiving().wait(*this);
        }
        if (granted_ > notified_)
            send_answer();
    }

    // ---- what comes ----

    Error arrived(const Header &header, const void *data, size_t bytes) override
    {
        switch (header.kind) {
        case Kind::chunk:
            return arrived_chunk(header, data, bytes);
        case Kind::declined:
            if (mode_ != Mode::value && header.round == round_)
                stop_reading("its sender has nothing to export");
            return HEDDLE_SUCCESS;
        case Kind::failed:
            if (pushed_.at)
                return HEDDLE_SUCCESS;
            // What it exported is still its own: it is told when that is not read any more.
            if (mode_ == Mode::value || is_get_)
                fail_alone(HEDDLE_ERR_PEER);
            else
                fail(HEDDLE_ERR_PEER);
            return HEDDLE_SUCCESS;
        default:
            return HEDDLE_ERR_FORMAT;
        }
    }

    Error place(const Header &header, size_t bytes, void **where, Chunk **chunk) override
    {
        if (header.kind != Kind::chunk || header.mode != Mode::value)
            return HEDDLE_ERR_FORMAT;
        if (is_stray(header))
            return HEDDLE_SUCCESS;
        if (!makes_sense(header, bytes))
            return HEDDLE_ERR_FORMAT;
        *chunk = &begin_chunk(header.offset);
        (*chunk)->state = Chunk::State::carried;
        *where = buffer_.direct() ? buffer_.address(header.offset) : (*chunk)->block.at();
        return HEDDLE_SUCCESS;
    }

    void carried(Chunk &chunk, Error error) override
    {
        if (error)
            fail(error);
        if (failed()) {
            erase(chunk);
            port_.ready(*this);
        } else if (buffer_.direct()) {
            end_chunk(chunk);
        } else {
            unpack(chunk, packed(chunk.block.at(), chunk.bytes, chunk.block.memory()));
        }
    }

    void moved(Chunk &chunk, Error error) override
    {
        const bool at_once = state_ == State::reading;
        if (at_once)
            state_ = State::chunks;
        // By the slot, if that takes all of it: whose sender took it back has failed, and its
        // memory may have been another's; or all of it is pushed.
        const bool by_slot = at_once && (is_get_ || (!truncated_ && slot_));
        const bool is_right =
            !error && !failed() &&
            (!by_slot || slot_.change({SlotState::open, SlotState::busy}, SlotState::done));
        if (by_slot && is_get_ && !is_right && !failed())
            return read_in_vain(chunk, error);
        if (!is_right)
            fail(error ? error : HEDDLE_ERR_PEER);
        else if (by_slot)
            count(Counter::claimed, is_get_);
        else if (mode_ != Mode::value)
            acknowledge(chunk);
        end_chunk(chunk);
    }

private:
    Importer importer() const { return {*buffer_.device(), process_, mode_}; }

    // Bytes that lie in the host's memory now, into a buffer that the host alone moves.
    Error unpack_at_once(const void *from, int64_t offset, int64_t bytes) const
    {
        const heddle_move move{packed(from, bytes).side, buffer_.data(offset).side, bytes,
                               HEDDLE_OP_REPLACE};
        return Error::of(heddle_transfer(&move, bytes > 0));
    }

    // What is packed for a get is one chunk of its sender's.
    void cut()
    {
        const bool is_whole = mode_ == Mode::reference && (is_get_ || at_.is_own());
        chunk_bytes_ = is_whole ? whole_chunk(bytes_) : chunk_of(mode_, bytes_, chunk_);
    }

    // Out of the sender's memory, where that is open already; if it is packed there, as soon as it
    // is. The sender hears of it when all was read.
    bool reads_at_once()
    {
        Import import;
        const bool is_packed = !at_.is_own();
        if (mode_ != Mode::reference || !at_.allocation || chunks() != 1 ||
            (is_packed && truncated_ && !is_get_) || !importer().find(at_, wanted_, import))
            return false;
        if (!is_packed)
            return read_all(std::move(import)), true;
        slot_ = find_get_slot(process_, slot_number_, other_);
        packed_ = std::move(import);
        state_ = State::packing;
        until_ = Clock::now() + packing_timeout;
        port_.watch(*this);
        return true;
    }

    void read_all(Import &&import)
    {
        if (!slot_)
            slot_ = find_get_slot(process_, slot_number_, other_);
        if (is_get_ && !slot_)
            return stop_reading("its slot cannot be seen");
        if (is_get_ && !slot_.change(SlotState::open, SlotState::busy)) {
            state_ = State::waiting;
            return;
        }
        state_ = State::reading;
        read(0, std::move(import));
        port_.transfers().begin_if_idle();
    }

    // An error that lasts is met again by what is pushed, or by its sender.
    void read_in_vain(Chunk &chunk, Error error)
    {
        erase(chunk);
        if (pushed_.at)
            unpack_pushed();
        else if (error)
            stop_reading("its memory cannot be read");
        else
            state_ = State::waiting;
    }

    // Takes the place of all else that was to come.
    void unpack_pushed()
    {
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

    // Room for what is to come, as far as there is some at once.
    void begin_round()
    {
        state_ = is_get_ && mode_ == Mode::value ? State::waiting : State::chunks;
        packed_ = {};
        came_.assign(static_cast<size_t>(chunks()), false);
        if (state_ == State::waiting) {
            // all of it is pushed
        } else if (mode_ != Mode::value || buffer_.direct()) {
            granted_ = std::min(chunks(), port_.limits().window);
        } else if (wants_room()) {
            port_.receiving().wait(*this);
            port_.receiving().serve();
        }
        port_.ready(*this);
        send_answer();
    }

    void stop_reading(const char *reason)
    {
        if (state_ != State::falling_back)
            log_fall_back(other_, process_, reason);
        state_ = State::falling_back;
        port_.ready(*this);
    }

    // Nothing of the sender's memory is read any more: it may begin anew, by value.
    void fall_back()
    {
        count(Counter::fallbacks, !is_get_);
        mode_ = Mode::value;
        ++round_;
        done_ = through_ = granted_ = 0;
        cut();
        begin_round();
    }

    void send_answer()
    {
        Header answer = header(Kind::answer);
        answer.bytes = wanted_;
        answer.chunk = chunk_bytes_;
        answer.granted = notified_ = granted_;
        send(answer);
    }

    int64_t chunks() const { return (wanted_ + chunk_bytes_ - 1) / chunk_bytes_; }
    bool wants_room() const
    {
        return granted_ < chunks() && granted_ - through_ < port_.limits().window;
    }

    bool use(Error error, Block block) override
    {
        if (failed() || !wants_room())
            return false;
        if (error)
            return fail(error), false;
        keep(std::move(block));
        port_.ready(*this);
        return wants_room();
    }

    void keep(Block block)
    {
        room_.push_back(std::move(block));
        ++granted_;
    }

    // ---- chunks ----

    // Of a round that is over.
    bool is_stray(const Header &header) const
    {
        const bool stray =
            failed() || pushed_.at || state_ == State::falling_back || header.round != round_;
        count(Counter::strays, stray);
        return stray;
    }

    bool makes_sense(const Header &header, size_t bytes) const
    {
        return header.mode == mode_ && !came_.empty() && header.offset < wanted_ &&
               header.offset % chunk_bytes_ == 0 && header.bytes == bytes_at(header.offset) &&
               !came_[static_cast<size_t>(header.offset / chunk_bytes_)] &&
               bytes == (mode_ == Mode::value ? static_cast<size_t>(header.bytes) : 0) &&
               (mode_ != Mode::value || buffer_.direct() || !room_.empty());
    }

    Error arrived_chunk(const Header &header, const void *data, size_t bytes)
    {
        if (is_stray(header))
            return HEDDLE_SUCCESS;
        if (!makes_sense(header, bytes))
            return HEDDLE_ERR_FORMAT;
        if (mode_ != Mode::value)
            return read(header), HEDDLE_SUCCESS;
        Chunk &chunk = begin_chunk(header.offset);
        if (buffer_.of_host()) { // from where it lies
            if (const Error e = unpack_at_once(data, chunk.offset, chunk.bytes))
                fail(e);
            end_chunk(chunk);
        } else {
            std::memcpy(chunk.block.at(), data, bytes);
            carried(chunk, HEDDLE_SUCCESS);
        }
        return HEDDLE_SUCCESS;
    }

    void read(const Header &header)
    {
        Import import;
        if (importer().open(header.memory, header.bytes, import))
            stop_reading("its memory cannot be opened");
        else if (is_get_)
            read_all(std::move(import));
        else
            read(header.offset, std::move(import));
    }

    void read(int64_t offset, Import &&import)
    {
        Chunk &chunk = begin_chunk(offset);
        chunk.import = std::move(import.open);
        unpack(chunk, packed(import.at, chunk.bytes, import.memory));
    }

    Chunk &begin_chunk(int64_t offset)
    {
        Chunk &chunk = add_chunk(offset, bytes_at(offset));
        if (mode_ == Mode::value && !buffer_.direct()) {
            assert(!room_.empty()); // as makes_sense() sees
            chunk.block = std::move(room_.back());
            room_.pop_back();
        }
        if (!came_.empty())
            came_[static_cast<size_t>(offset / chunk_bytes_)] = true;
        return chunk;
    }

    void unpack(Chunk &chunk, const Data &from)
    {
        if (const Error e = move(chunk, from, buffer_.data(chunk.offset)))
            fail(e);
    }

    // The sender may use the memory of a chunk again.
    void acknowledge(const Chunk &chunk)
    {
        Header returned = header(Kind::returned);
        returned.offset = chunk.offset;
        returned.bytes = chunk.bytes;
        send(returned);
    }

    void end_chunk(Chunk &chunk)
    {
        if (!failed()) {
            done_ += chunk.bytes;
            ++through_;
            count_received(chunk.bytes, 1);
            // Room for the next one, unless it is others' turn.
            if (chunk.block && wants_room() && !waits() && !port_.receiving().anyone_waits())
                keep(std::move(chunk.block));
        }
        erase(chunk);
        port_.ready(*this);
    }

    enum class State : uint8_t {
        chunks,       // come, as the answers ask for
        packing,      // waits until its sender has packed what it will read at once
        reading,      // reads all at once, and has not answered; or a get, until it is marked
        falling_back, // to chunks by value, once nothing of the sender's is read any more
        waiting,      // for all of a get to be pushed
        unpacking     // what was pushed
    };
    State state_ = State::chunks;
    const bool is_get_;
    const uint16_t slot_number_;
    Slot slot_;               // of what it reads at once; null: none, or it cannot be seen
    const int64_t chunk_;     // the lower limit of both ports
    Import packed_;           // what it waits for in `packing`
    Clock::time_point until_; // and until when
    Pushed pushed_;
    std::vector<Block> room_; // for chunks that the sender was told of
    std::vector<bool> came_;  // by chunk; none before there was an answer
    int64_t through_ = 0;     // chunks
    int64_t granted_ = 0;     // chunks
    int64_t notified_ = 0;    // of these the sender knows
};

} // namespace

std::unique_ptr<Receiver> receive_message(Port &port, const Envelope &envelope,
                                          const Request &request)
{
    Sender *const sender = port.find_own(envelope.message, envelope.process);
    if (sender && sender->can_give())
        return std::make_unique<SelfRecv>(port, envelope, request, *sender);
    return std::make_unique<RndvRecv>(port, envelope, request);
}

} // namespace heddle::pipeline
