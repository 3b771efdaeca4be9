// SPDX-License-Identifier: BSD-3-Clause
// The sender's end of a rendezvous. It waits to be matched, then packs as many chunks as the
// receiver has room for. Each has a block, which goes back once the chunk was sent (by value) or
// read (shared, or by reference). A dense buffer is not packed: the transport, or the receiver,
// reads it where it lies. A receiver that has the sender's memory open reads at once, and marks the
// slot. If the peer took the last message by reference, the first chunk is packed early, while
// envelope and answer are under way. If that is all, its slot opens once it is packed, and no
// answer is needed. A receiver in this same port moves everything itself.
//
// And of a get, a rendezvous that should not wait for its receiver: its slot can be taken back. If
// nobody reads the data in time, they are copied into the host's memory, the slot is withdrawn, and
// they are pushed to the receiver's port, matched or not. The caller is told then; all that is left
// is to hear that it was matched. Of a buffer that is not dense its receiver reads a packed copy.
// One to a receiver of this same port is never pushed: the copy takes the place of the buffer.
#include "pipeline/counters.hpp"
#include "pipeline/protocol/port.hpp"

#include <algorithm>
#include <utility>

namespace heddle::pipeline {

namespace {

// Who is reading gets so many times the time-out.
constexpr int for_readers = 10;

class RndvSend final : public Sender {
public:
    RndvSend(Port &port, const Request &request, heddle_message_path path)
        : Sender(port, request,
                 path == HEDDLE_PATH_GET ? EnvelopeKind::get : EnvelopeKind::rendezvous),
          within_(path == HEDDLE_PATH_SELF),
          is_eager_(within_ || is_get())
    {
        if (within_)
            return;
        envelope_.exports = is_get() || can(Mode::reference);
        envelope_.shares = !is_get() && can(Mode::shared);
        if (envelope_.exports && buffer_.dense() && bytes() > 0)
            own_ = buffer_.export_own(port.limits().in_place);
        if (own_)
            envelope_.at = own_->place;
        if (own_ && whole_chunk(bytes()) >= bytes() && (is_get() || port.can_watch()))
            take_slot(SlotState::open);
    }
    ~RndvSend() override
    {
        if (Peer &its = port_.peer(peer_); is_get() && copy_ == Copy::withdrawn && its.pushed > 0)
            --its.pushed; // unless it was forgotten
    }

    // Right after it was made. Otherwise nothing has happened.
    bool can_be() { return !is_get() || slot_ || can_be_packed(); }

    // Before it is answered: its first chunk, if it is likely to be wanted. If the answer is
    // another one than the last, this was for nothing, and is thrown away. It begins before the
    // envelope is sent, which takes the processor as long as a short chunk takes the device. Only
    // one at a time has a slot: of many, the shorter would be read before the longer are packed
    // (two H200s that exchange halos: 4 % of the time).
    void pack_early()
    {
        if (within_ || !envelope_.exports || !packs() || !bytes() ||
            (!is_get() && port_.peer(peer_).mode != Mode::reference))
            return;
        const bool is_only = port_.is_quiet();
        if (const Error e = caught([&] {
                const Error untaken = take_early_block();
                return untaken ? untaken : pack(std::move(early_block_), no_round);
            });
            e && is_get())
            ask_for_copy();
        if (chunks_.empty())
            return;
        if (!slot_ && is_only && chunks_.front().bytes == bytes())
            take_slot(SlotState::filling);
        if (slot_)
            envelope_.at = chunks_.front().block.handle().place;
        // Or it begins with the port's progress.
        static_cast<void>(caught([&] { port_.transfers().begin_last(); }));
    }

    bool see_read() override
    {
        const bool is_read = !failed() && slot_->state() == SlotState::done;
        if (is_read)
            was_read(bytes());
        return is_read;
    }

    // It has to look: its slot says when all of it was read, or it may be late.
    bool looks() const { return is_eager_ || slot_; }

    bool look(Clock::time_point now) override
    {
        if (failed() || is_over() || is_withdrawn() || see_read())
            return false;
        if (!is_eager_)
            return static_cast<bool>(slot_);
        // Not when it was made: to read the clock takes as long as much else before the envelope.
        if (since_ == Clock::time_point())
            since_ = now;
        const bool is_read = !within_ && slot_->state() == SlotState::busy;
        const auto timeout = std::chrono::microseconds(port_.limits().timeout);
        const bool is_late = now - since_ >= (is_read ? for_readers : 1) * timeout;
        // Its caller may free the buffer once it is copied: so nothing reads that then.
        if (!tried_ && (is_late || copy_ == Copy::asked) && !is_moving() && !is_packing())
            make_copy();
        return true;
    }

    // Whoever has its envelope nevertheless, and finds the slot withdrawn, waits for what is
    // pushed.
    void abandoned(Error error) override
    {
        Sender::abandoned(error);
        if (is_get() && !is_withdrawn())
            push_failure();
    }

    void advance() override
    {
        if (failed()) {
            slot_ = GetSlot(); // its caller is told of it, and nobody may read it any more
            erase_chunks(Chunk::State::moved);
            if (!other_)
                erase_chunks(Chunk::State::exported);
            if (chunks_.empty() && !is_moving())
                finish();
            return;
        }
        if (is_moving() || !is_answered())
            return;
        if (!is_get())
            send_moved();
        if (!packs())
            while (!failed() && may_begin())
                send_chunk(begin_chunk({}, round_));
        else if (!failed() && may_begin())
            port_.sending(mode_).wait(*this);
        if (!failed() && is_over() && chunks_.empty())
            finish();
    }

    // ---- what the receiver says ----

    Error arrived(const Header &header, const void *, size_t bytes) override
    {
        if (bytes || within_)
            return HEDDLE_ERR_FORMAT;
        switch (header.kind) {
        case Kind::answer:
            return answer(header);
        case Kind::returned:
            return returned(header);
        case Kind::failed:
            if (!is_get()) {
                erase_chunks(Chunk::State::exported); // it says so when it reads nothing any more
                return fail_alone(HEDDLE_ERR_PEER), HEDDLE_SUCCESS;
            }
            [[fallthrough]];
        case Kind::refused:
            if (!is_get() && is_answered())
                return HEDDLE_ERR_FORMAT;
            if (is_get() && !is_withdrawn() && !failed() && !is_over())
                push_failure(); // it waits for what is pushed to throw it away
            return refused(Error::of(header.error)), HEDDLE_SUCCESS;
        default:
            return HEDDLE_ERR_FORMAT;
        }
    }

    void carried(Chunk &chunk, Error error) override
    {
        if (!error && !is_eager_)
            return end_chunk(chunk);
        erase(chunk);
        if (error && is_eager_)
            copy_ = Copy::lost;
        if (error)
            fail(error);
        port_.ready(*this);
    }

    void moved(Chunk &chunk, Error error) override
    {
        if (is_eager_)
            return chunk.round == no_round ? packed_early(chunk, error) : copied(chunk, error);
        if (!is_answered() && !failed() && slot_) {
            if (error)
                slot_ = GetSlot();
            else
                slot_->change(SlotState::filling, SlotState::open);
        }
        if (!error || chunk.round == round_)
            return Message::moved(chunk, error);
        erase(chunk); // nobody wants it, or it is packed again once somebody does
        port_.ready(*this);
    }

private:
    // Whether its chunks can stay, in that way.
    bool can(Mode mode) const
    {
        return buffer_.can_stay(mode) && port_.limits().allow(mode) &&
               can_export(*buffer_.device(), mode);
    }
    void take_slot(SlotState state)
    {
        slot_ = GetSlot(id(), state);
        envelope_.slot = slot_.number();
    }

    // Memory for it all to be packed in early.
    Error take_early_block()
    {
        if (early_block_)
            return HEDDLE_SUCCESS;
        mode_ = Mode::reference;
        chunk_bytes_ = chunk_of(mode_, bytes(), port_.limits().chunk);
        return port_.early().take_spare(*this, early_block_);
    }

    // A get of what is not dense.
    bool can_be_packed()
    {
        if (buffer_.dense() || !can(Mode::reference) ||
            caught([&] { return take_early_block(); }) || chunk_bytes_ < bytes())
            return false;
        take_slot(SlotState::filling);
        return static_cast<bool>(slot_);
    }

    // The same: its receiver may read it now.
    void packed_early(Chunk &chunk, Error error)
    {
        chunk.state = Chunk::State::moved;
        const bool is_wanted = !failed() && !is_over() && !is_withdrawn();
        if (is_wanted && !error && slot_->change(SlotState::filling, SlotState::open))
            return tell_place();
        erase(chunk);
        if (is_wanted)
            ask_for_copy();
        port_.ready(*this);
    }

    void was_read(int64_t bytes)
    {
        std::erase_if(chunks_,
                      [](const Chunk &each) { return each.state != Chunk::State::moving; });
        slot_ = GetSlot();
        note_answer();
        wanted_ = done_ = bytes;
        count(Counter::sent_by_reference);
        count(Counter::sent_in_place, own_.has_value());
        port_.peer(peer_).mode = Mode::reference;
        if (is_get())
            port_.peer(peer_).gets.missed = 0;
        port_.ready(*this);
    }

    bool packs() const { return !own_ && !buffer_.direct(); }

    Error answer(const Header &header)
    {
        if (is_withdrawn()) {
            note_answer();
            other_ = header.from;
        }
        if (failed() || is_withdrawn() || is_over()) // all was read already
            return HEDDLE_SUCCESS;
        const bool anew = !is_answered() || header.round > round_;
        if (!anew && header.round < round_)
            return HEDDLE_SUCCESS;
        if (!makes_sense(header, anew))
            return HEDDLE_ERR_FORMAT;
        if (anew)
            begin_round(header);
        if (!is_get()) // nothing is packed for it
            granted_ = std::max(granted_, header.granted);
        port_.ready(*this);
        return HEDDLE_SUCCESS;
    }

    bool makes_sense(const Header &answer, bool anew) const
    {
        const int64_t most = own_ && answer.mode == Mode::reference
                                 ? largest_chunk
                                 : most_of(answer.mode, port_.limits().chunk);
        if (answer.round == no_round || answer.bytes > bytes() || answer.chunk < smallest_chunk ||
            answer.chunk % smallest_chunk || answer.chunk > most ||
            (answer.mode == Mode::reference && !envelope_.exports) ||
            (answer.mode == Mode::shared && !envelope_.shares))
            return false;
        if (anew)
            return !is_answered() || answer.mode == Mode::value;
        return (is_get() || answer.bytes == wanted_) && answer.chunk == chunk_bytes_ &&
               answer.mode == mode_ && answer.from == other_;
    }

    // Begins, or begins anew. What runs for an earlier round is thrown away when it has ended; what
    // was exported has come back.
    void begin_round(const Header &header)
    {
        leave();
        erase_chunks(Chunk::State::exported);
        const bool was_packed_early = !is_answered() && !chunks_.empty() && header.mode == mode_ &&
                                      header.bytes == wanted_ && header.chunk == chunk_bytes_;
        if (!is_answered() && !is_get()) {
            count(counter_of(Counter::sent_by_value, header.mode));
            // Chunks of another size than this end would make cannot be packed early.
            const bool fits = header.mode != Mode::reference || own_ ||
                              header.chunk == chunk_of(header.mode, bytes(), port_.limits().chunk);
            port_.peer(peer_).mode = fits ? header.mode : Mode::value;
        }
        note_answer();
        other_ = header.from;
        if (!is_get()) // all of it is pushed, if any
            wanted_ = header.bytes;
        chunk_bytes_ = header.chunk;
        mode_ = header.mode;
        round_ = header.round;
        granted_ = begun_ = next_ = done_ = 0;
        if (is_get())
            return begin_get(header);
        if (was_packed_early) {
            Chunk &first = chunks_.front();
            first.round = round_;
            if (header.granted == 0 && first.state == Chunk::State::moved)
                first.state = Chunk::State::exported; // it is being read
            next_ = first.bytes;
            begun_ = 1;
        }
        slot_ = GetSlot();
        if (mode_ != Mode::reference)
            own_.reset();
        else if (own_)
            count(Counter::sent_in_place);
    }

    // Who cannot read gets the bytes at once. Others are told how to open the memory that they lie
    // in, if they ask; if that fails, all is pushed.
    void begin_get(const Header &header)
    {
        if (mode_ == Mode::reference && (own_ || is_packed_early())) {
            asked_place_ = header.granted > 0 ? header.bytes : 0;
            return tell_place();
        }
        port_.peer(peer_).gets = {BackOff::most, BackOff::most};
        ask_for_copy();
    }

    // Nothing else will do. It is tried once more, unless it is being made.
    void ask_for_copy()
    {
        copy_ = Copy::asked;
        tried_ = is_copying_;
    }

    bool is_packing() const
    {
        return is_packed_early() && chunks_.front().state == Chunk::State::moving;
    }
    bool is_packed_early() const { return !chunks_.empty() && chunks_.front().round == no_round; }

    // Once all of it is there.
    void tell_place()
    {
        if (!asked_place_ || (!own_ && chunks_.front().state != Chunk::State::moved))
            return;
        Header place = of_chunk(0, std::exchange(asked_place_, 0));
        place.memory = own_ ? *own_ : chunks_.front().block.handle();
        static_cast<void>(port_.send(peer_, id(), place));
    }

    Error returned(const Header &header)
    {
        if (is_get()) { // it has what was pushed
            if (!is_withdrawn())
                return HEDDLE_ERR_FORMAT;
            refused(HEDDLE_SUCCESS);
        } else if (!is_answered()) {
            if (failed())
                return HEDDLE_SUCCESS;
            const bool packed = slot_ && !own_ && chunks_.front().state == Chunk::State::moved &&
                                header.bytes == bytes();
            if (!(own_ || packed) || header.mode != Mode::reference || header.round ||
                header.offset || header.bytes > bytes())
                return HEDDLE_ERR_FORMAT;
            was_read(header.bytes);
        } else if (header.round == round_ && mode_ != Mode::value) {
            // It was read at once.
            if (own_ && begun_ == 0 && header.offset == 0 && header.bytes == wanted_) {
                done_ = wanted_;
                port_.ready(*this);
            }
            const auto read = std::find_if(chunks_.begin(), chunks_.end(), [&](const Chunk &each) {
                return each.state == Chunk::State::exported && each.offset == header.offset;
            });
            if (read != chunks_.end())
                end_chunk(*read);
        }
        return HEDDLE_SUCCESS;
    }

    // ---- chunks ----

    bool may_begin() const
    {
        if (!is_answered() || next_ >= wanted_)
            return false;
        return mode_ == Mode::value ? begun_ < granted_
                                    : static_cast<int64_t>(chunks_.size()) < granted_;
    }

    Chunk &begin_chunk(Block block, uint16_t round)
    {
        Chunk &chunk = add_chunk(next_, bytes_at(next_), std::move(block));
        chunk.round = round;
        next_ += chunk.bytes;
        ++begun_;
        return chunk;
    }

    Error pack(Block block, uint16_t round)
    {
        Chunk &chunk = begin_chunk(std::move(block), round);
        return move(chunk, buffer_.data(chunk.offset),
                    packed(chunk.block.at(), chunk.bytes, chunk.block.memory()));
    }

    bool use(Error error, Block block) override
    {
        if (failed() || !may_begin())
            return false;
        if (error && mode_ != Mode::value)
            return decline(), false;
        if (!error)
            error = pack(std::move(block), round_);
        if (error)
            fail(error);
        return may_begin();
    }

    // There is nothing to export. What was exported before comes back as ever; the answer is by
    // value.
    void decline()
    {
        granted_ = 0;
        send(header(Kind::declined));
    }

    void send_moved()
    {
        for (auto it = chunks_.begin(); it != chunks_.end() && !failed();) {
            Chunk &chunk = *it++; // it may go
            if (chunk.state != Chunk::State::moved)
                continue;
            if (chunk.round != round_)
                erase(chunk);
            else
                send_chunk(chunk);
        }
    }

    Header of_chunk(int64_t offset, int64_t bytes) const
    {
        Header with = header(Kind::chunk);
        with.offset = offset;
        with.bytes = bytes;
        return with;
    }

    void send_chunk(Chunk &chunk)
    {
        Header with = of_chunk(chunk.offset, chunk.bytes);
        if (mode_ != Mode::value) {
            with.memory = own_ ? *own_ : chunk.block.handle();
            if (own_)
                with.memory.place.at += static_cast<uint64_t>(chunk.offset);
            chunk.state = Chunk::State::exported;
            return send(with);
        }
        chunk.state = Chunk::State::carried;
        bool done = false;
        const char *const data =
            buffer_.direct() ? buffer_.address(chunk.offset) : chunk.block.at();
        if (const Error e = port_.send(peer_, id(), with, data, &chunk, &done))
            carried(chunk, e);
        else if (done)
            end_chunk(chunk);
    }

    void end_chunk(const Chunk &chunk)
    {
        done_ += chunk.bytes;
        erase(chunk);
        port_.ready(*this);
    }

    void failing() override
    {
        if (copy_ == Copy::withdrawn) // its receiver gets it nevertheless
            return;
        if (other_)
            tell(Kind::failed);
        else if (copy_ == Copy::lost || copy_ == Copy::asked) // who has the envelope waits for that
            push_failure();
    }

    // ---- the copy of a message that should not wait ----

    enum class Copy : uint8_t {
        none,
        asked,     // its receiver can do nothing but wait for it
        withdrawn, // it is on its way, or has left; within a port, it is the buffer now
        lost       // the transport does not bring it
    };
    bool is_withdrawn() const { return copy_ >= Copy::withdrawn; }
    bool is_over() const { return is_answered() && done_ == wanted_; }

    // Where this fails, it waits for its receiver after all, as a longer one would; unless that
    // waits for the copy.
    void make_copy()
    {
        tried_ = true;
        bytes_ = new_bytes(bytes(), buffer_.dense() ? buffer_.address(0) : nullptr);
        const bool copies =
            bytes_ && !caught([&] {
                return move(add_chunk(0, bytes()), data(), packed(bytes_.get(), bytes()));
            });
        is_copying_ = copies;
        if (!copies && copy_ == Copy::asked)
            fail(HEDDLE_ERR_NO_MEMORY);
    }

    void copied(Chunk &chunk, Error error)
    {
        chunk.state = Chunk::State::moved;
        is_copying_ = false;
        if (failed() || is_moving() || is_over() || error) {
            if (error && copy_ == Copy::asked && !is_over())
                fail(error);
        } else if (is_get() &&
                   !slot_->change({SlotState::filling, SlotState::open, SlotState::busy},
                                  SlotState::none)) {
            was_read(bytes());
        } else {
            withdraw(chunk);
        }
        erase_chunks(Chunk::State::moved);
        port_.ready(*this);
    }

    void withdraw(Chunk &copy)
    {
        slot_ = GetSlot();
        own_.reset();
        count(Counter::withdrawn);
        copy_ = Copy::withdrawn;
        if (within_)
            buffer_ = Buffer(packed(bytes_.get(), bytes()).side, bytes());
        else
            push(copy);
        if (!failed())
            notify_end(bytes());
    }

    void push(Chunk &copy)
    {
        port_.peer(peer_).gets.miss();
        count(Counter::sent_by_value);
        Header with = header(Kind::pushed);
        with.bytes = bytes();
        bool done = false;
        copy.state = Chunk::State::carried;
        if (const Error e = port_.send(peer_, id(), with, bytes_.get(), &copy, &done))
            return carried(copy, e);
        ++port_.peer(peer_).pushed;
        if (done)
            erase(copy);
    }

    void push_failure()
    {
        Header with = header(Kind::pushed);
        with.error = HEDDLE_ERR_PEER;
        static_cast<void>(port_.send(peer_, id(), with));
    }

    const bool within_;
    const bool is_eager_; // a get, or within a port: it has a time-out
    Copy copy_ = Copy::none;
    Clock::time_point since_; // the first look, from which its time-out counts
    bool tried_ = false;      // to copy it
    bool is_copying_ = false;
    Block early_block_;
    int64_t asked_place_ = 0;  // bytes of a get of which the receiver asks where they lie
    Bytes bytes_ = no_bytes(); // the copy
    int64_t granted_ = 0;      // chunks, as answers count them
    int64_t begun_ = 0;        // chunks of this round
    int64_t next_ = 0;         // the first byte of the next one
};

} // namespace

Sender *send_message(Port &port, const Request &request, heddle_message_path path)
{
    auto made = std::make_unique<RndvSend>(port, request, path);
    if (!made->can_be())
        return nullptr;
    RndvSend &added = port.add(std::move(made));
    added.pack_early();
    return added.looks() ? &port.watch(added) : &added;
}

} // namespace heddle::pipeline
