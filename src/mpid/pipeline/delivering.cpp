// SPDX-License-Identifier: BSD-3-Clause
#include "delivering.hpp"

#include "../../gpu/transfer.hpp"
#include "counters.hpp"
#include "exports.hpp"
#include "port.hpp"

#include <utility>

namespace heddle::pipeline {

namespace {

// Between two polls of the transport, as the receiver does (awaiting.cpp).
constexpr int looks = 8;

} // namespace

Delivering::Delivering(Port &port, void *peer, uint64_t after, const heddle_side &from,
                       int64_t bytes, uint64_t key, heddle_message_ended ended, void *argument)
    : Outgoing(port, peer, from, bytes, key, ended, argument),
      after_(after),
      can_be_(buffer_.on_device() && buffer_.dense() && allows(port.limits(), Mode::reference))
{
    answered_ = true; // the receive that it is for is known
    wanted_ = total_;
    mode_ = Mode::reference;
}

bool Delivering::claim()
{
    if (!can_be_ || !port_.peers().finds_ticket(peer_, after_))
        return false;
    claim_ = Claim(after_, total_);
    if (!claim_)
        return false;
    const Loan place = claim_.place();
    gpu::Device &device = *buffer_.device();
    const bool opens =
        is_own(place) && (borrow_open(device, claim_.process(), place, total_, to_) ||
                          (!cannot_borrow(device, claim_.process(), mode_, true) &&
                           !borrow(device, claim_.process(), mode_, claim_.at(), total_, to_)));
    if (!opens)
        claim_.give_back();
    return opens;
}

bool Delivering::begin()
{
    bool begun = false;
    guard([&] {
        if (!claim())
            return HEDDLE_SUCCESS;
        const heddle_move move{buffer_.after(0), packed_side(to_.at, total_), total_,
                               HEDDLE_OP_REPLACE};
        const gpu::Known known{&buffer_.memory(), to_.memory};
        begun = gpu::begin_transfer({&move, 1}, {&known, 1}, &request_) == HEDDLE_SUCCESS;
        return HEDDLE_SUCCESS;
    });
    if (!begun)
        claim_.give_back();
    return begun;
}

Delivering::~Delivering() { heddle_wait(&request_); }

void Delivering::drop_chunks()
{
    heddle_wait(&request_);
    Outgoing::drop_chunks();
}

Envelope Delivering::envelope() const
{
    Envelope envelope = addressed();
    envelope.waits = true;
    envelope.after = after_;
    return envelope;
}

bool Delivering::look(Clock::time_point)
{
    if (done_ < total_) {
        int done = 0;
        int e = heddle_test(&request_, &done);
        for (int left = port_.waits_for_one() ? looks : 0; left > 0 && !e && !done; --left)
            e = heddle_test(&request_, &done);
        if (!e && !done)
            return true;
        if (!e && !failed()) {
            claim_.done();
            done_ = total_;
            finish_soon();
            return true;
        }
        if (e) {
            fail(e);
            heddle_wait(&request_); // it may still use the buffers
        }
    }
    port_.ready(*this);
    return false;
}

void Delivering::abandoned(int error)
{
    abandoned_ = true;
    Outgoing::abandoned(error);
}

// Its receiver hears of a failure by the ticket, once nobody writes any more. It hears nothing of a
// message that does not come: its receive waits for another.
void Delivering::advance()
{
    if (request_)
        return;
    if (abandoned_)
        claim_.give_back();
    claim_ = Claim();
    if (done_ == total_) {
        count(Counter::delivered);
        count(Counter::sent_by_reference);
        port_.peers().note_mode(peer_, mode_);
    }
    finish();
}

// Nothing is told to it, but that its receive failed.
int Delivering::arrived(const Header &header, const void *, size_t bytes)
{
    return bytes || (header.kind != Kind::failed && header.kind != Kind::refused)
               ? HEDDLE_ERR_FORMAT
               : HEDDLE_SUCCESS;
}

} // namespace heddle::pipeline
