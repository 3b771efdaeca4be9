/* SPDX-License-Identifier: BSD-3-Clause */
#include "put_sender.hpp"

#include "pipeline/peer_memory/slots.hpp"

#include <cstring>
#include <utility>

namespace pipeline_test {

namespace {

using heddle::pipeline::Slots;
constexpr int64_t timeout = 100000000; /* a get is received */

/* RTRs that are posted at this process. The next test finds none. */
int64_t end_use_of_places()
{
    Slots *const own = heddle::pipeline::own_slots();
    REQUIRE(own);
    return std::count_if(std::begin(own->rtr), std::end(own->rtr), [](auto &record) {
        return heddle::pipeline::shared_word(record.word).exchange(0) != 0;
    });
}

} // namespace

PutSender::PutSender(int device)
    : other_("inside: the process that gives RTRs", device, "reorder=1 delay_us=20"),
      wire_(std::make_unique<Wire>(other_.socket(), HEDDLE_PEER_AUTO, timeout)),
      buffers_({gpu::Kind::device, 0})
{
}

void PutSender::change_port()
{
    wire_.reset();
    wire_ = std::make_unique<Wire>(other_.socket(), HEDDLE_PEER_AUTO, timeout);
}

// ---- what the other is asked ----

Answer PutSender::ask(const Question &question)
{
    wire_->write(nullptr, 0, &question, sizeof question);
    const std::vector<char> raw = wire_->next_envelope();
    Answer answer;
    REQUIRE(raw.size() == sizeof answer);
    std::memcpy(&answer, raw.data(), sizeof answer);
    return answer;
}

bool PutSender::gives(const heddle_rtr &rtr, int64_t capacity, Buffers::Kind kind)
{
    Question question{Ask::give, rtr};
    question.kind = kind;
    question.capacity = capacity;
    const Answer answer = ask(question);
    CHECK(answer.error == HEDDLE_SUCCESS);
    return answer.yes == 1;
}

Answer PutSender::receive(const heddle_rtr *rtr, int64_t capacity, const Made *made,
                          Buffers::Kind kind)
{
    Question question{Ask::receive, rtr ? *rtr : heddle_rtr{}, rtr != nullptr};
    question.capacity = capacity;
    question.kind = kind;
    std::memcpy(question.envelope, (made ? *made : last()).envelope, sizeof question.envelope);
    return ask(question);
}

Answer PutSender::read()
{
    Question question{Ask::read};
    std::memcpy(question.envelope, last().envelope, sizeof question.envelope);
    const Answer answer = ask(question);
    CHECK(answer.error == HEDDLE_SUCCESS);
    return answer;
}

// ---- messages ----

/* Its contents are not those of the one before; but what may still be sent stays what it is. */
Made &PutSender::new_message(Buffers::Kind kind)
{
    const int before = made_.empty() ? 0 : last().number;
    const bool runs = !made_.empty() && !last().end.over;
    made_.emplace_back().number = before + !runs;
    const std::pair filled{last().number, kind == Buffers::Kind::strided};
    if (std::exchange(filled_, filled) != filled)
        buffers_.fill(last().number, kind);
    return last();
}

void PutSender::send(int64_t bytes, int stays, bool by_get, Buffers::Kind kind)
{
    Made &made = new_message(kind);
    const heddle_side side = buffers_.side(kind, bytes);
    int went = 1;
    if (by_get)
        gpu::succeeds(get_message(wire_->port, nullptr, 0, &side, bytes, 0, stays, made.envelope,
                                  ended, &made.end, &made.name, &went),
                      "get_message");
    else
        gpu::succeeds(send_message(wire_->port, nullptr, &side, bytes, 0, stays, made.envelope,
                                   ended, &made.end, &made.name),
                      "send_message");
    REQUIRE(went);
}

bool PutSender::deliver(const heddle_rtr &rtr, int64_t bytes, Buffers::Kind kind, heddle_port *port,
                        int stays)
{
    Made &made = new_message(kind);
    const heddle_side side = buffers_.side(kind, bytes);
    int delivers = -1;
    gpu::succeeds(put_message(port ? port : wire_->port, nullptr, rtr.after, &side, bytes, stays,
                              made.envelope, ended, &made.end, &made.name, &delivers),
                  "put_message");
    if (delivers)
        return true;
    CHECK(delivers == 0);
    CHECK(made.name == 0);
    CHECK(std::all_of(std::begin(made.envelope), std::end(made.envelope),
                      [](char byte) { return byte == 0; }));
    made_.pop_back();
    return false;
}

void PutSender::check_both(int64_t bytes, const Made *made, Buffers::Kind at_receiver)
{
    const Made &its = made ? *made : last();
    wire_->run([&] { return its.end.over; });
    Question question{Ask::finish};
    question.message = its.number;
    question.kind = at_receiver;
    const Answer answer = ask(question);
    CHECK(its.end.error == HEDDLE_SUCCESS);
    CHECK(its.end.bytes == bytes);
    CHECK(its.end.calls == 1);
    CHECK(answer.end.error == HEDDLE_SUCCESS);
    CHECK(answer.end.bytes == bytes);
    CHECK(answer.end.calls == 1);
    CHECK(answer.yes == 1);
}

heddle_rtr PutSender::send_plainly(bool by_get, const heddle_rtr *rtr)
{
    send(Buffers::size, HEDDLE_MESSAGE_BLOCKING, by_get);
    const Answer answer = read();
    CHECK(answer.info.bytes == Buffers::size);
    CHECK(answer.info.next.after == last().name);
    CHECK(receive(rtr).error == HEDDLE_SUCCESS);
    check_both(Buffers::size);
    return answer.info.next;
}

heddle_rtr PutSender::deliver_whole(const heddle_rtr &rtr, int64_t bytes, int64_t capacity)
{
    REQUIRE(deliver(rtr, bytes));
    const Answer answer = read();
    CHECK(answer.info.bytes == bytes);
    CHECK(answer.info.next.after == last().name);
    CHECK(receive(&rtr, capacity).error == HEDDLE_SUCCESS);
    check_both(bytes);
    return answer.info.next;
}

/* Places go by names (RTRs.cpp), and each message that is made takes one. */
void PutSender::skip_to_place_of(const heddle_rtr &rtr)
{
    do {
        send(Buffers::size, 0);
        gpu::succeeds(heddle_message_abandon(wire_->port, last().name, HEDDLE_ERR_PEER),
                      "heddle_message_abandon");
        wire_->run([&] { return last().end.over; });
    } while ((last().name + 1 - rtr.after) % Slots::rtrs != 0);
}

void PutSender::end()
{
    for (const Made &each : made_)
        CHECK(each.end.calls == 1);
    ask({Ask::end});
    other_.check_end();
    CHECK(end_use_of_places() == 0);
}

} // namespace pipeline_test
