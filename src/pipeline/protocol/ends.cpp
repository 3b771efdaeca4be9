// SPDX-License-Identifier: BSD-3-Clause
// What all ends have in common (message.hpp), as far as it needs the port.
#include "pipeline/protocol/message.hpp"

#include "pipeline/counters.hpp"
#include "pipeline/peer_memory/process.hpp"
#include "pipeline/protocol/port.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <cstdio>
#include <utility>

namespace heddle::pipeline {

namespace {

// Names of two processes are hardly ever the same, so that a header that went astray is noticed.
uint64_t next_id()
{
    static std::atomic<uint64_t> made{0};
    return (process_id().process >> number_bits << 32) +
           made.fetch_add(1, std::memory_order_relaxed);
}

} // namespace

Message::Message(Port &port, const Request &request)
    : port_(port),
      id_(next_id()),
      peer_(request.peer),
      buffer_(request.buffer),
      type_(request.buffer.type()),
      ending_{request.ended, request.argument, {}, 0, {}}
{
}

bool Message::granted(Error error, Block block)
{
    bool another = false;
    if (const Error e = caught([&] { another = use(error, std::move(block)); }))
        fail(e);
    return another && !failed();
}

// ---- to the other end ----

Header Message::header(Kind kind) const
{
    Header header;
    header.kind = kind;
    header.mode = mode_;
    header.round = round_;
    header.to = other_;
    header.from = id_;
    return header;
}

void Message::send(const Header &header)
{
    if (const Error e = port_.send(peer_, id_, header))
        fail(e);
}

void Message::tell(Kind kind) { static_cast<void>(port_.send(peer_, id_, header(kind))); }

// ---- chunks ----

Chunk &Message::add_chunk(int64_t offset, int64_t bytes, Block block)
{
    assert(offset >= 0 && offset + bytes <= buffer_.bytes());
    Chunk &chunk = chunks_.emplace_back(Chunk{offset, bytes, round_});
    chunk.block = std::move(block);
    return chunk;
}

Error Message::move(Chunk &chunk, const Data &from, const Data &to)
{
    chunk.state = Chunk::State::moving;
    const Error e = caught([&] { port_.transfers().ask(*this, chunk, from, to); });
    if (e)
        erase(chunk);
    return e;
}

void Message::moved(Chunk &chunk, Error error)
{
    chunk.state = Chunk::State::moved;
    if (error)
        fail(error);
    port_.ready(*this);
}

void Message::erase(const Chunk &chunk)
{
    std::erase_if(chunks_, [&](const Chunk &each) { return &each == &chunk; });
}

void Message::erase_chunks(Chunk::State state)
{
    std::erase_if(chunks_, [=](const Chunk &each) { return each.state == state; });
}

void Message::forsake()
{
    erase_chunks(Chunk::State::carried);
    port_.ready(*this);
}

// ---- the end ----

bool Message::note_failure(Error error)
{
    if (failed() || is_notified())
        return false;
    ending_.error = error;
    if (error == HEDDLE_ERR_DEVICE)
        std::snprintf(ending_.detail.data(), ending_.detail.size(), "%s", heddle_error_detail());
    if (is_awaited())
        count(Counter::failed);
    leave();
    port_.ready(*this);
    return true;
}

void Message::fail(Error error)
{
    if (note_failure(error))
        failing();
}

void Message::fail_alone(Error error)
{
    other_ = 0;
    note_failure(error);
    port_.ready(*this);
}

void Message::finish()
{
    assert(life_ != Life::ended);
    ending_.bytes = done_;
    port_.end(*this);
}

void Message::finish_soon()
{
    notify_end(done_);
    life_ = Life::notified;
}

void Message::notify_end(int64_t bytes)
{
    Ending ending = std::exchange(ending_, {});
    ending.bytes = bytes;
    port_.notify(ending);
}

// ---- senders ----

Sender::Sender(Port &port, const Request &request, EnvelopeKind kind)
    : Message(port, request), key_(request.key)
{
    const ProcessId here = process_id();
    envelope_.chunk_log2 =
        static_cast<uint8_t>(std::countr_zero(static_cast<uint64_t>(port.limits().chunk)));
    envelope_.kind = kind;
    envelope_.message = id();
    envelope_.bytes = wanted_ = buffer_.bytes();
    envelope_.node = here.node;
    envelope_.process = here.process;
    envelope_.number = port.limits().number;
}

void Sender::refused(Error error)
{
    if (error)
        return fail_alone(HEDDLE_ERR_PEER);
    note_answer();
    other_ = 0;
    wanted_ = 0;
    port_.ready(*this);
}

bool Sender::makes_sense(const Header &answer, bool anew) const
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
    return answer.bytes == wanted_ && answer.chunk == chunk_bytes_ && answer.mode == mode_ &&
           answer.from == other_;
}

Error Sender::answered(const Header &answer)
{
    const bool anew = !is_answered() || answer.round > round_;
    if (failed() || is_over() || (!anew && answer.round < round_)) // all was read already
        return HEDDLE_SUCCESS;
    if (!makes_sense(answer, anew))
        return HEDDLE_ERR_FORMAT;
    take_answer(answer, anew);
    port_.ready(*this);
    return HEDDLE_SUCCESS;
}

void Sender::failing()
{
    if (other_)
        tell(Kind::failed);
}

void Sender::give(int64_t bytes)
{
    match_ = Match::moving;
    wanted_ = bytes;
}

void Sender::given(Error error)
{
    match_ = Match::answered;
    if (error)
        fail(error);
    else
        done_ = wanted_;
    port_.ready(*this);
}

void Sender::drop_chunks()
{
    match_ = std::min(match_, Match::answered);
    Message::drop_chunks();
}

Error Sender::pack(Chunk &chunk)
{
    return move(chunk, buffer_.data(chunk.offset),
                packed(chunk.block.at(), chunk.bytes, chunk.block.memory()));
}

// ---- what is read where it lies ----

bool Sender::can_stay(Mode mode) const
{
    return buffer_.can_stay(mode) && port_.limits().allow(mode) &&
           can_export(*buffer_.device(), mode);
}

bool Sender::export_own()
{
    if (buffer_.dense() && bytes() > 0)
        own_ = buffer_.export_own(port_.limits().in_place);
    if (own_)
        envelope_.at = own_->place;
    return own_ && whole_chunk(bytes()) >= bytes();
}

Error Sender::add_early_chunk()
{
    mode_ = Mode::reference;
    chunk_bytes_ = chunk_of(mode_, bytes(), port_.limits().chunk);
    Block block;
    const Error e = port_.early().take_spare(*this, block);
    if (!e)
        add_chunk(0, bytes_at(0), std::move(block)).round = no_round;
    return e;
}

void Sender::begin_early_chunk()
{
    if (slot_)
        envelope_.at = chunks_.front().block.handle().place;
    // Or it begins with the port's progress.
    static_cast<void>(caught([&] { port_.transfers().begin_last(); }));
}

void Sender::take_slot(SlotState state)
{
    slot_ = GetSlot(id(), state);
    envelope_.slot = slot_.number();
}

bool Sender::see_read()
{
    const bool is_read = !failed() && slot_->state() == SlotState::done;
    if (is_read)
        was_read(bytes());
    return is_read;
}

void Sender::was_read(int64_t bytes)
{
    std::erase_if(chunks_, [](const Chunk &each) { return each.state != Chunk::State::moving; });
    slot_ = GetSlot();
    note_answer();
    wanted_ = done_ = bytes;
    count(Counter::sent_by_reference);
    count(Counter::sent_in_place, own_.has_value());
    port_.peer(peer_).mode = Mode::reference;
    port_.ready(*this);
}

// ---- receivers ----

Receiver::Receiver(Port &port, const Envelope &envelope, const Request &request)
    : Message(port, request), process_(envelope.process), bytes_(envelope.bytes), at_(envelope.at)
{
    other_ = envelope.message;
    wanted_ = std::min(bytes_, buffer_.bytes());
    buffer_ = buffer_.first(wanted_);
    mode_ = select_mode(envelope, buffer_, port.limits());
}

void Receiver::count_received(int64_t bytes, int chunks) const
{
    count(counter_of(Counter::chunks_by_value, mode_), chunks);
    count(counter_of(Counter::bytes_by_value, mode_), bytes);
}

void Receiver::finish_received()
{
    if (is_truncated())
        ending_.error = HEDDLE_ERR_TRUNCATE;
    finish();
}

} // namespace heddle::pipeline
