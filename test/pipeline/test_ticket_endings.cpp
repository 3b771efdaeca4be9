/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that are delivered and come to a bad end: both ends hear of it, and there can be another
 * ticket in the same place.
 */
#include "ticket_sender.hpp"

#include "../../src/mpid/pipeline/board.hpp"
#include "../../src/mpid/pipeline/counters.hpp"

using namespace pipeline_test;
using heddle::pipeline::Board;
using heddle::pipeline::counted;
using heddle::pipeline::Counter;

namespace {

constexpr int64_t size = Buffers::size;

/* Until both ends have ended, with these errors. */
void end_with(TicketSender &sender, int at_sender, int at_receiver)
{
    const End &sent = sender.last().end;
    sender.wire().run([&] { return sent.over; });
    const Answer received = sender.ask({Ask::finish});
    CHECK(sent.error == at_sender);
    CHECK(received.end.error == at_receiver);
    CHECK(received.end.calls == 1);
    CHECK(!received.active);
    CHECK(!*heddle_port_active(sender.wire().port));
}

void check_place_of(TicketSender &sender, const heddle_ticket &ticket)
{
    sender.skip_to_place_of(ticket);
    const heddle_ticket next = sender.send_plainly();
    CHECK(next.after % Board::tickets == ticket.after % Board::tickets);
    REQUIRE(sender.gives(next));
    sender.deliver_whole(next, size);
    sender.end();
}

} // namespace

TEST_CASE("the device of a sender that delivers fails", "[tickets][processes][failures]")
{
    TicketSender sender;
    heddle_ticket ticket = sender.send_plainly();
    REQUIRE(sender.gives(ticket));
    ticket = sender.deliver_whole(ticket, size); /* the other's memory is open */
    REQUIRE(sender.gives(ticket));
    const int64_t delivered = counted(Counter::delivered);
    {
        const Switched on("reset delay_us=100 fail=execute:1");
        REQUIRE(sender.deliver(ticket, size));
        CHECK(sender.receive(&ticket).error == HEDDLE_SUCCESS);
        end_with(sender, HEDDLE_ERR_DEVICE, HEDDLE_ERR_PEER);
        CHECK(sender.last().end.detailed);
    }
    CHECK(counted(Counter::delivered) == delivered);
    check_place_of(sender, ticket);
}

/* Then it goes another way, and so fails or does not. */
TEST_CASE("a sender whose device begins nothing leaves the ticket",
          "[tickets][processes][failures]")
{
    TicketSender sender;
    heddle_ticket ticket = sender.send_plainly();
    REQUIRE(sender.gives(ticket));
    ticket = sender.deliver_whole(ticket, size);
    REQUIRE(sender.gives(ticket));
    {
        const Switched on("reset fail=any:1+");
        CHECK(!sender.deliver(ticket, size));
        CHECK(!*heddle_port_active(sender.wire().port));
    }
    sender.deliver_whole(ticket, size);
    sender.end();
}

/* It has done so before its receiver has the envelope. */
TEST_CASE("a message that was delivered in vain is received", "[tickets][processes][failures]")
{
    TicketSender sender;
    heddle_ticket ticket = sender.send_plainly();
    REQUIRE(sender.gives(ticket));
    ticket = sender.deliver_whole(ticket, size);
    REQUIRE(sender.gives(ticket));
    {
        const Switched on("reset fail=execute:1");
        REQUIRE(sender.deliver(ticket, size));
        sender.wire().run([&] { return sender.last().end.over; });
    }
    CHECK(sender.withdraw(ticket).yes == 1);
    CHECK(sender.receive(&ticket).error == HEDDLE_SUCCESS);
    end_with(sender, HEDDLE_ERR_DEVICE, HEDDLE_ERR_PEER);
    check_place_of(sender, ticket);
}

TEST_CASE("a sender that cannot open the receiver's memory leaves the ticket",
          "[tickets][processes][failures]")
{
    TicketSender sender;
    const heddle_ticket ticket = sender.send_plainly();
    REQUIRE(sender.gives(ticket));
    {
        const Switched on("reset fail=import_memory:1+");
        CHECK(!sender.deliver(ticket, size));
        CHECK(!*heddle_port_active(sender.wire().port));
    }
    CHECK(!sender.deliver(ticket, size)); /* it does not try again */
    CHECK(!sender.gives(ticket));         /* it is open */
    CHECK(sender.withdraw(ticket).yes == 0);
    sender.send_plainly();
    sender.end();
}

/* Its device is not done then, and it waits for that. */
TEST_CASE("the port of a sender that delivers goes", "[tickets][processes][endings]")
{
    for (const bool received_before : {true, false}) {
        TicketSender sender;
        const heddle_ticket ticket = sender.send_plainly();
        REQUIRE(sender.gives(ticket));
        {
            const Switched on("reset delay_us=100000");
            REQUIRE(sender.deliver(ticket, size));
            if (received_before)
                CHECK(sender.receive(&ticket).error == HEDDLE_SUCCESS);
            CHECK(!sender.last().end.over);
            sender.change_port();
            CHECK(sender.last().end.over);
        }
        if (!received_before)
            CHECK(sender.receive(&ticket).error == HEDDLE_SUCCESS);
        end_with(sender, HEDDLE_ERR_PEER, HEDDLE_ERR_PEER);
        check_place_of(sender, ticket);
    }
}

/* Then no message comes, and the receive can be withdrawn. */
TEST_CASE("an envelope of a message that was delivered is not sent",
          "[tickets][processes][endings]")
{
    TicketSender sender;
    const heddle_ticket ticket = sender.send_plainly();
    REQUIRE(sender.gives(ticket));
    REQUIRE(sender.deliver(ticket, size));
    REQUIRE(heddle_message_abandon(sender.wire().port, sender.last().name, HEDDLE_ERR_PEER) ==
            HEDDLE_SUCCESS);
    sender.wire().run([&] { return sender.last().end.over; });
    CHECK(sender.withdraw(ticket).yes == 0);
    check_place_of(sender, ticket);
}

/* Its buffer is its owner's again, so it waits for who writes there. */
TEST_CASE("a receive with a ticket ends without its message", "[tickets][processes][endings]")
{
    TicketSender sender;
    const heddle_ticket ticket = sender.send_plainly();
    CHECK(sender.ask({Ask::end_ticket, ticket}).error == HEDDLE_SUCCESS); /* there is none */
    REQUIRE(sender.gives(ticket));
    CHECK(sender.ask({Ask::end_ticket, ticket}).yes == 0);
    REQUIRE(sender.gives(ticket));
    {
        const Switched on("reset delay_us=100000");
        REQUIRE(sender.deliver(ticket, size));
        const Answer ended = sender.ask({Ask::end_ticket, ticket}); /* and makes progress meanwhile
                                                                     */
        CHECK(ended.error == HEDDLE_SUCCESS);
        CHECK(ended.yes == 1);
        sender.wire().run([&] { return sender.last().end.over; });
    }
    CHECK(sender.last().end.error == HEDDLE_SUCCESS);
    CHECK(sender.receive(&ticket).error == HEDDLE_ERR_FORMAT); /* what meets the envelope fails */
    check_place_of(sender, ticket);
}

TEST_CASE("a sender that delivers loses its receiver", "[tickets][processes][endings]")
{
    TicketSender sender;
    const heddle_ticket ticket = sender.send_plainly();
    REQUIRE(sender.gives(ticket));
    {
        const Switched on("reset delay_us=100000");
        REQUIRE(sender.deliver(ticket, size));
        CHECK(sender.receive(&ticket).error == HEDDLE_SUCCESS);
        heddle_port_lost(sender.wire().port, nullptr, HEDDLE_ERR_PEER);
        heddle_port_progress(sender.wire().port, nullptr);
        CHECK(!sender.last().end.over); /* its device still reads the buffer, and writes to the
                                           other's */
        end_with(sender, HEDDLE_ERR_PEER, HEDDLE_ERR_PEER);
    }
    check_place_of(sender, ticket);
}

TEST_CASE("a receiver loses the sender that delivers, or ends its port",
          "[tickets][processes][endings]")
{
    for (const Ask ask : {Ask::lose, Ask::destroy}) {
        TicketSender sender;
        const heddle_ticket ticket = sender.send_plainly();
        REQUIRE(sender.gives(ticket));
        {
            const Switched on("reset delay_us=100000");
            REQUIRE(sender.deliver(ticket, size));
            CHECK(sender.receive(&ticket).error == HEDDLE_SUCCESS);
            CHECK(!sender.last().end.over);
            sender.ask({ask});
            end_with(sender, HEDDLE_SUCCESS, HEDDLE_ERR_PEER);
        }
        check_place_of(sender, ticket);
    }
}

TEST_CASE("bad arguments of tickets", "[tickets][endings]")
{
    Network network(1);
    heddle_port *const port = network.port(network.add());
    char memory[64] = {}, envelope[HEDDLE_ENVELOPE_BYTES];
    const heddle_side side{memory, 64, heddle_type_predefined(HEDDLE_BYTE), 0};
    const heddle_side nowhere{nullptr, 64, heddle_type_predefined(HEDDLE_BYTE), 0};
    const heddle_ticket ticket{1, 1};
    int yes = 7;
    CHECK(heddle_ticket_end(nullptr) == HEDDLE_ERR_ARG);
    CHECK(heddle_ticket_end(&ticket) == HEDDLE_SUCCESS);

    const auto deliver = [&](heddle_port *by, const heddle_side *from, int64_t bytes) {
        yes = 7;
        return heddle_message_deliver(by, nullptr, 1, from, bytes, 0, envelope, ended, nullptr,
                                      nullptr, &yes);
    };
    CHECK(deliver(port, &side, 65) == HEDDLE_ERR_RANGE);
    CHECK(yes == 0);
    CHECK(deliver(port, &side, -1) == HEDDLE_ERR_ARG);
    CHECK(deliver(port, &nowhere, 64) == HEDDLE_ERR_BUFFER);
    CHECK(deliver(port, nullptr, 64) == HEDDLE_ERR_ARG);
    CHECK(deliver(nullptr, &side, 64) == HEDDLE_ERR_ARG);
    CHECK(heddle_message_deliver(port, nullptr, 1, &side, 64, 0, nullptr, ended, nullptr, nullptr,
                                 &yes) == HEDDLE_ERR_ARG);
    CHECK(heddle_message_deliver(port, nullptr, 1, &side, 64, 0, envelope, nullptr, nullptr,
                                 nullptr, &yes) == HEDDLE_ERR_ARG);
    CHECK(heddle_message_deliver(port, nullptr, 1, &side, 64, 0, envelope, ended, nullptr, nullptr,
                                 nullptr) == HEDDLE_ERR_ARG);
    CHECK(deliver(port, &side, 64) == HEDDLE_SUCCESS);
    CHECK(yes == 0);

    const auto give = [&](heddle_port *by, const heddle_ticket *which, const heddle_side *to,
                          int64_t capacity) {
        yes = 7;
        return heddle_ticket_give(by, which, to, capacity, &yes);
    };
    CHECK(give(port, &ticket, &side, 65) == HEDDLE_ERR_RANGE);
    CHECK(yes == 0);
    CHECK(give(port, &ticket, &side, -1) == HEDDLE_ERR_ARG);
    CHECK(give(port, &ticket, &nowhere, 64) == HEDDLE_ERR_BUFFER);
    CHECK(give(port, &ticket, nullptr, 64) == HEDDLE_ERR_ARG);
    CHECK(give(port, nullptr, &side, 64) == HEDDLE_ERR_ARG);
    CHECK(give(nullptr, &ticket, &side, 64) == HEDDLE_ERR_ARG);
    CHECK(heddle_ticket_give(port, &ticket, &side, 64, nullptr) == HEDDLE_ERR_ARG);
    CHECK(give(port, &ticket, &side, 64) == HEDDLE_SUCCESS);
    CHECK(yes == 0);

    CHECK(heddle_ticket_withdraw(nullptr, &yes) == HEDDLE_ERR_ARG);
    CHECK(heddle_ticket_withdraw(&ticket, nullptr) == HEDDLE_ERR_ARG);
    yes = 7;
    CHECK(heddle_ticket_withdraw(&ticket, &yes) == HEDDLE_SUCCESS); /* which nobody has given */
    CHECK(yes == 0);
    CHECK(!*heddle_port_active(port));
}
