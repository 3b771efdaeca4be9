// SPDX-License-Identifier: BSD-3-Clause
#include "taking.hpp"

#include "counters.hpp"
#include "offers.hpp"
#include "port.hpp"

#include <utility>

namespace heddle::pipeline {

Taking::Taking(Port &port, void *peer, const Envelope &envelope, const heddle_side &to,
               int64_t capacity, heddle_message_ended ended, void *argument)
    : Incoming(port, peer, envelope, to, capacity, ended, argument), offer_(envelope.offer)
{
}

void Taking::begin()
{
    Pushed pushed;
    if (port_.find_pushed(other_, pushed))
        return came(std::move(pushed));
    Borrowed borrowed;
    if (mode_ != Mode::reference)
        answer(Mode::value, false);
    else if (borrow_open(*buffer_.device(), process_, at_, wanted_, borrowed))
        read(std::move(borrowed));
    else
        answer(Mode::reference, true);
}

void Taking::read(Borrowed &&borrowed)
{
    switch (begin_reading(process_, offer_, other_)) {
    case Sight::open:
        return move(std::move(borrowed));
    case Sight::none:
        return answer(Mode::value, false);
    default: // it is pushed
        return;
    }
}

void Taking::move(Borrowed &&from)
{
    Chunk &chunk = chunks_.emplace_back();
    chunk.bytes = wanted_;
    chunk.borrowed = std::move(from.open);
    const int e = guard([&] {
        port_.transfers().ask(
            *this, chunk,
            {packed_side(from.at, wanted_), buffer_.after(0), wanted_, HEDDLE_OP_REPLACE},
            {from.memory, &buffer_.memory()});
        return HEDDLE_SUCCESS;
    });
    if (e) { // nobody moves it
        chunks_.clear();
        return fail(e);
    }
    port_.transfers().begin_if_idle();
}

void Taking::moved(Chunk &, int error)
{
    chunks_.clear();
    port_.ready(*this);
    if (failed())
        return;
    if (!unpacks_)
        return was_read(error);
    if (error)
        return fail(error);
    over();
}

// An error that lasts is met again by what is pushed, or by its sender.
void Taking::was_read(int error)
{
    if (!error && take_offer(process_, offer_, other_) == Take::taken) {
        count(Counter::claimed);
        over();
    } else if (pushed_.at) {
        unpack();
    } else if (error) {
        answer(Mode::value, false);
    }
}

void Taking::over()
{
    count(counter_of(Counter::received_by_value, mode_));
    count(counter_of(Counter::chunks_by_value, mode_));
    count(counter_of(Counter::bytes_by_value, mode_), wanted_);
    done_ = wanted_;
    over_ = true;
    if (unpacks_)
        tell(Kind::returned);
    port_.ready(*this);
}

void Taking::came(Pushed pushed)
{
    came_ = true;
    if (pushed.error || pushed.bytes != bytes_)
        return fail(pushed.error ? pushed.error : int{HEDDLE_ERR_FORMAT});
    pushed_ = std::move(pushed);
    if (chunks_.empty())
        unpack();
}

void Taking::unpack()
{
    unpacks_ = true;
    mode_ = Mode::value;
    if (wanted_ > 0 && !buffer_.of_host())
        return move({static_cast<char *>(pushed_.at.get()), nullptr, nullptr});
    const heddle_move move{packed_side(pushed_.at.get(), wanted_), buffer_.after(0), wanted_,
                           HEDDLE_OP_REPLACE};
    if (const int e = heddle_transfer(&move, wanted_ > 0))
        return fail(e);
    over();
}

void Taking::advance()
{
    if (!chunks_.empty())
        return;
    if (failed()) {
        if (!alone_) {
            tell(Kind::failed);
            if (!came_)
                port_.drop_pushed(other_);
        }
        return finish();
    }
    if (over_)
        finish_received();
}

// ---- between the two ----

void Taking::answer(Mode mode, bool asks_where)
{
    answered_ = true;
    Header header;
    header.kind = Kind::answer;
    header.mode = mode;
    header.to = other_;
    header.from = id();
    header.bytes = wanted_;
    header.granted = asks_where;
    if (const int e = port_.send(*this, header))
        fail(e);
}

void Taking::confirm()
{
    if (!answered_ && !alone_ && !over_)
        answer(Mode::reference, false);
}

int Taking::arrived(const Header &header, const void *, size_t bytes)
{
    if (bytes)
        return HEDDLE_ERR_FORMAT;
    if (header.kind == Kind::failed) {
        if (!over_ && !pushed_.at)
            fail_alone(HEDDLE_ERR_PEER);
        return HEDDLE_SUCCESS;
    }
    if (header.kind != Kind::chunk || header.mode != Mode::reference || header.offset ||
        header.bytes != bytes_)
        return HEDDLE_ERR_FORMAT;
    if (failed() || over_ || unpacks_ || !chunks_.empty())
        return HEDDLE_SUCCESS;
    if (mode_ != Mode::reference)
        return HEDDLE_ERR_FORMAT;
    Borrowed borrowed;
    if (borrow(*buffer_.device(), process_, Mode::reference, header.loan, wanted_, borrowed))
        answer(Mode::value, false);
    else
        read(std::move(borrowed));
    return HEDDLE_SUCCESS;
}

} // namespace heddle::pipeline
