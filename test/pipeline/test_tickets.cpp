/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tickets: one process writes where another one says that its next message belongs. Here is the
 * sender, which asks the other process to do what a receiver does.
 */
#include "ticket_sender.hpp"

#include "../../src/mpid/pipeline/board.hpp"
#include "../../src/mpid/pipeline/counters.hpp"
#include "../../src/mpid/pipeline/whereabouts.hpp"

using namespace pipeline_test;
using heddle::pipeline::counted;
using heddle::pipeline::Counter;
using Kind = Buffers::Kind;

namespace {

constexpr int64_t size = Buffers::size;

} // namespace

TEST_CASE("inside: the process that gives tickets", "[.][inside]") { be_asked(); }

TEST_CASE("each message of a run is written where the one before it was followed by a ticket",
          "[tickets][processes]")
{
    for (const int device : {0, 1})
        for (const bool on_offer : {false, true}) {
            INFO("device " << device << ", on offer " << on_offer);
            TicketSender sender(device);
            heddle_ticket ticket = sender.send_plainly(on_offer);
            const int headers = sender.wire().headers_read,
                      theirs = sender.ask({Ask::look}).headers;
            const int64_t delivered = counted(Counter::delivered),
                          sent = counted(Counter::sent_by_reference);
            const Answer before = sender.ask({Ask::look});
            for (int i = 0; i < 6; ++i) {
                REQUIRE(sender.gives(ticket));
                ticket = sender.deliver_whole(ticket, size);
            }
            const Answer after = sender.ask({Ask::look});
            CHECK(after.tickets - before.tickets == 6);
            CHECK(after.by_reference - before.by_reference == 6);
            CHECK(counted(Counter::delivered) - delivered == 6);
            CHECK(counted(Counter::sent_by_reference) - sent == 6);
            CHECK(sender.wire().headers_read == headers);
            CHECK(after.headers == theirs);
            CHECK(!after.active);
            sender.end();
        }
}

/* Only its sender's progress says that all is there. */
TEST_CASE("what is delivered has not come before its sender makes progress", "[tickets][processes]")
{
    TicketSender sender;
    const heddle_ticket ticket = sender.send_plainly();
    REQUIRE(sender.gives(ticket));
    REQUIRE(sender.deliver(ticket, size));
    sender.wire().rests = true;
    CHECK(sender.receive(&ticket).error == HEDDLE_SUCCESS);
    const Answer waiting = sender.ask({Ask::look});
    CHECK(!waiting.end.over);
    CHECK(waiting.active);
    sender.wire().rests = false;
    sender.check_both(size);
    sender.end();
}

TEST_CASE("a message that is shorter than its ticket", "[tickets][processes]")
{
    TicketSender sender;
    heddle_ticket ticket = sender.send_plainly();
    for (const int64_t bytes : {size - 1000, int64_t{1}, size - 1}) {
        REQUIRE(sender.gives(ticket));
        ticket = sender.deliver_whole(ticket, bytes);
    }
    sender.end();
}

TEST_CASE("a message that is longer than its ticket is not delivered, and the ticket stays",
          "[tickets][processes]")
{
    TicketSender sender;
    heddle_ticket ticket = sender.send_plainly();
    REQUIRE(sender.gives(ticket, 100000));
    CHECK(!sender.deliver(ticket, 100001));
    ticket = sender.deliver_whole(ticket, 100000, 100000); /* so it was open */
    REQUIRE(sender.gives(ticket, 100000));
    CHECK(!sender.deliver(ticket, size));
    CHECK(sender.withdraw(ticket).yes == 0);
    CHECK(!sender.deliver(ticket, 100000));
    sender.send_plainly();
    sender.end();
}

TEST_CASE("a ticket is withdrawn before it is claimed", "[tickets][processes]")
{
    TicketSender sender;
    const heddle_ticket ticket = sender.send_plainly();
    REQUIRE(sender.gives(ticket));
    CHECK(sender.withdraw(ticket).yes == 0);
    CHECK(!sender.deliver(ticket, size));
    CHECK(sender.withdraw(ticket).yes == 0); /* of one that there is not */
    REQUIRE(sender.gives(ticket));
    sender.deliver_whole(ticket, size);
    sender.end();
}

TEST_CASE("a ticket is withdrawn after it was claimed", "[tickets][processes]")
{
    for (const bool after_all : {false, true}) {
        INFO("after all was written: " << after_all);
        TicketSender sender;
        const heddle_ticket ticket = sender.send_plainly();
        REQUIRE(sender.gives(ticket));
        REQUIRE(sender.deliver(ticket, size));
        sender.wire().rests = !after_all;
        if (after_all)
            sender.wire().run([&] { return sender.last().end.over; });
        CHECK(sender.withdraw(ticket).yes == 1);
        CHECK(sender.withdraw(ticket).yes == 1); /* it was no use */
        sender.wire().rests = false;
        const heddle_ticket next = sender.read().info.next;
        CHECK(sender.receive(&ticket).error == HEDDLE_SUCCESS);
        sender.check_both(size);
        REQUIRE(sender.gives(next));
        sender.deliver_whole(next, size);
        sender.end();
    }
}

TEST_CASE("there is no ticket where there is no use in it", "[tickets][processes]")
{
    TicketSender sender;
    sender.send(size, 0);
    const Answer silent = sender.read();
    CHECK(silent.info.next.sender == 0);
    CHECK(silent.info.bytes == size);
    CHECK(sender.receive(nullptr).error == HEDDLE_SUCCESS);
    sender.check_both(size);
    CHECK(!sender.gives(silent.info.next));

    heddle_ticket ticket = sender.send_plainly();
    const heddle::pipeline::Whereabouts here = heddle::pipeline::whereabouts();
    CHECK(ticket.sender == here.process);
    CHECK(!sender.gives({0, ticket.after}));
    CHECK(!sender.gives({ticket.sender, 0}));
    const int64_t before = sender.ask({Ask::look}).tickets;
    Question wrong{Ask::give, ticket};
    for (const Kind kind : {Kind::strided, Kind::host}) {
        wrong.kind = kind;
        const Answer answer = sender.ask(wrong);
        CHECK(answer.error == HEDDLE_SUCCESS);
        CHECK(answer.yes == 0);
    }
    wrong.kind = Kind::dense;
    for (const int peer : {HEDDLE_PEER_SHARED, HEDDLE_PEER_VALUE}) {
        wrong.peer = peer;
        CHECK(sender.ask(wrong).yes == 0);
    }
    wrong.peer = HEDDLE_PEER_REFERENCE;
    CHECK(sender.ask(wrong).yes == 1);
    CHECK(!sender.gives(ticket)); /* one is open */
    CHECK(!sender.gives({ticket.sender, ticket.after + heddle::pipeline::Board::tickets})); /* and
                                                                                               has
                                                                                               its
                                                                                               place
                                                                                             */
    CHECK(sender.ask({Ask::look}).tickets - before == 1);
    CHECK(sender.withdraw(ticket).yes == 0);
    REQUIRE(sender.gives(ticket));
    ticket = sender.deliver_whole(ticket, size);
    sender.end();
}

/* Its ends could have the same buffer open in two ways. */
TEST_CASE("a process gives itself no ticket", "[tickets]")
{
    const Buffers buffers({gpu::Kind::device, 0});
    Network network(1);
    const size_t a = network.add();
    const heddle_side side = buffers.side(Kind::dense);
    char envelope[HEDDLE_ENVELOPE_BYTES];
    End sent, received;
    REQUIRE(heddle_message_send(network.port(a), network.peer(a), &side, size, 0, 1, envelope,
                                ended, &sent, nullptr) == HEDDLE_SUCCESS);
    heddle_envelope_info info{};
    REQUIRE(heddle_envelope_read(envelope, &info) == HEDDLE_SUCCESS);
    int given = -1, claimed = -1;
    CHECK(heddle_ticket_give(network.port(a), &info.next, &side, size, &given) == HEDDLE_SUCCESS);
    CHECK(given == 0);
    CHECK(heddle_ticket_withdraw(&info.next, &claimed) == HEDDLE_SUCCESS);
    CHECK(claimed == 0);
    REQUIRE(heddle_message_refuse(network.port(a), network.peer(a), envelope, 0) == HEDDLE_SUCCESS);
    run(network, [&] { return sent.over; });
}

TEST_CASE("what cannot be delivered is not, and soon", "[tickets][processes]")
{
    TicketSender sender;
    heddle_ticket ticket = sender.send_plainly();
    const int64_t delivered = counted(Counter::delivered), failed = counted(Counter::failed);
    const auto began = std::chrono::steady_clock::now();
    for (int i = 0; i < 1000; ++i)
        REQUIRE(!sender.deliver(ticket, size));                                /* without one */
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(1)); /* a microsecond
                                                                                  each, and much
                                                                                  else here */
    REQUIRE(sender.gives(ticket));
    for (const Kind kind : {Kind::strided, Kind::host})
        CHECK(!sender.deliver(ticket, size / 2, kind));
    CHECK(!sender.deliver(ticket, 0));
    CHECK(!sender.deliver({ticket.sender, ticket.after + 1}, size));
    {
        const Wire by_value(sender.socket(), HEDDLE_PEER_VALUE);
        CHECK(!sender.deliver(ticket, size, Kind::dense, by_value.port));
    }
    CHECK(!*heddle_port_active(sender.wire().port));
    CHECK(counted(Counter::delivered) == delivered);
    CHECK(counted(Counter::failed) == failed);
    sender.deliver_whole(ticket, size); /* it is open all the same */
    sender.end();
}

TEST_CASE("a receive that has given a ticket is met by another message", "[tickets][processes]")
{
    for (const bool on_offer : {false, true}) {
        TicketSender sender;
        heddle_ticket ticket = sender.send_plainly();
        REQUIRE(sender.gives(ticket));
        const int64_t delivered = counted(Counter::delivered);
        const heddle_ticket next = sender.send_plainly(on_offer, &ticket);
        CHECK(!sender.deliver(ticket, size));
        CHECK(counted(Counter::delivered) == delivered);
        REQUIRE(sender.gives(ticket)); /* nobody has the old one any more */
        CHECK(sender.withdraw(ticket).yes == 0);
        REQUIRE(sender.gives(next));
        sender.deliver_whole(next, size);
        sender.end();
    }
}

TEST_CASE("an envelope that contradicts the ticket is none", "[tickets][processes]")
{
    TicketSender sender;
    const heddle_ticket ticket = sender.send_plainly();
    const heddle_ticket open{ticket.sender, ticket.after + 1},
        none{ticket.sender, ticket.after + 2}, elsewhere{ticket.sender + 1, ticket.after};
    REQUIRE(sender.gives(ticket));
    REQUIRE(sender.gives(open));
    REQUIRE(sender.deliver(ticket, size));
    sender.wire().rests = true;
    const auto is_none = [&](const heddle_ticket *with) {
        const Answer answer = sender.receive(with);
        CHECK(answer.error == HEDDLE_ERR_FORMAT);
        CHECK(!answer.active);
        CHECK(answer.end.calls == 1); /* of the message before */
    };
    for (const heddle_ticket *wrong :
         {static_cast<const heddle_ticket *>(nullptr), &open, &none, &elsewhere})
        is_none(wrong);
    const Made &delivered = sender.last();
    sender.send(size, 1);
    is_none(&ticket); /* a message that is not delivered, where its ticket is claimed */
    gpu::succeeds(heddle_message_abandon(sender.wire().port, sender.last().name, HEDDLE_ERR_PEER),
                  "heddle_message_abandon");
    sender.wire().rests = false;
    CHECK(sender.receive(&ticket, size, &delivered).error == HEDDLE_SUCCESS);
    sender.check_both(size, &delivered);
    sender.end();
}

TEST_CASE("inside: a process whose first message is of the host's memory", "[.][inside]")
{
    TicketSender sender;
    sender.send(size, 1, false, Kind::host);
    const heddle_ticket ticket = sender.read().info.next;
    CHECK(sender.receive(nullptr).error == HEDDLE_SUCCESS);
    sender.check_both(size);
    REQUIRE(sender.gives(ticket));
    sender.deliver_whole(ticket, size);
    sender.end();
}

/* Nothing of this sender's was on offer, or looked for, before. */
TEST_CASE("the first message may be any", "[tickets][processes]")
{
    CHECK(run_inside("inside: a process whose first message is of the host's memory") == 0);
}
