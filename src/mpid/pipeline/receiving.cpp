// SPDX-License-Identifier: BSD-3-Clause
#include "receiving.hpp"

#include "borrowing.hpp"
#include "counters.hpp"
#include "exports.hpp"
#include "offers.hpp"
#include "outgoing.hpp"
#include "port.hpp"

#include <cstring>
#include <utility>

namespace heddle::pipeline {

namespace {

// For what is packed as a rule in some microseconds.
constexpr auto patience = std::chrono::milliseconds(1);

} // namespace

Receiving::Receiving(Port &port, void *peer, const Envelope &envelope, const heddle_side &to,
                     int64_t capacity, heddle_message_ended ended, void *argument)
    : Incoming(port, peer, envelope, to, capacity, ended, argument),
      offer_(envelope.offer),
      chunk_(std::max(smallest_chunk, std::min(envelope.chunk, port.limits().chunk)))
{
    cut();
}

void Receiving::cut()
{
    chunk_bytes_ = mode_ == Mode::reference && is_own(at_) ? whole_chunk(bytes_)
                                                           : chunk_of(mode_, bytes_, chunk_);
    came_.assign(static_cast<size_t>(chunks()), false);
}

void Receiving::begin()
{
    Outgoing *const sender = port_.find_own(other_, process_);
    if (sender && sender->can_give())
        return take(*sender);
    count(counter_of(Counter::received_by_value, mode_));
    if (reads_at_once())
        return;
    begin_round();
    send_answer();
}

// Out of the sender's memory, where that is open already; if it is packed there, as soon as it is.
// The sender hears of it when all was read, or when it has to know (heddle_port_confirm).
bool Receiving::reads_at_once()
{
    Borrowed borrowed;
    const bool packed = at_.allocation && !is_own(at_);
    if (mode_ != Mode::reference || !at_.allocation || chunks() != 1 || (packed && truncated_) ||
        !borrow_open(*buffer_.device(), process_, at_, wanted_, borrowed))
        return false;
    told_ = 0;
    if (!packed) {
        read_all(std::move(borrowed));
    } else {
        packing_ = std::move(borrowed);
        until_ = Clock::now() + patience;
        port_.watch(*this);
    }
    return true;
}

void Receiving::read_all(Borrowed &&borrowed)
{
    unanswered_ = true;
    Header whole;
    whole.bytes = wanted_;
    begin_move(whole, std::move(borrowed));
    port_.transfers().begin_if_idle();
}

// Its sender may be far from progress, and does not hear of it otherwise if this process fails, nor
// this one if that does.
bool Receiving::look(Clock::time_point now)
{
    if (!packing_.at || failed())
        return false;
    const Sight sight = look_at_offer(process_, offer_, other_);
    if (sight == Sight::packing && now < until_)
        return true;
    if (sight == Sight::open)
        read_all(std::exchange(packing_, {}));
    else
        answer_after_all();
    return false;
}

void Receiving::answer_after_all()
{
    packing_ = {};
    begin_round();
    send_answer();
}

void Receiving::confirm()
{
    if (alone_ || failed())
        return;
    if (packing_.at)
        answer_after_all();
    else if (std::exchange(unanswered_, false))
        send_answer(); // nothing is granted
}

void Receiving::take(Outgoing &sender)
{
    if (wanted_ > 0) {
        Chunk &chunk = chunks_.emplace_back();
        chunk.bytes = wanted_;
        const int e = guard([&] {
            port_.transfers().ask(*this, chunk,
                                  {sender.side(), buffer_.after(0), wanted_, HEDDLE_OP_REPLACE},
                                  {&sender.memory(), &buffer_.memory()});
            return HEDDLE_SUCCESS;
        });
        if (e) {
            chunks_.clear();
            return fail(e);
        }
    }
    count(Counter::within);
    alone_ = true;
    told_ = granted_;
    mode_ = Mode::reference; // by which is judged what is small
    sender.give(wanted_);
    if (wanted_ > 0) {
        source_ = &sender;
    } else {
        sender.given(HEDDLE_SUCCESS);
        port_.ready(*this);
    }
}

// Room for what is to come, as far as there is some at once.
void Receiving::begin_round()
{
    if (mode_ != Mode::value || buffer_.direct()) {
        granted_ = std::min(chunks(), port_.limits().window);
    } else if (wants_room()) {
        port_.receiving().wait(*this);
        port_.receiving().serve();
    }
    port_.ready(*this);
}

bool Receiving::wants_room() const
{
    return granted_ < chunks() && granted_ - through_ < port_.limits().window;
}

bool Receiving::use(int error, Block block)
{
    if (failed() || !wants_room())
        return false;
    if (error) {
        fail(error);
        return false;
    }
    keep(std::move(block));
    port_.ready(*this);
    return wants_room();
}

void Receiving::keep(Block block)
{
    room_.push_back(std::move(block));
    ++granted_;
}

void Receiving::send_answer()
{
    Header header;
    header.kind = Kind::answer;
    header.mode = mode_;
    header.round = round_;
    header.to = other_;
    header.from = id();
    header.bytes = wanted_;
    header.chunk = chunk_bytes_;
    header.granted = told_ = granted_;
    if (const int e = port_.send(*this, header))
        fail(e);
}

void Receiving::advance()
{
    if (failed() || falling_back_)
        room_.clear();
    if (failed()) {
        if (!chunks_.empty())
            return;
        if (!alone_)
            tell(Kind::failed);
        return finish();
    }
    if (falling_back_) {
        if (chunks_.empty())
            fall_back();
        return;
    }
    if (done_ == wanted_) {
        return finish_received();
    }
    if (mode_ == Mode::value && wants_room()) {
        if (buffer_.direct())
            granted_ = std::min(chunks(), through_ + port_.limits().window);
        else
            port_.receiving().wait(*this);
    }
    if (granted_ > told_)
        send_answer();
}

// Nothing of the sender's memory is read any more: it may begin anew, by value.
void Receiving::fall_back()
{
    count(Counter::fallbacks);
    falling_back_ = false;
    mode_ = Mode::value;
    ++round_;
    done_ = through_ = granted_ = 0;
    cut();
    begin_round();
    send_answer();
}

// ---- what comes ----

Receiving::Verdict Receiving::judge(const Header &header, size_t bytes) const
{
    if (failed() || falling_back_ || header.round != round_)
        return Verdict::stray;
    if (header.mode != mode_ || header.offset >= wanted_ || header.offset % chunk_bytes_ ||
        header.bytes != bytes_at(header.offset) ||
        came_[static_cast<size_t>(header.offset / chunk_bytes_)] ||
        bytes != (mode_ == Mode::value ? static_cast<size_t>(header.bytes) : 0))
        return Verdict::senseless;
    if (mode_ == Mode::value && !buffer_.direct() && room_.empty())
        return Verdict::senseless;
    return Verdict::wanted;
}

int Receiving::accept(const Header &header, size_t bytes, bool &wanted)
{
    const Verdict verdict = judge(header, bytes);
    wanted = verdict == Verdict::wanted;
    if (verdict == Verdict::stray)
        count(Counter::strays);
    if (verdict != Verdict::senseless)
        return HEDDLE_SUCCESS;
    fail(HEDDLE_ERR_FORMAT);
    return HEDDLE_ERR_FORMAT;
}

int Receiving::arrived(const Header &header, const void *data, size_t bytes)
{
    switch (header.kind) {
    case Kind::chunk:
        return arrived_chunk(header, data, bytes);
    case Kind::declined:
        if (mode_ != Mode::value && header.round == round_)
            falling_back_ = true;
        port_.ready(*this);
        return HEDDLE_SUCCESS;
    case Kind::failed:
        // What it lent is still its own: it is told when that is not read any more.
        if (mode_ == Mode::value)
            fail_alone(HEDDLE_ERR_PEER);
        else
            fail(HEDDLE_ERR_PEER);
        return HEDDLE_SUCCESS;
    default:
        return HEDDLE_ERR_FORMAT;
    }
}

Chunk &Receiving::begin_chunk(const Header &header)
{
    Chunk &chunk = chunks_.emplace_back();
    chunk.offset = header.offset;
    chunk.bytes = header.bytes;
    chunk.round = round_;
    if (mode_ == Mode::value && !buffer_.direct()) {
        chunk.block = std::move(room_.back());
        room_.pop_back();
    }
    came_[static_cast<size_t>(header.offset / chunk_bytes_)] = true;
    return chunk;
}

int Receiving::arrived_chunk(const Header &header, const void *data, size_t bytes)
{
    bool wanted;
    if (const int e = accept(header, bytes, wanted); e || !wanted)
        return e;
    if (mode_ != Mode::value)
        return arrived_loan(header);
    Chunk &chunk = begin_chunk(header);
    if (buffer_.of_host()) { // from where it lies
        const heddle_move move{packed_side(data, chunk.bytes), buffer_.after(chunk.offset),
                               chunk.bytes, HEDDLE_OP_REPLACE};
        if (const int e = heddle_transfer(&move, 1))
            fail(e);
        end_chunk(chunk);
    } else {
        std::memcpy(chunk.block.at(), data, bytes);
        begin_move(chunk, chunk.block.at(), chunk.block.memory());
    }
    return HEDDLE_SUCCESS;
}

int Receiving::arrived_loan(const Header &header)
{
    Borrowed borrowed;
    if (borrow(*buffer_.device(), process_, mode_, header.loan, header.bytes, borrowed)) {
        falling_back_ = true;
        port_.ready(*this);
    } else {
        begin_move(header, std::move(borrowed));
    }
    return HEDDLE_SUCCESS;
}

int Receiving::place(const Header &header, size_t bytes, void **where, Chunk **chunk)
{
    if (header.kind != Kind::chunk || header.mode != Mode::value)
        return HEDDLE_ERR_FORMAT;
    bool wanted;
    if (const int e = accept(header, bytes, wanted); e || !wanted)
        return e;
    Chunk &begun = begin_chunk(header);
    begun.state = Chunk::State::carried;
    *where = buffer_.direct() ? buffer_.address(begun.offset) : begun.block.at();
    *chunk = &begun;
    return HEDDLE_SUCCESS;
}

void Receiving::carried(Chunk &chunk, int error)
{
    if (error)
        fail(error);
    if (failed()) {
        erase(chunk);
        port_.ready(*this);
    } else if (buffer_.direct()) {
        end_chunk(chunk);
    } else {
        begin_move(chunk, chunk.block.at(), chunk.block.memory());
    }
}

// ---- chunks ----

void Receiving::begin_move(Chunk &chunk, const void *from, const gpu::Memory *memory)
{
    chunk.state = Chunk::State::moving;
    const int e = guard([&] {
        port_.transfers().ask(*this, chunk,
                              {packed_side(from, chunk.bytes), buffer_.after(chunk.offset),
                               chunk.bytes, HEDDLE_OP_REPLACE},
                              {memory, &buffer_.memory()});
        return HEDDLE_SUCCESS;
    });
    if (e) { // nobody moves it
        erase(chunk);
        fail(e);
    }
}

void Receiving::begin_move(const Header &header, Borrowed &&borrowed)
{
    Chunk &chunk = begin_chunk(header);
    chunk.borrowed = std::move(borrowed.open);
    begin_move(chunk, borrowed.at, borrowed.memory);
}

void Receiving::moved(Chunk &chunk, int error)
{
    const bool at_once = std::exchange(unanswered_, false);
    if (error)
        fail(error);
    if (source_)
        source_->given(error);
    else if (!failed() && mode_ != Mode::value)
        tell_read(chunk, at_once && !truncated_);
    end_chunk(chunk);
}

// Whose sender took it back has failed, and its memory may have been another's.
void Receiving::tell_read(const Chunk &chunk, bool takes)
{
    switch (takes ? take_offer(process_, offer_, other_) : Take::none) {
    case Take::taken:
        return;
    case Take::withdrawn:
        return fail(HEDDLE_ERR_PEER);
    case Take::none:
        return give_back(chunk);
    }
}

// The sender may use the memory of a chunk again.
void Receiving::give_back(const Chunk &chunk)
{
    Header header;
    header.kind = Kind::returned;
    header.mode = mode_;
    header.round = round_;
    header.to = other_;
    header.offset = chunk.offset;
    header.bytes = chunk.bytes;
    if (const int e = port_.send(*this, header))
        fail(e);
}

void Receiving::end_chunk(Chunk &chunk)
{
    if (!failed()) {
        done_ += chunk.bytes;
        ++through_;
        count(counter_of(Counter::chunks_by_value, mode_), !source_);
        count(counter_of(Counter::bytes_by_value, mode_), chunk.bytes);
        // Room for the next one, unless it is others' turn.
        if (chunk.block && wants_room() && !waits() && !port_.receiving().anyone_waits())
            keep(std::move(chunk.block));
    }
    erase(chunk);
    port_.ready(*this);
}

} // namespace heddle::pipeline
