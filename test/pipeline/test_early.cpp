/* SPDX-License-Identifier: BSD-3-Clause
 *
 * First chunks that are packed before the answer, where the peer took the last message by
 * reference.
 */
#include "two.hpp"

#include <chrono>

using namespace pipeline_test;

namespace {

constexpr gpu::Place device0{gpu::Kind::device, 0}, device1{gpu::Kind::device, 1}, pageable{};
constexpr int64_t bytes = 5 * Two::exported + 100;

using Clock = std::chrono::steady_clock;

Plan to_device1() { return spaced(device0, device1, bytes); }

/* Two ports of which one has sent to the other by reference. */
struct Acquainted : Two {
    explicit Acquainted(int64_t staging = 0)
        : Two(HEDDLE_PEER_AUTO, chunk, HEDDLE_PEER_DEFAULT, staging)
    {
        pass(*this, to_device1());
    }
    /* Lets the sender work as long as it has something to do, which may be no more than to look
     * whether somebody has read. */
    void work_alone()
    {
        for (auto last = Clock::now();
             *heddle_port_active(port(a)) && Clock::now() - last < std::chrono::milliseconds(50);)
            if (progress(a))
                last = Clock::now();
    }
};

/* What came of it, if the receiver takes it only once the sender has done what it can. */
void take_late(Acquainted &network, Exchange &exchange, int64_t expected)
{
    const int64_t before = launches();
    exchange.send();
    network.work_alone();
    CHECK(launches() - before == 1);
    exchange.receive();
    run(network, [&] { return exchange.over(); });
    exchange.check(expected);
    CHECK(exchange.sent.error == HEDDLE_SUCCESS);
}

std::vector<std::unique_ptr<Exchange>> send_three(Two &network, int64_t length)
{
    std::vector<std::unique_ptr<Exchange>> all;
    for (int i = 0; i < 3; ++i) {
        all.push_back(std::make_unique<Exchange>(network, network.a, network.b,
                                                 spaced(device0, device1, length), i));
        all.back()->send();
    }
    return all;
}

void receive_many(Network &network, const std::vector<std::unique_ptr<Exchange>> &all)
{
    for (const auto &exchange : all)
        exchange->receive();
    end_many(network, all);
}

} // namespace

TEST_CASE("to who took the last message by reference, a chunk is packed before the answer",
          "[early]")
{
    const Switched on("reset reorder=1 delay_us=20");
    Acquainted network;
    for (const int64_t length : {int64_t{100}, bytes}) {
        const Since chunks(Counter::chunks_by_reference);
        const int64_t before = launches();
        Exchange exchange(network, network.a, network.b, spaced(device0, device1, length), 1);
        take_late(network, exchange, length);
        CHECK(chunks.now() == (length == bytes ? 6 : 1));
        CHECK(launches() - before <= 2 * chunks.now()); /* none was packed twice */
    }
    CHECK(network.bytes_sent() == 0);
}

TEST_CASE("the first begins within the call that sends, others wait for it and share a launch",
          "[early]")
{
    const Switched on("reset delay_us=20000");
    Acquainted network;
    const int64_t before = launches();
    const auto all = send_three(network, 100);
    CHECK(launches() - before == 1);
    network.progress(network.a);
    CHECK(launches() - before == 2);
    receive_many(network, all);
}

TEST_CASE("long ones do not wait for what runs", "[early]")
{
    const Switched on("reset delay_us=20000");
    constexpr int64_t length = int64_t{3} << 20;
    Two network(HEDDLE_PEER_AUTO, int64_t{1} << 20);
    pass(network, spaced(device0, device1, length));
    const int64_t before = launches();
    const auto all = send_three(network, length);
    CHECK(launches() - before == 3);
    receive_many(network, all);
}

TEST_CASE("to a stranger, or who took the last one otherwise, nothing is", "[early]")
{
    const Switched on("reset");
    const auto waits = [](Two &network) {
        const int64_t before = launches();
        Exchange exchange(network, network.a, network.b, to_device1(), 1);
        exchange.send();
        CHECK(*heddle_port_active(network.port(network.a)) == 0);
        network.progress(network.a);
        CHECK(launches() == before);
        exchange.receive();
        run(network, [&] { return exchange.over(); });
        exchange.check();
    };
    Two strangers;
    waits(strangers);
    Acquainted network;
    pass(network, spaced(device0, pageable, bytes));
    waits(network);
}

TEST_CASE("what was packed early is thrown away if the answer is another", "[early]")
{
    const Switched on("reset reorder=1 delay_us=20");
    for (const gpu::Place to : {device1, pageable}) {
        for (const int64_t capacity : {bytes, bytes / 2, int64_t{10}}) {
            Acquainted network;
            Plan made = spaced(device0, to, bytes);
            made.capacity = capacity;
            Exchange exchange(network, network.a, network.b, made, 1);
            take_late(network, exchange, capacity);
            CHECK(exchange.received.error ==
                  (capacity < bytes ? HEDDLE_ERR_TRUNCATE : HEDDLE_SUCCESS));
        }
    }
}

TEST_CASE("a message packed early may be refused and abandoned", "[early]")
{
    for (const bool runs : {false, true}) { /* while the packing runs, and after it */
        for (const bool refused : {false, true}) {
            const Switched on("reset delay_us=2000");
            Acquainted network;
            Exchange exchange(network, network.a, network.b, to_device1(), 1);
            exchange.send();
            network.progress(network.a);
            if (!runs)
                network.work_alone();
            if (refused)
                CHECK(heddle_message_refuse(network.port(network.b), network.peer(network.a),
                                            exchange.envelope(), HEDDLE_ERR_ARG) == HEDDLE_SUCCESS);
            else
                CHECK(heddle_message_abandon(network.port(network.a), exchange.message(),
                                             HEDDLE_ERR_PEER) == HEDDLE_SUCCESS);
            run(network, [&] { return exchange.sent.over; });
            CHECK(exchange.sent.error == HEDDLE_ERR_PEER);
            pass(network, to_device1());
        }
    }
}

TEST_CASE("packing early that fails is tried again, and then told", "[early]")
{
    for (const bool again : {false, true}) {
        Acquainted network;
        /* A device that fails in a kernel has failed for good. */
        const Switched on(again ? "reset fail=execute:1" : "reset fail=launch:1");
        Exchange exchange(network, network.a, network.b, to_device1(), 1);
        exchange.send();
        network.work_alone();
        CHECK(!exchange.sent.over);
        exchange.receive();
        run(network, [&] { return exchange.over(); });
        if (again) {
            CHECK(exchange.sent.error == HEDDLE_ERR_DEVICE);
            CHECK(exchange.received.error == HEDDLE_ERR_PEER);
        } else {
            CHECK(exchange.sent.error == HEDDLE_SUCCESS);
            CHECK(exchange.received.error == HEDDLE_SUCCESS);
            exchange.check();
        }
    }
}

/* Packed as a whole: then no answer is needed, and none comes. */

namespace {

constexpr int64_t one_chunk = 60000;
Plan whole() { return spaced(device0, device1, one_chunk); }

} // namespace

TEST_CASE("what is packed as a whole is read on the envelope's word", "[early]")
{
    const Switched on("reset reorder=1 delay_us=20");
    Acquainted network;
    const Heard heard(network);
    for (const bool packed_before : {true, false}) {
        Exchange exchange(network, network.a, network.b, whole(), 1);
        exchange.send();
        if (packed_before)
            network.work_alone();
        exchange.receive();
        run(network, [&] { return exchange.over(); });
        exchange.check();
        CHECK(exchange.sent.error == HEDDLE_SUCCESS);
        CHECK(exchange.sent.bytes == one_chunk);
        if (packed_before) /* otherwise the receiver may have waited too long */
            CHECK(heard.kinds.empty());
    }
}

TEST_CASE("but one at a time", "[early]")
{
    const Switched on("reset");
    Acquainted network;
    const Heard heard(network);
    for (int round = 0; round < 2; ++round) {
        const auto all = send_three(network, one_chunk);
        network.work_alone();
        receive_many(network, all);
    }
    CHECK(heard.kinds.size() == 2 * 2 * 3);
}

TEST_CASE("but only as a whole", "[early]")
{
    const Switched on("reset");
    Acquainted network;
    const Heard heard(network);
    Plan made = whole();
    made.capacity = one_chunk / 2;
    Exchange exchange(network, network.a, network.b, made, 1);
    take_late(network, exchange, made.capacity);
    CHECK(exchange.received.error == HEDDLE_ERR_TRUNCATE);
    CHECK(heard.kinds == std::vector{wire::Kind::answer, wire::Kind::chunk, wire::Kind::returned});
}

TEST_CASE("who waits long for it to be packed answers after all", "[early]")
{
    const Switched on("reset delay_us=20000");
    Acquainted network;
    const Heard heard(network);
    pass(network, whole());
    CHECK(heard.kinds == std::vector{wire::Kind::answer, wire::Kind::chunk, wire::Kind::returned});
}

TEST_CASE("it is packed again if that failed", "[early]")
{
    Acquainted network;
    const Heard heard(network);
    const Switched on("reset fail=launch:1");
    for (const bool waits : {true, false}) {
        gpu::Machine::get().configure("reset fail=launch:1");
        Exchange exchange(network, network.a, network.b, whole(), 1);
        exchange.send();
        if (waits)
            exchange.receive();
        network.work_alone();
        if (!waits)
            exchange.receive();
        run(network, [&] { return exchange.over(); });
        exchange.check();
        CHECK(exchange.sent.error == HEDDLE_SUCCESS);
    }
    CHECK(heard.kinds.size() == 6);
}

TEST_CASE("a receiver that fails as it reads it tells the sender", "[early]")
{
    const Switched on("reset");
    Acquainted network;
    Exchange exchange(network, network.a, network.b, whole(), 1);
    exchange.send();
    network.work_alone();
    gpu::Machine::get().configure("reset fail=launch:1+");
    exchange.receive();
    run(network, [&] { return exchange.over(); });
    CHECK(exchange.received.error == HEDDLE_ERR_DEVICE);
    CHECK(exchange.sent.error == HEDDLE_ERR_PEER);
    gpu::Machine::get().configure("reset");
    pass(network, whole());
}

TEST_CASE("who is lost while it is packed or waited for ends it at the other end", "[early]")
{
    for (const bool sender : {false, true}) {
        const Switched on("reset delay_us=100000");
        Acquainted network;
        Exchange exchange(network, network.a, network.b, whole(), 1);
        exchange.begin();
        network.progress(network.b);
        const size_t stays = sender ? network.b : network.a, goes = sender ? network.a : network.b;
        network.destroy(goes);
        heddle_port_lost(network.port(stays), network.peer(goes), HEDDLE_ERR_PEER);
        run(network, [&] { return exchange.over(); });
        CHECK(exchange.sent.error == HEDDLE_ERR_PEER);
        CHECK(exchange.received.error == HEDDLE_ERR_PEER);
        CHECK(exchange.sent.calls + exchange.received.calls == 2);
    }
}

TEST_CASE("messages that nobody receives hold half as much as the staging memory, and no other "
          "waits for it",
          "[early]")
{
    const Switched on("reset");
    constexpr int64_t exported = Two::exported;
    Acquainted network(16 * exported);
    std::vector<std::unique_ptr<Exchange>> all;
    const int64_t before = launches();
    for (int i = 0; i < 20; ++i) {
        all.push_back(std::make_unique<Exchange>(network, network.a, network.b, to_device1(), i));
        all.back()->send();
        network.work_alone();
    }
    CHECK(launches() - before == 8);
    pass(network, to_device1());
    receive_many(network, all);
}
