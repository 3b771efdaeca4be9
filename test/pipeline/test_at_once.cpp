/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dense buffers that the receiver has open already, as two ports of one process always have: it
 * reads them on the envelope's word, and takes them when it has, or says how much it read.
 */
#include "two.hpp"

using namespace pipeline_test;

namespace {

constexpr gpu::Place device0{gpu::Kind::device, 0}, device1{gpu::Kind::device, 1}, pageable{};
constexpr int64_t bytes = (int64_t{1} << 20) + 100; /* far above HEDDLE_MESSAGE_IN_PLACE */

Plan read_at_once() { return plan(dense(device0, bytes), blocks(device1, bytes), bytes); }

} // namespace

TEST_CASE("a dense buffer is read on the envelope's word", "[at_once]")
{
    const Switched on("reset reorder=1 delay_us=20");
    for (const int64_t capacity : {bytes, bytes / 2, int64_t{1}}) {
        Two network;
        const Heard heard(network);
        Plan made = read_at_once();
        made.capacity = capacity;
        Exchange exchange(network, network.a, network.b, made, 1);
        exchange.begin();
        run(network, [&] { return exchange.over(); });
        exchange.check();
        /* that all of it was read is told by a word */
        CHECK(heard.kinds ==
              (capacity < bytes ? std::vector{wire::Kind::returned} : std::vector<wire::Kind>{}));
        CHECK(exchange.sent.error == HEDDLE_SUCCESS);
        CHECK(exchange.received.error == (capacity < bytes ? HEDDLE_ERR_TRUNCATE : HEDDLE_SUCCESS));
        CHECK(exchange.sent.bytes == std::min(bytes, capacity));
    }
}

TEST_CASE("a receive of no bytes, or into host memory, answers as ever", "[at_once]")
{
    const Switched on("reset");
    for (const gpu::Place to : {device1, pageable}) {
        Two network;
        const Heard heard(network);
        Plan made = plan(dense(device0, bytes), blocks(to, bytes), bytes);
        made.capacity = to.kind == gpu::Kind::device ? 0 : bytes;
        Exchange exchange(network, network.a, network.b, made, 1);
        exchange.begin();
        run(network, [&] { return exchange.over(); });
        exchange.check();
        CHECK(heard.kinds.at(0) == wire::Kind::answer);
        CHECK(exchange.sent.error == HEDDLE_SUCCESS);
    }
}

TEST_CASE("the sender does not end before its buffer was read", "[at_once]")
{
    const Switched on("reset delay_us=100000");
    Two network;
    const Heard heard(network);
    Exchange exchange(network, network.a, network.b, read_at_once(), 1);
    exchange.begin();
    for (int i = 0; i < 100; ++i) {
        network.progress(network.b);
        network.step();
        network.progress(network.a);
    }
    CHECK(heard.kinds.empty());
    CHECK(!exchange.sent.over);
    run(network, [&] { return exchange.over(); });
    exchange.check();
}

TEST_CASE("of very many that may be read at once, the last are told of by headers", "[at_once]")
{
    constexpr size_t looked_at = 64, more = 6;
    const Switched on("reset");
    Two network;
    const Heard heard(network);
    std::vector<std::unique_ptr<Exchange>> all;
    for (size_t i = 0; i < looked_at + more; ++i) {
        all.push_back(std::make_unique<Exchange>(
            network, network.a, network.b,
            plan(dense(device0, 100000), dense(device1, 100000), 100000), i));
        all.back()->send();
    }
    for (const auto &exchange : all)
        exchange->receive();
    run(network, [&] {
        return std::all_of(all.begin(), all.end(), [](const auto &each) { return each->over(); });
    });
    CHECK(heard.kinds == std::vector<wire::Kind>(more, wire::Kind::returned));
    for (const auto &exchange : all)
        exchange->check();
}

TEST_CASE("who is lost before it has read ends the message once", "[at_once]")
{
    const Switched on("reset delay_us=100000");
    Two network;
    Exchange exchange(network, network.a, network.b, read_at_once(), 1);
    exchange.begin();
    network.progress(network.b);
    heddle_port_lost(network.port(network.a), network.peer(network.b), HEDDLE_ERR_PEER);
    run(network, [&] { return exchange.over(); });
    CHECK(exchange.sent.error == HEDDLE_ERR_PEER);
    CHECK(exchange.sent.calls == 1);
    CHECK(exchange.received.error == HEDDLE_ERR_PEER); /* the sender's buffer was its own before all
                                                          was read */
}

TEST_CASE("who is lost after it has read was sent to", "[at_once]")
{
    for (const bool goes : {false, true}) {
        const Switched on("reset");
        Two network;
        Exchange exchange(network, network.a, network.b, read_at_once(), 1);
        exchange.begin();
        network.run_receiver([&] { return exchange.received.over; }, network.b);
        if (goes) {
            network.destroy(network.a);
        } else {
            heddle_port_lost(network.port(network.a), network.peer(network.b), HEDDLE_ERR_PEER);
            run(network, [&] { return exchange.over(); });
        }
        CHECK(exchange.sent.error == HEDDLE_SUCCESS);
        CHECK(exchange.sent.calls == 1);
        exchange.check();
    }
}

TEST_CASE("a receiver that fails while it reads tells the sender", "[at_once]")
{
    for (const char *switches : {"reset fail=launch:1+", "reset fail=execute:1"}) {
        const Switched on(switches);
        Two network;
        Exchange exchange(network, network.a, network.b, read_at_once(), 1);
        exchange.begin();
        run(network, [&] { return exchange.over(); });
        CHECK(exchange.received.error == HEDDLE_ERR_DEVICE);
        CHECK(exchange.sent.error == HEDDLE_ERR_PEER);
    }
}

TEST_CASE("that bytes were read which nobody exported, or more than there are, ends a message",
          "[at_once]")
{
    const Switched on("reset");
    for (const bool exported : {false, true}) {
        Two network;
        network.forgives = true;
        Exchange exchange(network, network.a, network.b,
                          exported ? read_at_once()
                                   : plan(blocks(device0, bytes), blocks(device1, bytes), bytes),
                          1);
        exchange.send();
        wire::Header header;
        header.kind = wire::Kind::returned;
        header.mode = wire::Mode::reference;
        header.to = exchange.message();
        header.bytes = bytes + exported;
        const wire::HeaderBytes raw = wire::write_header(header);
        CHECK(heddle_port_arrived(network.port(network.a), raw.bytes, raw.size, nullptr, 0) ==
              HEDDLE_ERR_FORMAT);
        run(network, [&] { return exchange.sent.over; });
        CHECK(exchange.sent.error == HEDDLE_ERR_FORMAT);
    }
}
