/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that are delivered and come to a bad end: both ends hear of it, and there can be another
 * RTR in the same place.
 */
#include "put_sender.hpp"

#include "pipeline/counters.hpp"
#include "pipeline/peer_memory/slots.hpp"

using namespace pipeline_test;
using heddle::pipeline::counted;
using heddle::pipeline::Counter;
using heddle::pipeline::Slots;

namespace {

constexpr int64_t size = Buffers::size;

/* Until both ends have ended, with these errors. */
void end_with(PutSender &sender, int at_sender, int at_receiver)
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

void check_place_of(PutSender &sender, const heddle_rtr &rtr)
{
    sender.skip_to_place_of(rtr);
    const heddle_rtr next = sender.send_plainly();
    CHECK(next.after % Slots::rtrs == rtr.after % Slots::rtrs);
    REQUIRE(sender.gives(next));
    sender.deliver_whole(next, size);
    sender.end();
}

/* An RTR after a message by put: the other's memory is open. */
heddle_rtr give_second(PutSender &sender)
{
    const heddle_rtr first = sender.send_plainly();
    REQUIRE(sender.gives(first));
    const heddle_rtr rtr = sender.deliver_whole(first, size);
    REQUIRE(sender.gives(rtr));
    return rtr;
}

} // namespace

TEST_CASE("the device of a sender that delivers fails", "[put][processes][failures]")
{
    PutSender sender;
    const heddle_rtr rtr = give_second(sender);
    const int64_t delivered = counted(Counter::delivered);
    {
        const Switched on("reset delay_us=100 fail=execute:1");
        REQUIRE(sender.deliver(rtr, size));
        CHECK(sender.receive(&rtr).error == HEDDLE_SUCCESS);
        end_with(sender, HEDDLE_ERR_DEVICE, HEDDLE_ERR_PEER);
        CHECK(sender.last().end.detailed);
    }
    CHECK(counted(Counter::delivered) == delivered);
    check_place_of(sender, rtr);
}

/* Then it goes another way, and so fails or does not. */
TEST_CASE("a sender whose device begins nothing leaves the RTR", "[put][processes][failures]")
{
    PutSender sender;
    const heddle_rtr rtr = give_second(sender);
    {
        const Switched on("reset fail=any:1+");
        CHECK(!sender.deliver(rtr, size));
        CHECK(!*heddle_port_active(sender.wire().port));
    }
    sender.deliver_whole(rtr, size);
    sender.end();
}

/* It has done so before its receiver has the envelope. */
TEST_CASE("a message that was delivered in vain is received", "[put][processes][failures]")
{
    PutSender sender;
    const heddle_rtr rtr = give_second(sender);
    {
        const Switched on("reset fail=execute:1");
        REQUIRE(sender.deliver(rtr, size));
        sender.wire().run([&] { return sender.last().end.over; });
    }
    CHECK(sender.withdraw(rtr).yes == 1);
    CHECK(sender.receive(&rtr).error == HEDDLE_SUCCESS);
    end_with(sender, HEDDLE_ERR_DEVICE, HEDDLE_ERR_PEER);
    check_place_of(sender, rtr);
}

TEST_CASE("a sender that cannot open the receiver's memory leaves the RTR",
          "[put][processes][failures]")
{
    PutSender sender;
    const heddle_rtr rtr = sender.send_plainly();
    REQUIRE(sender.gives(rtr));
    {
        const Switched on("reset fail=import_memory:1+");
        CHECK(!sender.deliver(rtr, size));
        CHECK(!*heddle_port_active(sender.wire().port));
    }
    CHECK(!sender.deliver(rtr, size)); /* it does not try again */
    CHECK(!sender.gives(rtr));         /* it is open */
    CHECK(sender.withdraw(rtr).yes == 0);
    sender.send_plainly();
    sender.end();
}

/* Its device is not done then, and it waits for that. */
TEST_CASE("the port of a sender that delivers goes", "[put][processes][endings]")
{
    for (const bool received_before : {true, false}) {
        PutSender sender;
        const heddle_rtr rtr = sender.send_plainly();
        REQUIRE(sender.gives(rtr));
        {
            const Switched on("reset delay_us=100000");
            REQUIRE(sender.deliver(rtr, size));
            if (received_before)
                CHECK(sender.receive(&rtr).error == HEDDLE_SUCCESS);
            CHECK(!sender.last().end.over);
            sender.change_port();
            CHECK(sender.last().end.over);
        }
        if (!received_before)
            CHECK(sender.receive(&rtr).error == HEDDLE_SUCCESS);
        end_with(sender, HEDDLE_ERR_PEER, HEDDLE_ERR_PEER);
        check_place_of(sender, rtr);
    }
}

/* Then no message comes, and the receive can be withdrawn. */
TEST_CASE("an envelope of a message that was delivered is not sent", "[put][processes][endings]")
{
    PutSender sender;
    const heddle_rtr rtr = sender.send_plainly();
    REQUIRE(sender.gives(rtr));
    REQUIRE(sender.deliver(rtr, size));
    REQUIRE(heddle_message_abandon(sender.wire().port, sender.last().name, HEDDLE_ERR_PEER) ==
            HEDDLE_SUCCESS);
    sender.wire().run([&] { return sender.last().end.over; });
    CHECK(sender.withdraw(rtr).yes == 0);
    check_place_of(sender, rtr);
}

/* Its buffer is its owner's again, so it waits for who writes there. */
TEST_CASE("a receive with an RTR ends without its message", "[put][processes][endings]")
{
    PutSender sender;
    const heddle_rtr rtr = sender.send_plainly();
    CHECK(sender.ask({Ask::end_rtr, rtr}).error == HEDDLE_SUCCESS); /* there is none */
    REQUIRE(sender.gives(rtr));
    CHECK(sender.ask({Ask::end_rtr, rtr}).yes == 0);
    REQUIRE(sender.gives(rtr));
    {
        const Switched on("reset delay_us=100000");
        REQUIRE(sender.deliver(rtr, size));
        const Answer ended = sender.ask({Ask::end_rtr, rtr}); /* and makes progress meanwhile
                                                               */
        CHECK(ended.error == HEDDLE_SUCCESS);
        CHECK(ended.yes == 1);
        sender.wire().run([&] { return sender.last().end.over; });
    }
    CHECK(sender.last().end.error == HEDDLE_SUCCESS);
    CHECK(sender.receive(&rtr).error == HEDDLE_ERR_FORMAT); /* what meets the envelope fails */
    check_place_of(sender, rtr);
}

TEST_CASE("a sender that delivers loses its receiver", "[put][processes][endings]")
{
    PutSender sender;
    const heddle_rtr rtr = sender.send_plainly();
    REQUIRE(sender.gives(rtr));
    {
        const Switched on("reset delay_us=100000");
        REQUIRE(sender.deliver(rtr, size));
        CHECK(sender.receive(&rtr).error == HEDDLE_SUCCESS);
        heddle_port_lost(sender.wire().port, nullptr, HEDDLE_ERR_PEER);
        heddle_port_progress(sender.wire().port, nullptr);
        CHECK(!sender.last().end.over); /* its device still reads the buffer, and writes to the
                                           other's */
        end_with(sender, HEDDLE_ERR_PEER, HEDDLE_ERR_PEER);
    }
    check_place_of(sender, rtr);
}

TEST_CASE("a receiver loses the sender that delivers, or ends its port",
          "[put][processes][endings]")
{
    for (const Ask ask : {Ask::lose, Ask::destroy}) {
        PutSender sender;
        const heddle_rtr rtr = sender.send_plainly();
        REQUIRE(sender.gives(rtr));
        {
            const Switched on("reset delay_us=100000");
            REQUIRE(sender.deliver(rtr, size));
            CHECK(sender.receive(&rtr).error == HEDDLE_SUCCESS);
            CHECK(!sender.last().end.over);
            sender.ask({ask});
            end_with(sender, HEDDLE_SUCCESS, HEDDLE_ERR_PEER);
        }
        check_place_of(sender, rtr);
    }
}

/* Of one that is being written its sender is not done then. */
TEST_CASE("RTRs of a receiver that was killed go", "[put][processes][lost]")
{
    Slots &own = *heddle::pipeline::own_slots();
    const auto in_use = [&] {
        return std::count_if(std::begin(own.rtr), std::end(own.rtr), [](auto &record) {
            return heddle::pipeline::shared_word(record.word).load() != 0;
        });
    };
    PutSender living, killed;
    heddle_rtr theirs = living.send_plainly();
    REQUIRE(living.gives(theirs));
    const heddle_rtr rtr = killed.send_plainly();
    int given = 0;
    for (uint64_t i = 0; i < Slots::rtrs; ++i)
        given += killed.gives({rtr.sender, rtr.after + i});
    REQUIRE(given == Slots::rtrs - 1);
    heddle_process process;
    heddle_process_self(&process);
    process.name = own.rtr[rtr.after % Slots::rtrs].process;
    int ended = -1;
    CHECK(heddle_process_ended(&process, &ended) == HEDDLE_SUCCESS);
    CHECK(ended == 0);
    CHECK(in_use() == Slots::rtrs);

    REQUIRE(killed.deliver(rtr, size));
    killed.wire().run([&] { return killed.last().end.over; });
    {
        const Switched on("reset delay_us=100000");
        REQUIRE(killed.deliver({rtr.sender, rtr.after + 1}, size));
        killed.kill_other();
        CHECK(heddle_process_ended(&process, &ended) == HEDDLE_SUCCESS);
        CHECK(ended == 1);
        CHECK(in_use() == 2);
        killed.wire().run([&] { return killed.last().end.over; });
    }
    CHECK(in_use() == 1);
    for (int i = 0; i < 3; ++i) {
        theirs = living.deliver_whole(theirs, size);
        REQUIRE(living.gives(theirs));
    }
    living.deliver_whole(theirs, size);
    living.end();
}

TEST_CASE("bad arguments of RTRs", "[put][endings]")
{
    Network network(1);
    heddle_port *const port = network.port(network.add());
    char memory[64] = {}, envelope[HEDDLE_ENVELOPE_BYTES];
    const heddle_side side{memory, 64, heddle_type_predefined(HEDDLE_BYTE), 0};
    const heddle_side nowhere{nullptr, 64, heddle_type_predefined(HEDDLE_BYTE), 0};
    const heddle_rtr rtr{1, 1};
    int yes = 7;
    CHECK(heddle_rtr_end(nullptr) == HEDDLE_ERR_ARG);
    CHECK(heddle_rtr_end(&rtr) == HEDDLE_SUCCESS);

    const auto deliver = [&](heddle_port *by, const heddle_side *from, int64_t bytes) {
        yes = 7;
        return put_message(by, nullptr, 1, from, bytes, 0, envelope, ended, nullptr, nullptr, &yes);
    };
    CHECK(deliver(port, &side, 65) == HEDDLE_ERR_RANGE);
    CHECK(yes == 0);
    CHECK(deliver(port, &side, -1) == HEDDLE_ERR_ARG);
    CHECK(deliver(port, &nowhere, 64) == HEDDLE_ERR_BUFFER);
    CHECK(deliver(port, nullptr, 64) == HEDDLE_ERR_ARG);
    CHECK(deliver(nullptr, &side, 64) == HEDDLE_ERR_ARG);
    CHECK(put_message(port, nullptr, 1, &side, 64, 0, nullptr, ended, nullptr, nullptr, &yes) ==
          HEDDLE_ERR_ARG);
    CHECK(put_message(port, nullptr, 1, &side, 64, 0, envelope, nullptr, nullptr, nullptr, &yes) ==
          HEDDLE_ERR_ARG);
    CHECK(deliver(port, &side, 64) == HEDDLE_SUCCESS);
    CHECK(yes == 0);

    const auto give = [&](heddle_port *by, const heddle_rtr *which, const heddle_side *to,
                          int64_t capacity) {
        yes = 7;
        return post_rtr(by, which, to, capacity, &yes);
    };
    CHECK(give(port, &rtr, &side, 65) == HEDDLE_ERR_RANGE);
    CHECK(give(port, &rtr, &side, -1) == HEDDLE_ERR_ARG);
    CHECK(give(port, &rtr, &nowhere, 64) == HEDDLE_ERR_BUFFER);
    CHECK(give(port, &rtr, nullptr, 64) == HEDDLE_ERR_ARG);
    CHECK(give(port, nullptr, &side, 64) == HEDDLE_ERR_ARG);
    CHECK(give(nullptr, &rtr, &side, 64) == HEDDLE_ERR_ARG);
    CHECK(post_rtr(port, &rtr, &side, 64, nullptr) == HEDDLE_ERR_ARG);
    CHECK(give(port, &rtr, &side, 64) == HEDDLE_SUCCESS);
    CHECK(yes == 0);

    CHECK(heddle_rtr_withdraw(nullptr, &yes) == HEDDLE_ERR_ARG);
    CHECK(heddle_rtr_withdraw(&rtr, nullptr) == HEDDLE_ERR_ARG);
    yes = 7;
    CHECK(heddle_rtr_withdraw(&rtr, &yes) == HEDDLE_SUCCESS); /* which nobody has given */
    CHECK(yes == 0);
    CHECK(!*heddle_port_active(port));
}
