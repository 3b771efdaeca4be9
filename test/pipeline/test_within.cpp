/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that a port sends to itself: one move from one buffer to the other.
 */
#include "two.hpp"

using namespace pipeline_test;

namespace {

constexpr gpu::Place device0{gpu::Kind::device, 0}, device1{gpu::Kind::device, 1}, pageable{},
    pinned{gpu::Kind::pinned, 0}, managed{gpu::Kind::managed, 0};
constexpr int64_t MiB = 1 << 20;

struct Alone : Network {
    Alone() : Network(1), a(add(port_options(4096, 4, 0, 0, 0, 0))) {}
    size_t a;
};

} // namespace

TEST_CASE("a message to oneself is one launch, whatever its size", "[within]")
{
    const Switched on("reset reorder=1 delay_us=20");
    for (const int64_t bytes : {int64_t{8}, int64_t{100000}, 5 * MiB}) {
        Alone network;
        const Since within(Counter::within), sent(Counter::sent_by_reference),
            chunks(Counter::chunks_by_reference);
        const int64_t before = launches();
        Exchange exchange(network, network.a, network.a, spaced(device0, device0, bytes), 1);
        exchange.begin();
        run(network, [&] { return exchange.over(); });
        exchange.check();
        CHECK(exchange.sent.bytes == bytes);
        CHECK(exchange.received.bytes == bytes);
        CHECK(launches() - before == 1);
        CHECK(within.now() == 1);
        CHECK(sent.now() + chunks.now() + network.bytes_sent() == 0);
    }
}

/* The first launch fails, which tells whose it was. */
TEST_CASE("it waits for what is to be begun for others", "[within]")
{
    Alone network;
    const size_t b = network.add(port_options(4096, 4, 0, 0, 0, 0));
    Exchange within(network, network.a, network.a, spaced(device0, device0, 5 * MiB), 1), /* too
                                                                                             long to
                                                                                             share a
                                                                                             launch
                                                                                           */
        other(network, network.a, b, spaced(device0, device1, 1000), 2);
    const Switched on("reset fail=launch:1");
    other.begin();
    while (!network.quiet())
        network.step(); /* the answer: by the next progress its chunk is to be packed */
    within.begin();
    run(network, [&] { return within.over() && other.over(); });
    CHECK(other.sent.error == HEDDLE_ERR_DEVICE);
    CHECK(within.received.error == HEDDLE_SUCCESS);
    within.check();
}

TEST_CASE("it may be of any memory, long, short, cut off and of nothing", "[within]")
{
    const Switched on("reset reorder=1 delay_us=20");
    const gpu::Place all[] = {device0, device1, pinned, managed, pageable};
    for (const gpu::Place from : all)
        for (const gpu::Place to : all)
            for (const int64_t capacity : {MiB, MiB / 2 + 3, int64_t{0}}) {
                Alone network;
                Plan made = spaced(from, to, MiB);
                made.capacity = capacity;
                Exchange exchange(network, network.a, network.a, made, 1);
                exchange.begin();
                run(network, [&] { return exchange.over(); });
                exchange.check(capacity);
                CHECK(exchange.sent.error == HEDDLE_SUCCESS);
                CHECK(exchange.received.error ==
                      (capacity < MiB ? HEDDLE_ERR_TRUNCATE : HEDDLE_SUCCESS));
                CHECK(exchange.sent.bytes == capacity);
                CHECK(network.bytes_sent() == 0);
            }
}

TEST_CASE("short ones to oneself share a launch", "[within]")
{
    const Switched on("reset");
    Alone network;
    const auto all = begin_many(network, network.a, network.a, 26,
                                [](int) { return spaced(device0, device0, 5000); });
    const int64_t before = launches();
    end_many(network, all);
    CHECK(launches() - before == 1);
}

TEST_CASE("a device that fails ends both ends of a message to oneself", "[within]")
{
    Alone network;
    Exchange exchange(network, network.a, network.a, spaced(device0, device0, MiB), 1);
    {
        const Switched on("reset delay_us=100 fail=execute:1");
        exchange.begin();
        run(network, [&] { return exchange.over(); });
    }
    CHECK(exchange.sent.error == HEDDLE_ERR_DEVICE);
    CHECK(exchange.received.error == HEDDLE_ERR_DEVICE);
    CHECK(!exchange.sent.detail.empty());
}

TEST_CASE("who loses itself ends when nothing is read any more", "[within]")
{
    for (const bool destroys : {false, true}) {
        const Switched on("reset delay_us=20000");
        Alone network;
        Exchange exchange(network, network.a, network.a, spaced(device0, device0, MiB), 1);
        exchange.begin();
        network.progress(network.a);
        heddle_port_lost(network.port(network.a), nullptr, HEDDLE_ERR_PEER);
        network.progress(network.a);
        CHECK(!exchange.sent.over);
        CHECK(!exchange.received.over);
        if (destroys)
            network.destroy(network.a);
        else
            run(network, [&] { return exchange.over(); });
        CHECK(exchange.sent.error == HEDDLE_ERR_PEER);
        CHECK(exchange.received.error == HEDDLE_ERR_PEER);
        CHECK(exchange.sent.calls == 1);
        CHECK(exchange.received.calls == 1);
    }
}
