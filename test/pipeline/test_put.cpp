/* SPDX-License-Identifier: BSD-3-Clause
 *
 * RTRs: one process writes where another one says that its next message belongs. Here is the
 * sender, which asks the other process to do what a receiver does.
 */
#include "put_sender.hpp"

#include "pipeline/counters.hpp"
#include "pipeline/peer_memory/process.hpp"
#include "pipeline/peer_memory/slots.hpp"
#include "pipeline/protocol/port.hpp"

using namespace pipeline_test;
using heddle::pipeline::counted;
using heddle::pipeline::Counter;
using Kind = Buffers::Kind;

namespace {

constexpr int64_t size = Buffers::size;

} // namespace

TEST_CASE("inside: the process that gives RTRs", "[.][inside]") { be_asked(); }

TEST_CASE("each message of a run is written where the one before it was followed by an RTR",
          "[put][processes]")
{
    for (const int device : {0, 1})
        for (const bool by_get : {false, true}) {
            INFO("device " << device << ", by get " << by_get);
            PutSender sender(device);
            heddle_rtr rtr = sender.send_plainly(by_get);
            const int headers = sender.wire().headers_read,
                      theirs = sender.ask({Ask::look}).headers;
            const int64_t delivered = counted(Counter::delivered),
                          sent = counted(Counter::sent_by_reference);
            const Answer before = sender.ask({Ask::look});
            for (int i = 0; i < 6; ++i) {
                REQUIRE(sender.gives(rtr));
                rtr = sender.deliver_whole(rtr, size);
            }
            const Answer after = sender.ask({Ask::look});
            CHECK(after.rtrs - before.rtrs == 6);
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
TEST_CASE("what is delivered has not come before its sender makes progress", "[put][processes]")
{
    PutSender sender;
    const heddle_rtr rtr = sender.send_plainly();
    REQUIRE(sender.gives(rtr));
    REQUIRE(sender.deliver(rtr, size));
    sender.wire().rests = true;
    CHECK(sender.receive(&rtr).error == HEDDLE_SUCCESS);
    const Answer waiting = sender.ask({Ask::look});
    CHECK(!waiting.end.over);
    CHECK(waiting.active);
    sender.wire().rests = false;
    sender.check_both(size);
    sender.end();
}

TEST_CASE("a message that is shorter than its RTR", "[put][processes]")
{
    PutSender sender;
    heddle_rtr rtr = sender.send_plainly();
    for (const int64_t bytes : {size - 1000, int64_t{1}, size - 1}) {
        REQUIRE(sender.gives(rtr));
        rtr = sender.deliver_whole(rtr, bytes);
    }
    sender.end();
}

TEST_CASE("a message that is longer than its RTR is not delivered, and the RTR stays",
          "[put][processes]")
{
    PutSender sender;
    heddle_rtr rtr = sender.send_plainly();
    REQUIRE(sender.gives(rtr, 100000));
    CHECK(!sender.deliver(rtr, 100001));
    rtr = sender.deliver_whole(rtr, 100000, 100000); /* so it was open */
    REQUIRE(sender.gives(rtr, 100000));
    CHECK(!sender.deliver(rtr, size));
    CHECK(sender.withdraw(rtr).yes == 0);
    CHECK(!sender.deliver(rtr, 100000));
    sender.send_plainly();
    sender.end();
}

TEST_CASE("a persistent message is written from layout to layout", "[put][processes]")
{
    constexpr int64_t most = size / 8;
    for (const Kind from : {Kind::dense, Kind::strided})
        for (const Kind to : {Kind::dense, Kind::strided}) {
            INFO("from " << int(from) << " to " << int(to));
            PutSender sender;
            sender.send_plainly(); /* so much was sent out of its allocation */
            sender.send(most, HEDDLE_MESSAGE_PERSISTENT, true, from);
            heddle_rtr rtr = sender.read().info.next;
            REQUIRE(sender.receive(nullptr, most, nullptr, to).error == HEDDLE_SUCCESS);
            sender.check_both(most, nullptr, to);
            const int64_t delivered = counted(Counter::delivered);
            for (const int64_t bytes : {most, int64_t{8}, most - 8}) {
                REQUIRE(sender.gives(rtr, most, to));
                REQUIRE(sender.deliver(rtr, bytes, from, nullptr, HEDDLE_MESSAGE_PERSISTENT));
                const heddle_rtr next = sender.read().info.next;
                REQUIRE(sender.receive(&rtr, most, nullptr, to).error == HEDDLE_SUCCESS);
                sender.check_both(bytes, nullptr, to);
                rtr = next;
            }
            CHECK(counted(Counter::delivered) - delivered == 3);
            sender.end();
        }
}

TEST_CASE("what is long and goes to short blocks is packed before the link", "[put][processes]")
{
    constexpr int64_t most = size / 2, put_at_most = 2 << 20;
    PutSender sender;
    const heddle_rtr rtr = sender.send_plainly();
    CHECK(!sender.gives(rtr, put_at_most + 8, Kind::close));
    CHECK(sender.gives(rtr, put_at_most, Kind::close));
    CHECK(sender.withdraw(rtr).yes == 0);
    REQUIRE(sender.gives(rtr, most, Kind::strided));
    REQUIRE(sender.deliver(rtr, most, Kind::dense, nullptr, HEDDLE_MESSAGE_PERSISTENT));
    CHECK(sender.receive(&rtr, most, nullptr, Kind::strided).error == HEDDLE_SUCCESS);
    sender.check_both(most, nullptr, Kind::strided);
    sender.end();
}

TEST_CASE("only a persistent message is written while others before it are being packed",
          "[put][processes]")
{
    PutSender sender;
    const heddle_rtr rtr = sender.send_plainly();
    REQUIRE(sender.gives(rtr));
    CHECK(!sender.deliver(rtr, size, Kind::dense, nullptr,
                          HEDDLE_MESSAGE_BLOCKING | HEDDLE_MESSAGE_QUEUED));
    CHECK(sender.deliver(rtr, size, Kind::dense, nullptr,
                         HEDDLE_MESSAGE_PERSISTENT | HEDDLE_MESSAGE_QUEUED));
    CHECK(sender.receive(&rtr).error == HEDDLE_SUCCESS);
    sender.check_both(size);
    sender.end();
}

TEST_CASE("sends that begin between two progresses have one time to wait for their RTRs", "[put]")
{
    using namespace std::chrono_literals;
    heddle::pipeline::Port port({}, {});
    CHECK(port.may_wait_for_rtr(1h));
    CHECK(port.may_wait_for_rtr(0s));
    int events;
    REQUIRE(!port.progress(events));
    CHECK(!port.may_wait_for_rtr(0s));
    CHECK(!port.may_wait_for_rtr(1h));
}

TEST_CASE("only a persistent message that is not dense is written where an RTR says",
          "[put][processes]")
{
    PutSender sender;
    const heddle_rtr rtr = sender.send_plainly();
    REQUIRE(sender.gives(rtr));
    CHECK(!sender.deliver(rtr, 1000, Kind::strided));
    CHECK(sender.deliver(rtr, 1000, Kind::strided, nullptr, HEDDLE_MESSAGE_PERSISTENT));
    CHECK(sender.receive(&rtr).error == HEDDLE_SUCCESS);
    sender.check_both(1000);
    sender.end();
}

TEST_CASE("an RTR is withdrawn before it is claimed", "[put][processes]")
{
    PutSender sender;
    const heddle_rtr rtr = sender.send_plainly();
    REQUIRE(sender.gives(rtr));
    CHECK(sender.withdraw(rtr).yes == 0);
    CHECK(!sender.deliver(rtr, size));
    CHECK(sender.withdraw(rtr).yes == 0); /* of one that there is not */
    REQUIRE(sender.gives(rtr));
    sender.deliver_whole(rtr, size);
    sender.end();
}

TEST_CASE("an RTR is withdrawn after it was claimed", "[put][processes]")
{
    for (const bool after_all : {false, true}) {
        INFO("after all was written: " << after_all);
        PutSender sender;
        const heddle_rtr rtr = sender.send_plainly();
        REQUIRE(sender.gives(rtr));
        REQUIRE(sender.deliver(rtr, size));
        sender.wire().rests = !after_all;
        if (after_all)
            sender.wire().run([&] { return sender.last().end.over; });
        CHECK(sender.withdraw(rtr).yes == 1);
        CHECK(sender.withdraw(rtr).yes == 1); /* it was no use */
        sender.wire().rests = false;
        const heddle_rtr next = sender.read().info.next;
        CHECK(sender.receive(&rtr).error == HEDDLE_SUCCESS);
        sender.check_both(size);
        REQUIRE(sender.gives(next));
        sender.deliver_whole(next, size);
        sender.end();
    }
}

TEST_CASE("there is no RTR where there is no use in it", "[put][processes]")
{
    PutSender sender;
    sender.send(size, 0);
    const Answer silent = sender.read();
    CHECK(silent.info.next.sender == 0);
    CHECK(silent.info.bytes == size);
    CHECK(sender.receive(nullptr).error == HEDDLE_SUCCESS);
    sender.check_both(size);
    CHECK(!sender.gives(silent.info.next));

    heddle_rtr rtr = sender.send_plainly();
    const heddle::pipeline::ProcessId here = heddle::pipeline::process_id();
    CHECK(rtr.sender == here.process);
    CHECK(!sender.gives({0, rtr.after}));
    CHECK(!sender.gives({rtr.sender, 0}));
    const int64_t before = sender.ask({Ask::look}).rtrs;
    Question wrong{Ask::give, rtr};
    wrong.kind = Kind::host;
    const Answer answer = sender.ask(wrong);
    CHECK(answer.error == HEDDLE_SUCCESS);
    CHECK(answer.yes == 0);
    wrong.kind = Kind::dense;
    for (const int peer : {HEDDLE_PEER_SHARED, HEDDLE_PEER_VALUE}) {
        wrong.peer = peer;
        CHECK(sender.ask(wrong).yes == 0);
    }
    wrong.peer = HEDDLE_PEER_REFERENCE;
    CHECK(sender.ask(wrong).yes == 1);
    CHECK(!sender.gives(rtr));                                                     /* one is open */
    CHECK(!sender.gives({rtr.sender, rtr.after + heddle::pipeline::Slots::rtrs})); /* and
                                                                                               has
                                                                                               its
                                                                                               place
                                                                                             */
    CHECK(sender.ask({Ask::look}).rtrs - before == 1);
    CHECK(sender.withdraw(rtr).yes == 0);
    REQUIRE(sender.gives(rtr));
    rtr = sender.deliver_whole(rtr, size);
    sender.end();
}

/* Its ends could have the same buffer open in two ways. */
TEST_CASE("a process gives itself no RTR", "[put]")
{
    const Buffers buffers({gpu::Kind::device, 0});
    Network network(1);
    const size_t a = network.add();
    const heddle_side side = buffers.side(Kind::dense);
    char envelope[HEDDLE_ENVELOPE_BYTES];
    End sent, received;
    REQUIRE(send_message(network.port(a), network.peer(a), &side, size, 0, HEDDLE_MESSAGE_BLOCKING,
                         envelope, ended, &sent, nullptr) == HEDDLE_SUCCESS);
    heddle_envelope_info info{sizeof info, 0, 0, {}};
    REQUIRE(heddle_envelope_read(envelope, &info) == HEDDLE_SUCCESS);
    int given = -1, claimed = -1;
    CHECK(post_rtr(network.port(a), &info.next, &side, size, &given) == HEDDLE_SUCCESS);
    CHECK(given == 0);
    CHECK(heddle_rtr_withdraw(&info.next, &claimed) == HEDDLE_SUCCESS);
    CHECK(claimed == 0);
    REQUIRE(heddle_message_refuse(network.port(a), network.peer(a), envelope, 0) == HEDDLE_SUCCESS);
    run(network, [&] { return sent.over; });
}

TEST_CASE("what cannot be delivered is not, and soon", "[put][processes]")
{
    PutSender sender;
    heddle_rtr rtr = sender.send_plainly();
    const int64_t delivered = counted(Counter::delivered), failed = counted(Counter::failed);
    const auto began = std::chrono::steady_clock::now();
    for (int i = 0; i < 1000; ++i)
        REQUIRE(!sender.deliver(rtr, size));                                   /* without one */
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(1)); /* a microsecond
                                                                                  each, and much
                                                                                  else here */
    REQUIRE(sender.gives(rtr));
    for (const Kind kind : {Kind::strided, Kind::host})
        CHECK(!sender.deliver(rtr, size / 2, kind));
    CHECK(!sender.deliver(rtr, 0));
    CHECK(!sender.deliver({rtr.sender, rtr.after + 1}, size));
    {
        const Wire by_value(sender.socket(), HEDDLE_PEER_VALUE);
        CHECK(!sender.deliver(rtr, size, Kind::dense, by_value.port));
    }
    CHECK(!*heddle_port_active(sender.wire().port));
    CHECK(counted(Counter::delivered) == delivered);
    CHECK(counted(Counter::failed) == failed);
    sender.deliver_whole(rtr, size); /* it is open all the same */
    sender.end();
}

TEST_CASE("a receive that has given an RTR is met by another message", "[put][processes]")
{
    for (const bool by_get : {false, true}) {
        PutSender sender;
        heddle_rtr rtr = sender.send_plainly();
        REQUIRE(sender.gives(rtr));
        const int64_t delivered = counted(Counter::delivered);
        const heddle_rtr next = sender.send_plainly(by_get, &rtr);
        CHECK(!sender.deliver(rtr, size));
        CHECK(counted(Counter::delivered) == delivered);
        REQUIRE(sender.gives(rtr)); /* nobody has the old one any more */
        CHECK(sender.withdraw(rtr).yes == 0);
        REQUIRE(sender.gives(next));
        sender.deliver_whole(next, size);
        sender.end();
    }
}

TEST_CASE("an envelope that contradicts the RTR is none", "[put][processes]")
{
    PutSender sender;
    const heddle_rtr rtr = sender.send_plainly();
    const heddle_rtr open{rtr.sender, rtr.after + 1}, none{rtr.sender, rtr.after + 2},
        elsewhere{rtr.sender + 1, rtr.after};
    REQUIRE(sender.gives(rtr));
    REQUIRE(sender.gives(open));
    REQUIRE(sender.deliver(rtr, size));
    sender.wire().rests = true;
    const auto is_none = [&](const heddle_rtr *with) {
        const Answer answer = sender.receive(with);
        CHECK(answer.error == HEDDLE_ERR_FORMAT);
        CHECK(!answer.active);
        CHECK(answer.end.calls == 1); /* of the message before */
    };
    for (const heddle_rtr *wrong :
         {static_cast<const heddle_rtr *>(nullptr), &open, &none, &elsewhere})
        is_none(wrong);
    const Made &delivered = sender.last();
    sender.send(size, 1);
    is_none(&rtr); /* a message that is not delivered, where its RTR is claimed */
    gpu::succeeds(heddle_message_abandon(sender.wire().port, sender.last().name, HEDDLE_ERR_PEER),
                  "heddle_message_abandon");
    sender.wire().rests = false;
    CHECK(sender.receive(&rtr, size, &delivered).error == HEDDLE_SUCCESS);
    sender.check_both(size, &delivered);
    sender.end();
}

TEST_CASE("inside: a process whose first message is of the host's memory", "[.][inside]")
{
    PutSender sender;
    sender.send(size, 1, false, Kind::host);
    const heddle_rtr rtr = sender.read().info.next;
    CHECK(sender.receive(nullptr).error == HEDDLE_SUCCESS);
    sender.check_both(size);
    REQUIRE(sender.gives(rtr));
    sender.deliver_whole(rtr, size);
    sender.end();
}

/* Nothing of this sender's went by get, or was looked for, before. */
TEST_CASE("the first message may be any", "[put][processes]")
{
    CHECK(run_inside("inside: a process whose first message is of the host's memory") == 0);
}
