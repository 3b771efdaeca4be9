// SPDX-License-Identifier: BSD-3-Clause
#include "offered.hpp"

#include "counters.hpp"
#include "exports.hpp"
#include "port.hpp"

#include <utility>

namespace heddle::pipeline {

namespace {

// Who is reading gets so many times the patience.
constexpr int for_readers = 10;

} // namespace

Offered::Offered(Port &port, void *peer, bool within, const heddle_side &from, int64_t bytes,
                 uint64_t key, heddle_message_ended ended, void *argument)
    : Outgoing(port, peer, from, bytes, key, ended, argument), within_(within)
{
    wanted_ = total_;
    all_.bytes = total_;
    if (within_ || !buffer_.on_device() || !buffer_.dense() || total_ < HEDDLE_ENVELOPE_BYTES ||
        !allows(port.limits(), Mode::reference))
        return;
    own_ = export_own(*buffer_.device(), buffer_.memory(), buffer_.address(0), bytes,
                      port.limits().in_place);
    if (own_)
        offer_ = Offer(id());
}

Envelope Offered::envelope() const
{
    Envelope envelope = addressed();
    envelope.offer = offer_.number();
    envelope.withdraws = envelope.offer;
    envelope.lends = own_.has_value();
    envelope.at = own_.value_or(Loan{});
    return envelope;
}

bool Offered::look(Clock::time_point now)
{
    if (failed() || is_over() || withdrawn_ || was_seen_taken())
        return false;
    if (until_ == Clock::time_point()) { // reading the clock takes as long as much else before the
                                         // envelope does
        const auto patience = std::chrono::microseconds(port_.limits().patience);
        until_ = now + patience;
        last_ = now + for_readers * patience;
    }
    if (!copies_ && !gives_ && now >= until_ && (within_ || !offer_.is_read() || now >= last_))
        copy();
    return true;
}

bool Offered::was_seen_taken()
{
    if (within_ || failed() || is_over() || withdrawn_ || !offer_.is_taken())
        return false;
    was_taken();
    return true;
}

void Offered::was_taken()
{
    count(Counter::sent_by_reference);
    count(Counter::sent_in_place);
    port_.peers().note_mode(peer_, Mode::reference);
    port_.peers().note_taken(peer_);
    answered_ = true;
    done_ = wanted_;
    port_.ready(*this);
}

// ---- without a receiver ----

// Where this fails, it waits for its receiver after all, as a longer one would; unless that waits
// for the copy.
void Offered::copy()
{
    until_ = last_ = Clock::time_point::max();
    copy_ = new_bytes(total_, buffer_.dense() ? buffer_.address(0) : nullptr);
    copies_ =
        copy_ && HEDDLE_SUCCESS == guard([&] {
                     port_.transfers().ask(*this, all_,
                                           {buffer_.after(0), packed_side(copy_.get(), total_),
                                            total_, HEDDLE_OP_REPLACE},
                                           {&buffer_.memory(), nullptr});
                     return HEDDLE_SUCCESS;
                 });
    if (!copies_ && depends_)
        fail(HEDDLE_ERR_NO_MEMORY);
}

void Offered::moved(Chunk &, int error)
{
    copies_ = false;
    port_.ready(*this);
    if (failed() || gives_ || is_over())
        return;
    if (error && depends_)
        return fail(error);
    if (error)
        return;
    if (!within_ && !offer_.withdraw())
        return was_taken();
    withdrawn_ = true;
    offer_ = Offer();
    own_.reset();
    count(Counter::withdrawn);
    if (within_)
        buffer_ = Buffer(packed_side(copy_.get(), total_), total_);
    else
        push();
    if (failed())
        return;
    Ending ending = std::exchange(ending_, {});
    ending.bytes = total_;
    port_.tell(ending);
}

void Offered::push()
{
    port_.peers().note_late(peer_);
    count(Counter::sent_by_value);
    Header header;
    header.kind = Kind::pushed;
    header.from = id();
    header.bytes = total_;
    bool carried = false;
    const int e = port_.send(*this, header, copy_.get(), all_, carried);
    lost_ = e;
    if (e)
        return fail(e);
    port_.peers().note_pushed(peer_);
    pushes_ = !carried;
}

// Whoever has its envelope nevertheless, and finds the offer withdrawn, waits for what is pushed.
void Offered::abandoned(int error)
{
    Outgoing::abandoned(error);
    if (!within_ && !withdrawn_)
        push_failure();
}

void Offered::forget_pushed()
{
    if (!withdrawn_ || within_ || lost_)
        return;
    Header header;
    header.kind = Kind::forget;
    header.from = id();
    port_.send(*this, header);
}

// Its receiver, which does not want it, waits for what is pushed to throw it away.
void Offered::push_nothing()
{
    if (!withdrawn_ && !failed() && !is_over())
        push_failure();
}

void Offered::push_failure()
{
    Header header;
    header.kind = Kind::pushed;
    header.from = id();
    header.error = HEDDLE_ERR_PEER;
    port_.send(*this, header);
}

void Offered::forsake()
{
    pushes_ = false;
    port_.ready(*this);
}

Offered::~Offered()
{
    if (withdrawn_ && !within_ && !lost_)
        port_.peers().note_received(peer_);
}

void Offered::carried(Chunk &, int error)
{
    pushes_ = false;
    lost_ = error;
    if (error)
        fail(error);
    port_.ready(*this);
}

void Offered::failing()
{
    if (withdrawn_ && !lost_) // its receiver gets it nevertheless
        return;
    if (other_)
        tell(Kind::failed);
    else if (withdrawn_)
        push_failure();
}

void Offered::advance()
{
    if (failed()) // its caller is told of it, and nobody may read it any more
        offer_ = Offer();
    if (!copies_ && !pushes_ && !gives_ && (failed() || is_over()))
        finish();
}

void Offered::drop_chunks()
{
    copies_ = pushes_ = false;
    Outgoing::drop_chunks();
}

// ---- what the receiver says ----

int Offered::arrived(const Header &header, const void *, size_t bytes)
{
    if (bytes || within_)
        return HEDDLE_ERR_FORMAT;
    switch (header.kind) {
    case Kind::answer:
        if (header.bytes > total_ || header.mode == Mode::shared)
            return HEDDLE_ERR_FORMAT;
        answer(header);
        return HEDDLE_SUCCESS;
    case Kind::returned: // it has what was pushed
        if (!withdrawn_)
            return HEDDLE_ERR_FORMAT;
        dropped();
        return HEDDLE_SUCCESS;
    case Kind::failed:
    case Kind::refused:
        push_nothing();
        refused(header.error);
        return HEDDLE_SUCCESS;
    default:
        return HEDDLE_ERR_FORMAT;
    }
}

// Who cannot read gets the bytes at once.
void Offered::answer(const Header &header)
{
    answered_ = true;
    other_ = header.from;
    if (withdrawn_ || failed() || is_over())
        return;
    if (header.mode == Mode::value) {
        port_.peers().note_refusal(peer_);
        depends_ = true;
        if (!copies_)
            until_ = last_ = Clock::now();
    } else if (header.granted > 0) {
        tell_where();
    }
}

void Offered::tell_where()
{
    Header header;
    header.kind = Kind::chunk;
    header.mode = Mode::reference;
    header.to = other_;
    header.bytes = total_;
    header.loan = *own_;
    port_.send(*this, header); // if this fails, all is pushed
}

} // namespace heddle::pipeline
