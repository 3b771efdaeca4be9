// SPDX-License-Identifier: BSD-3-Clause
#include "sending.hpp"

#include "counters.hpp"
#include "exports.hpp"
#include "port.hpp"

#include <algorithm>
#include <utility>

namespace heddle::pipeline {

Sending::Sending(Port &port, void *peer, const heddle_side &from, int64_t bytes, uint64_t key,
                 heddle_message_ended ended, void *argument)
    : Outgoing(port, peer, from, bytes, key, ended, argument),
      lends_(can(Mode::reference)),
      shares_(can(Mode::shared))
{
    if (lends_ && buffer_.dense() && bytes > 0)
        own_ = export_own(*buffer_.device(), buffer_.memory(), buffer_.address(0), bytes,
                          port.limits().in_place);
    if (own_ && whole_chunk(bytes) >= bytes && port.can_watch())
        offer_ = Offer(id());
}

// Whether its chunks can stay, in that way.
bool Sending::can(Mode mode) const
{
    return buffer_.can_stay(mode) && allows(port_.limits(), mode) &&
           can_lend(*buffer_.device(), mode);
}

Envelope Sending::envelope() const
{
    Envelope envelope = addressed();
    envelope.lends = lends_;
    envelope.shares = shares_;
    envelope.offer = offer_.number();
    if (own_)
        envelope.at = *own_;
    else if (envelope.offer)
        envelope.at = chunks_.front().block.loan();
    return envelope;
}

bool Sending::look(Clock::time_point)
{
    return !answered_ && !failed() && offer_.number() && !was_seen_taken();
}

bool Sending::was_seen_taken()
{
    if (answered_ || failed() || !offer_.is_taken())
        return false;
    read_at_once(total_);
    return true;
}

// ---- what the receiver says ----

int Sending::arrived(const Header &header, const void *, size_t bytes)
{
    if (bytes)
        return HEDDLE_ERR_FORMAT;
    switch (header.kind) {
    case Kind::answer:
        return answer(header);
    case Kind::returned:
        return returned(header);
    case Kind::failed:
        // It says so when it reads nothing any more.
        std::erase_if(chunks_,
                      [](const Chunk &chunk) { return chunk.state == Chunk::State::lent; });
        fail_alone(HEDDLE_ERR_PEER);
        return HEDDLE_SUCCESS;
    case Kind::refused:
        if (answered_)
            return HEDDLE_ERR_FORMAT;
        refused(header.error);
        return HEDDLE_SUCCESS;
    default:
        return HEDDLE_ERR_FORMAT;
    }
}

int Sending::answer(const Header &header)
{
    if (failed() || (answered_ && done_ == wanted_)) // all was read already
        return HEDDLE_SUCCESS;
    const bool anew = !answered_ || header.round > round_;
    if (!anew && header.round < round_)
        return HEDDLE_SUCCESS;
    if (answered_ && anew && header.mode != Mode::value)
        return HEDDLE_ERR_FORMAT;
    if (header.round == no_round || header.bytes > total_ || header.chunk < smallest_chunk ||
        header.chunk % smallest_chunk ||
        header.chunk > (own_ && header.mode == Mode::reference
                            ? largest_chunk
                            : most_of(header.mode, port_.limits().chunk)) ||
        (header.mode == Mode::reference && !lends_) || (header.mode == Mode::shared && !shares_) ||
        (!anew && (header.bytes != wanted_ || header.chunk != chunk_bytes_ ||
                   header.mode != mode_ || header.from != other_)))
        return HEDDLE_ERR_FORMAT;
    if (anew)
        begin_round(header);
    granted_ = std::max(granted_, header.granted);
    port_.ready(*this);
    return HEDDLE_SUCCESS;
}

// Begins, or begins anew. What runs for an earlier round is thrown away when it has ended; what was
// lent has come back.
void Sending::begin_round(const Header &header)
{
    leave();
    std::erase_if(chunks_, [](const Chunk &chunk) { return chunk.state == Chunk::State::lent; });
    const bool has_first = !answered_ && !chunks_.empty() && header.mode == mode_ &&
                           header.bytes == wanted_ && header.chunk == chunk_bytes_; // it was packed
                                                                                    // early
    if (!answered_) {
        count(counter_of(Counter::sent_by_value, header.mode));
        // Chunks of another size than this end would make cannot be packed early.
        const bool fits = header.mode != Mode::reference || own_ ||
                          header.chunk == chunk_of(header.mode, total_, port_.limits().chunk);
        port_.peers().note_mode(peer_, fits ? header.mode : Mode::value);
    }
    answered_ = true;
    other_ = header.from;
    wanted_ = header.bytes;
    chunk_bytes_ = header.chunk;
    mode_ = header.mode;
    round_ = header.round;
    granted_ = begun_ = next_ = done_ = 0;
    if (has_first) {
        Chunk &first = chunks_.front();
        first.round = round_;
        if (header.granted == 0 && first.state == Chunk::State::moved)
            first.state = Chunk::State::lent; // it is being read
        next_ = first.bytes;
        begun_ = 1;
    }
    offer_ = Offer();
    if (mode_ != Mode::reference)
        own_.reset();
    else if (own_)
        count(Counter::sent_in_place);
}

int Sending::returned(const Header &header)
{
    if (!answered_) {
        if (failed())
            return HEDDLE_SUCCESS;
        const bool packed = offer_.number() && !own_ &&
                            chunks_.front().state == Chunk::State::moved && header.bytes == total_;
        if (!(own_ || packed) || header.mode != Mode::reference || header.round || header.offset ||
            header.bytes > total_)
            return HEDDLE_ERR_FORMAT;
        read_at_once(header.bytes);
    } else if (header.round == round_ && mode_ != Mode::value) {
        if (own_ && begun_ == 0 && header.offset == 0 && header.bytes == wanted_) { // it was read
                                                                                    // at once
            done_ = wanted_;
            port_.ready(*this);
        }
        const auto lent = std::find_if(chunks_.begin(), chunks_.end(), [&](const Chunk &chunk) {
            return chunk.state == Chunk::State::lent && chunk.offset == header.offset;
        });
        if (lent != chunks_.end())
            end_chunk(*lent);
    }
    return HEDDLE_SUCCESS;
}

void Sending::read_at_once(int64_t bytes)
{
    chunks_.clear();
    answered_ = true;
    mode_ = Mode::reference;
    wanted_ = done_ = bytes;
    count(Counter::sent_by_reference);
    if (own_)
        count(Counter::sent_in_place);
    port_.peers().note_mode(peer_, mode_);
    port_.ready(*this);
}

// ---- chunks ----

void Sending::advance()
{
    if (failed()) {
        std::erase_if(chunks_,
                      [](const Chunk &chunk) { return chunk.state == Chunk::State::moved; });
        if (alone_)
            std::erase_if(chunks_,
                          [](const Chunk &chunk) { return chunk.state == Chunk::State::lent; });
        if (chunks_.empty() && !gives_)
            finish();
        return;
    }
    if (gives_)
        return;
    if (!answered_)
        return;
    send_moved();
    if (!packs())
        while (!failed() && may_begin())
            send_chunk(begin_chunk({}));
    else if (!failed() && may_begin())
        port_.sending(mode_).wait(*this);
    if (!failed() && answered_ && done_ == wanted_ && chunks_.empty())
        finish();
}

bool Sending::may_begin() const
{
    if (!answered_ || next_ >= wanted_)
        return false;
    return mode_ == Mode::value ? begun_ < granted_
                                : static_cast<int64_t>(chunks_.size()) < granted_;
}

Chunk &Sending::begin_chunk(Block block)
{
    Chunk &chunk = chunks_.emplace_back();
    chunk.offset = next_;
    chunk.bytes = bytes_at(next_);
    chunk.round = round_;
    chunk.block = std::move(block);
    next_ += chunk.bytes;
    ++begun_;
    return chunk;
}

bool Sending::use(int error, Block block)
{
    if (failed() || !may_begin())
        return false;
    if (error && mode_ != Mode::value) {
        decline();
        return false;
    }
    if (error) {
        fail(error);
        return false;
    }
    pack(begin_chunk(std::move(block)));
    return may_begin();
}

void Sending::pack(Chunk &chunk)
{
    port_.transfers().ask(*this, chunk,
                          {buffer_.after(chunk.offset), packed_side(chunk.block.at(), chunk.bytes),
                           chunk.bytes, HEDDLE_OP_REPLACE},
                          {&buffer_.memory(), chunk.block.memory()});
}

// If the answer is another one than the last, this was for nothing, and is thrown away. It begins
// before the envelope is sent, which takes the processor as long as a short chunk takes the device.
// On offer is only one at a time: of many, the shorter would be read before the longer are packed
// (two H200s that exchange halos: 4 % of the time).
void Sending::pack_early()
{
    if (!lends_ || !packs() || !total_ || port_.peers().mode(peer_) != Mode::reference)
        return;
    mode_ = Mode::reference;
    wanted_ = total_;
    chunk_bytes_ = chunk_of(mode_, total_, port_.limits().chunk);
    const bool alone = port_.is_quiet();
    const int e = guard([&] {
        Block block;
        if (port_.early().take_spare(*this, block) == HEDDLE_SUCCESS) {
            Chunk &chunk = begin_chunk(std::move(block));
            chunk.round = no_round;
            pack(chunk);
        }
        return HEDDLE_SUCCESS;
    });
    if (e) // nobody moves it
        chunks_.clear();
    if (chunks_.empty())
        return;
    if (alone && chunks_.front().bytes == total_)
        offer_ = Offer(id(), false);
    guard([&] { // otherwise it begins with the port's progress
        port_.transfers().begin_last();
        return HEDDLE_SUCCESS;
    });
}

void Sending::moved(Chunk &chunk, int error)
{
    if (!answered_ && !failed() && offer_.number()) {
        if (error)
            offer_ = Offer();
        else
            offer_.open();
    }
    if (!error || chunk.round == round_)
        return Message::moved(chunk, error);
    erase(chunk); // nobody wants it, or it is packed again once somebody does
    port_.ready(*this);
}

// There is nothing to lend. What was lent before is given back as ever; the answer is by value.
void Sending::decline()
{
    granted_ = 0;
    Header header;
    header.kind = Kind::declined;
    header.round = round_;
    header.to = other_;
    if (const int e = port_.send(*this, header))
        fail(e);
}

void Sending::send_moved()
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

void Sending::send_chunk(Chunk &chunk)
{
    Header header;
    header.kind = Kind::chunk;
    header.mode = mode_;
    header.round = round_;
    header.to = other_;
    header.offset = chunk.offset;
    header.bytes = chunk.bytes;
    if (mode_ != Mode::value) {
        header.loan = own_ ? *own_ : chunk.block.loan();
        if (own_)
            header.loan.at += static_cast<uint64_t>(chunk.offset);
        chunk.state = Chunk::State::lent;
        if (const int e = port_.send(*this, header))
            fail(e);
        return;
    }
    chunk.state = Chunk::State::carried;
    bool carried = false;
    const char *const data = buffer_.direct() ? buffer_.address(chunk.offset) : chunk.block.at();
    if (const int e = port_.send(*this, header, data, chunk, carried)) {
        erase(chunk);
        return fail(e);
    }
    if (carried)
        end_chunk(chunk);
}

void Sending::carried(Chunk &chunk, int error)
{
    if (error) {
        erase(chunk);
        fail(error);
        return port_.ready(*this);
    }
    end_chunk(chunk);
}

void Sending::end_chunk(const Chunk &chunk)
{
    done_ += chunk.bytes;
    erase(chunk);
    port_.ready(*this);
}

void Sending::failing()
{
    if (answered_)
        tell(Kind::failed);
}

} // namespace heddle::pipeline
