/* SPDX-License-Identifier: BSD-3-Clause */
#include "ticket_sender.hpp"

#include "../../src/mpid/pipeline/board.hpp"

#include <cstring>
#include <utility>

namespace pipeline_test {

namespace {

using heddle::pipeline::Board;
constexpr int64_t patience = 100000000; /* what is on offer is received */

/* For tickets, on this process's board. The next test finds none. */
int64_t end_use_of_places()
{
    Board *const board = heddle::pipeline::own_board();
    REQUIRE(board);
    return std::count_if(std::begin(board->ticket), std::end(board->ticket), [](auto &record) {
        return heddle::pipeline::shared_word(record.word).exchange(0) != 0;
    });
}

} // namespace

TicketSender::TicketSender(int device)
    : other_("inside: the process that gives tickets", device, "reorder=1 delay_us=20"),
      wire_(std::make_unique<Wire>(other_.socket(), HEDDLE_PEER_AUTO, patience)),
      buffers_({gpu::Kind::device, 0})
{
}

void TicketSender::change_port()
{
    wire_.reset();
    wire_ = std::make_unique<Wire>(other_.socket(), HEDDLE_PEER_AUTO, patience);
}

// ---- what the other is asked ----

Answer TicketSender::ask(const Question &question)
{
    wire_->write(nullptr, 0, &question, sizeof question);
    const std::vector<char> raw = wire_->next_envelope();
    Answer answer;
    REQUIRE(raw.size() == sizeof answer);
    std::memcpy(&answer, raw.data(), sizeof answer);
    return answer;
}

bool TicketSender::gives(const heddle_ticket &ticket, int64_t capacity)
{
    Question question{Ask::give, ticket};
    question.capacity = capacity;
    const Answer answer = ask(question);
    CHECK(answer.error == HEDDLE_SUCCESS);
    return answer.yes == 1;
}

Answer TicketSender::receive(const heddle_ticket *ticket, int64_t capacity, const Made *made)
{
    Question question{Ask::receive, ticket ? *ticket : heddle_ticket{}, ticket != nullptr};
    question.capacity = capacity;
    std::memcpy(question.envelope, (made ? *made : last()).envelope, sizeof question.envelope);
    return ask(question);
}

Answer TicketSender::read()
{
    Question question{Ask::read};
    std::memcpy(question.envelope, last().envelope, sizeof question.envelope);
    const Answer answer = ask(question);
    CHECK(answer.error == HEDDLE_SUCCESS);
    return answer;
}

// ---- messages ----

/* Its contents are not those of the one before; but what may still be sent stays what it is. */
Made &TicketSender::new_message()
{
    const int before = made_.empty() ? 0 : last().number;
    const bool runs = !made_.empty() && !last().end.over;
    made_.emplace_back().number = before + !runs;
    if (std::exchange(filled_, last().number) != last().number)
        buffers_.fill(filled_);
    return last();
}

void TicketSender::send(int64_t bytes, int waits, bool on_offer, Buffers::Kind kind)
{
    Made &made = new_message();
    const heddle_side side = buffers_.side(kind, bytes);
    int offered = 1;
    if (on_offer)
        gpu::succeeds(heddle_message_offer(wire_->port, nullptr, 0, &side, bytes, 0, waits,
                                           made.envelope, ended, &made.end, &made.name, &offered),
                      "heddle_message_offer");
    else
        gpu::succeeds(heddle_message_send(wire_->port, nullptr, &side, bytes, 0, waits,
                                          made.envelope, ended, &made.end, &made.name),
                      "heddle_message_send");
    REQUIRE(offered);
}

bool TicketSender::deliver(const heddle_ticket &ticket, int64_t bytes, Buffers::Kind kind,
                           heddle_port *port)
{
    Made &made = new_message();
    const heddle_side side = buffers_.side(kind, bytes);
    int delivers = -1;
    gpu::succeeds(heddle_message_deliver(port ? port : wire_->port, nullptr, ticket.after, &side,
                                         bytes, 0, made.envelope, ended, &made.end, &made.name,
                                         &delivers),
                  "heddle_message_deliver");
    if (delivers)
        return true;
    CHECK(delivers == 0);
    CHECK(made.name == 0);
    CHECK(std::all_of(std::begin(made.envelope), std::end(made.envelope),
                      [](char byte) { return byte == 0; }));
    made_.pop_back();
    return false;
}

void TicketSender::check_both(int64_t bytes, const Made *made)
{
    const Made &its = made ? *made : last();
    wire_->run([&] { return its.end.over; });
    Question question{Ask::finish};
    question.message = its.number;
    const Answer answer = ask(question);
    CHECK(its.end.error == HEDDLE_SUCCESS);
    CHECK(its.end.bytes == bytes);
    CHECK(its.end.calls == 1);
    CHECK(answer.end.error == HEDDLE_SUCCESS);
    CHECK(answer.end.bytes == bytes);
    CHECK(answer.end.calls == 1);
    CHECK(answer.yes == 1);
}

heddle_ticket TicketSender::send_plainly(bool on_offer, const heddle_ticket *ticket)
{
    send(Buffers::size, 1, on_offer);
    const Answer answer = read();
    CHECK(answer.info.bytes == Buffers::size);
    CHECK(answer.info.next.after == last().name);
    CHECK(receive(ticket).error == HEDDLE_SUCCESS);
    check_both(Buffers::size);
    return answer.info.next;
}

heddle_ticket TicketSender::deliver_whole(const heddle_ticket &ticket, int64_t bytes,
                                          int64_t capacity)
{
    REQUIRE(deliver(ticket, bytes));
    const Answer answer = read();
    CHECK(answer.info.bytes == bytes);
    CHECK(answer.info.next.after == last().name);
    CHECK(receive(&ticket, capacity).error == HEDDLE_SUCCESS);
    check_both(bytes);
    return answer.info.next;
}

/* Places go by names (tickets.cpp), and each message that is made takes one. */
void TicketSender::skip_to_place_of(const heddle_ticket &ticket)
{
    do {
        send(Buffers::size, 0);
        gpu::succeeds(heddle_message_abandon(wire_->port, last().name, HEDDLE_ERR_PEER),
                      "heddle_message_abandon");
        wire_->run([&] { return last().end.over; });
    } while ((last().name + 1 - ticket.after) % Board::tickets != 0);
}

void TicketSender::end()
{
    for (const Made &each : made_)
        CHECK(each.end.calls == 1);
    ask({Ask::end});
    other_.check_end();
    CHECK(end_use_of_places() == 0);
}

} // namespace pipeline_test
