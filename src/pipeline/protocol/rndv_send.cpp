// SPDX-License-Identifier: BSD-3-Clause
// The sender's end of a rendezvous. It waits to be matched, then packs as many chunks as the
// receiver has room for. Each has a block, which goes back once the chunk was sent (by value) or
// read (shared, or by reference). A dense buffer is not packed: the transport, or the receiver,
// reads it where it lies. A receiver that has the sender's memory open reads at once, and marks the
// slot. If the peer took the last message by reference, the first chunk is packed early, while
// envelope and answer are under way. If that is all, its slot opens once it is packed, and no
// answer is needed.
#include "pipeline/counters.hpp"
#include "pipeline/protocol/port.hpp"

#include <algorithm>
#include <utility>

namespace heddle::pipeline {

namespace {

class RndvSend final : public Sender {
public:
    RndvSend(Port &port, const Request &request) : Sender(port, request, EnvelopeKind::rendezvous)
    {
        envelope_.exports = can_stay(Mode::reference);
        envelope_.shares = can_stay(Mode::shared);
        if (envelope_.exports && export_own() && port.can_watch())
            take_slot(SlotState::open);
    }

    // Before it is answered: its first chunk, if it is likely to be wanted. If the answer is
    // another one than the last, this was for nothing, and is thrown away. It begins before the
    // envelope is sent, which takes the processor as long as a short chunk takes the device. Only
    // one at a time has a slot: of many, the shorter would be read before the longer are packed
    // (two H200s that exchange halos: 4 % of the time).
    void pack_early()
    {
        if (!envelope_.exports || !packs() || !bytes() || port_.peer(peer_).mode != Mode::reference)
            return;
        const bool is_only = port_.is_quiet();
        if (caught([&] { return add_early_chunk(); }) || pack(chunks_.front()))
            return;
        if (is_only && chunks_.front().bytes == bytes())
            take_slot(SlotState::filling);
        begin_early_chunk();
    }

    // Its slot says when all of it was read.
    bool can_be_read_at_once() const { return static_cast<bool>(slot_); }

    bool look(Clock::time_point) override
    {
        return !failed() && !is_over() && !see_read() && slot_;
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
        send_moved();
        if (!packs())
            while (!failed() && may_begin())
                send_chunk(begin_chunk());
        else if (!failed() && may_begin())
            port_.sending(mode_).wait(*this);
        if (!failed() && is_over() && chunks_.empty())
            finish();
    }

    // ---- what the receiver says ----

    Error arrived(const Header &header, const void *, size_t bytes) override
    {
        if (bytes)
            return HEDDLE_ERR_FORMAT;
        switch (header.kind) {
        case Kind::answer:
            return answered(header);
        case Kind::returned:
            return returned(header);
        case Kind::failed:
            erase_chunks(Chunk::State::exported); // it says so when it reads nothing any more
            fail_alone(HEDDLE_ERR_PEER);
            return HEDDLE_SUCCESS;
        case Kind::refused:
            if (is_answered())
                return HEDDLE_ERR_FORMAT;
            refused(Error::of(header.error));
            return HEDDLE_SUCCESS;
        default:
            return HEDDLE_ERR_FORMAT;
        }
    }

    void carried(Chunk &chunk, Error error) override
    {
        if (!error)
            return end_chunk(chunk);
        erase(chunk);
        fail(error);
        port_.ready(*this);
    }

    void moved(Chunk &chunk, Error error) override
    {
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
    bool packs() const { return !own_ && !buffer_.direct(); }

    void take_answer(const Header &answer, bool anew) override
    {
        if (anew)
            begin_round(answer);
        granted_ = std::max(granted_, answer.granted);
    }

    // Begins, or begins anew. What runs for an earlier round is thrown away when it has ended; what
    // was exported has come back.
    void begin_round(const Header &header)
    {
        leave();
        erase_chunks(Chunk::State::exported);
        const bool was_packed_early = !is_answered() && !chunks_.empty() && header.mode == mode_ &&
                                      header.bytes == wanted_ && header.chunk == chunk_bytes_;
        if (!is_answered()) {
            count(counter_of(Counter::sent_by_value, header.mode));
            // Chunks of another size than this end would make cannot be packed early.
            const bool fits = header.mode != Mode::reference || own_ ||
                              header.chunk == chunk_of(header.mode, bytes(), port_.limits().chunk);
            port_.peer(peer_).mode = fits ? header.mode : Mode::value;
        }
        note_answer();
        other_ = header.from;
        wanted_ = header.bytes;
        chunk_bytes_ = header.chunk;
        mode_ = header.mode;
        round_ = header.round;
        granted_ = next_ = done_ = 0;
        if (was_packed_early) {
            chunks_.front().round = round_;
            next_ = chunks_.front().bytes;
        }
        slot_ = GetSlot();
        if (mode_ != Mode::reference)
            own_.reset();
        else if (own_)
            count(Counter::sent_in_place);
    }

    Error returned(const Header &header)
    {
        if (!is_answered()) {
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
            if (own_ && next_ == 0 && header.offset == 0 && header.bytes == wanted_) {
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
        // What is over may have been moved as a whole, and was not cut then.
        if (!is_answered() || is_over() || next_ >= wanted_)
            return false;
        const int64_t taken = mode_ == Mode::value ? divide_up(next_, chunk_bytes_)
                                                   : static_cast<int64_t>(chunks_.size());
        return taken < granted_;
    }

    Chunk &begin_chunk(Block block = {})
    {
        Chunk &chunk = add_chunk(next_, bytes_at(next_), std::move(block));
        next_ += chunk.bytes;
        return chunk;
    }

    bool use(Error error, Block block) override
    {
        if (failed() || !may_begin())
            return false;
        if (error && mode_ != Mode::value) {
            // There is nothing to export. What was exported before comes back as ever; the answer
            // is by value.
            granted_ = 0;
            send(header(Kind::declined));
            return false;
        }
        if (!error)
            error = pack(begin_chunk(std::move(block)));
        if (error)
            fail(error);
        return may_begin();
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

    void send_chunk(Chunk &chunk)
    {
        Header with = header(Kind::chunk);
        with.offset = chunk.offset;
        with.bytes = chunk.bytes;
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

    int64_t granted_ = 0; // chunks, as answers count them
    int64_t next_ = 0;    // of this round: the first byte of the next one
};

} // namespace

Sender *send_rndv(Port &port, const Request &request)
{
    RndvSend &added = port.add(std::make_unique<RndvSend>(port, request));
    added.pack_early();
    return added.can_be_read_at_once() ? &port.watch(added) : &added;
}

} // namespace heddle::pipeline
