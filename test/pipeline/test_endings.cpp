/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that nobody takes, or whose other end goes away.
 */
#include "exchange.hpp"

#include <catch2/catch.hpp>

using namespace pipeline_test;

namespace {

constexpr gpu::Place device0{gpu::Kind::device, 0}, device1{gpu::Kind::device, 1};
constexpr int64_t bytes = 100000;

struct Two : Network {
    explicit Two(int peer = HEDDLE_PEER_VALUE)
        : Network(1), options(port_options(4096, 4, 0, peer, 7)), a(add(options)), b(add(options))
    {
    }
    heddle_port_options options;
    size_t a, b;
};

Plan some() { return plan(blocks(device0, bytes), blocks(device1, bytes), bytes); }

} // namespace

TEST_CASE("an envelope tells of its message", "[endings]")
{
    Two network;
    Exchange exchange(network, network.a, network.b, some(), 1);
    exchange.send();
    heddle_envelope_info info{sizeof info, 0, 0, {}};
    REQUIRE(heddle_envelope_read(exchange.envelope(), &info) == HEDDLE_SUCCESS);
    CHECK(info.bytes == bytes);
    CHECK(info.number == 7);
}

TEST_CASE("refused messages end at the sender", "[endings]")
{
    for (const int error : {int{HEDDLE_SUCCESS}, int{HEDDLE_ERR_BUFFER}}) {
        Two network;
        Exchange exchange(network, network.a, network.b, some(), 1);
        exchange.send();
        REQUIRE(heddle_message_refuse(network.port(network.b), network.peer(network.a),
                                      exchange.envelope(), error) == HEDDLE_SUCCESS);
        run(network, [&] { return exchange.sent.over; });
        CHECK(exchange.sent.error == (error ? int{HEDDLE_ERR_PEER} : HEDDLE_SUCCESS));
        CHECK(exchange.sent.bytes == 0);
    }
}

TEST_CASE("an envelope that cannot be read is refused, and its sender hears of it", "[endings]")
{
    constexpr size_t magic = 0, version = 4, length = 16;
    for (const size_t byte : {magic, version, length}) {
        Two network;
        Exchange first(network, network.a, network.b, some(), 1),
            second(network, network.a, network.b, some(), 2);
        first.send();
        second.send();
        std::vector<unsigned char> envelope(first.envelope(),
                                            first.envelope() + HEDDLE_ENVELOPE_BYTES);
        envelope[byte] ^= 0x40;
        REQUIRE(heddle_message_refuse(network.port(network.b), network.peer(network.a),
                                      envelope.data(), HEDDLE_ERR_VERSION) == HEDDLE_SUCCESS);
        run(network, [&] { return first.sent.over; });
        CHECK(first.sent.error == HEDDLE_ERR_PEER);
        CHECK(!second.sent.over);
        second.receive();
        run(network, [&] { return second.over(); });
        second.check();
        first.received.over = true;
    }
}

/* Its receiver is of another version, with other headers. */
TEST_CASE("who refuses is understood in every version", "[endings]")
{
    Two network;
    Exchange exchange(network, network.a, network.b, some(), 1);
    exchange.send();
    network.loses = [&](size_t to, const std::vector<unsigned char> &header) {
        std::vector<unsigned char> other = header;
        other[4] ^= 0x40;
        other.resize(other.size() - 8);
        CHECK(heddle_port_arrived(network.port(to), other.data(), other.size(), nullptr, 0) ==
              HEDDLE_SUCCESS);
        return true;
    };
    REQUIRE(heddle_message_refuse(network.port(network.b), network.peer(network.a),
                                  exchange.envelope(), HEDDLE_SUCCESS) == HEDDLE_SUCCESS);
    run(network, [&] { return exchange.sent.over; });
    CHECK(exchange.sent.error == HEDDLE_ERR_PEER);
    exchange.received.over = true;
}

TEST_CASE("a message whose envelope was not sent is abandoned", "[endings]")
{
    Two network;
    Exchange exchange(network, network.a, network.b, some(), 1);
    exchange.send();
    heddle_port *const sender = network.port(network.a);
    CHECK(heddle_message_abandon(sender, exchange.message() + 1, HEDDLE_ERR_PEER) ==
          HEDDLE_ERR_RANGE);
    CHECK(heddle_message_abandon(sender, exchange.message(), HEDDLE_ERR_NO_MEMORY) ==
          HEDDLE_SUCCESS);
    run(network, [&] { return exchange.sent.over; });
    CHECK(exchange.sent.error == HEDDLE_ERR_NO_MEMORY);
    CHECK(heddle_message_abandon(sender, exchange.message(), HEDDLE_ERR_PEER) == HEDDLE_ERR_RANGE);
}

TEST_CASE("an abandoned message's envelope comes nevertheless", "[endings]")
{
    for (const int peer : all_peers) {
        Two network(peer);
        Exchange exchange(network, network.a, network.b, some(), 1);
        exchange.send();
        CHECK(heddle_message_abandon(network.port(network.a), exchange.message(),
                                     HEDDLE_ERR_PEER) == HEDDLE_SUCCESS);
        exchange.receive();
        run(network, [&] { return exchange.over(); });
        CHECK(exchange.sent.error == HEDDLE_ERR_PEER);
        CHECK(exchange.received.error == HEDDLE_ERR_PEER);
        CHECK(exchange.received.bytes == 0);
    }
}

TEST_CASE("a peer is lost", "[endings]")
{
    for (const int peer : all_peers)
        for (const bool at_sender : {true, false})
            for (int steps = 0; steps < 40; steps += 5) {
                Two network(peer);
                const size_t c = network.add(network.options);
                Exchange exchange(network, network.a, network.b, some(), 1),
                    other(network, network.a, c, some(), 2);
                exchange.begin();
                other.begin();
                for (int i = 0; i < steps; ++i) {
                    network.progress(network.a);
                    network.progress(network.b);
                    network.step();
                }
                const bool before = at_sender ? exchange.sent.over : exchange.received.over;
                heddle_port_lost(network.port(at_sender ? network.a : network.b),
                                 network.peer(at_sender ? network.b : network.a), HEDDLE_ERR_PEER);
                run(network, [&] {
                    return (at_sender ? exchange.sent : exchange.received).over && other.over();
                });
                other.check();
                if (!before)
                    CHECK((at_sender ? exchange.sent : exchange.received).error == HEDDLE_ERR_PEER);
            }
}

TEST_CASE("nothing is sent any more once all peers are lost", "[endings]")
{
    for (const int peer : all_peers)
        for (int steps = 0; steps < 40; steps += 8) {
            Two network(peer);
            Exchange one(network, network.a, network.b, some(), 1),
                two(network, network.b, network.a, some(), 2);
            one.begin();
            two.begin();
            for (int i = 0; i < steps; ++i) {
                network.progress(network.a);
                network.progress(network.b);
                network.step();
            }
            bool lost = true;
            network.fails = [&](Network::When what, size_t from, size_t) {
                CHECK(!(lost && what == Network::When::send && from == network.a));
                return HEDDLE_SUCCESS;
            };
            heddle_port_lost(network.port(network.a), nullptr, HEDDLE_ERR_PEER);
            network.destroy(network.a);
            CHECK(one.sent.over);
            CHECK(two.received.over);
            lost = false;
            network.destroy(network.b);
        }
}

TEST_CASE("a port goes while its messages run", "[endings]")
{
    for (const int peer : all_peers)
        for (const bool sender_goes : {true, false})
            for (int steps = 0; steps < 60; steps += 3) {
                const Switched on("reset delay_us=100");
                Two network(peer);
                Exchange exchange(network, network.a, network.b, some(), 1);
                exchange.begin();
                network.step(); /* the sender knows that it was matched */
                for (int i = 0; i < steps; ++i) {
                    network.progress(network.a);
                    network.progress(network.b);
                    network.step();
                }
                Outcome &here = sender_goes ? exchange.sent : exchange.received;
                Outcome &there = sender_goes ? exchange.received : exchange.sent;
                network.destroy(sender_goes ? network.a : network.b);
                CHECK(here.over);
                CHECK(here.calls == 1);
                run(network, [&] { return there.over; });
                if (there.error)
                    CHECK(there.error == HEDDLE_ERR_PEER);
                if (!exchange.received.error)
                    exchange.check();
            }
}

TEST_CASE("arguments that make no sense", "[endings]")
{
    Two network;
    Exchange exchange(network, network.a, network.b, some(), 1);
    exchange.send();
    heddle_port *const port = network.port(network.a);
    const heddle_transport nothing{};
    heddle_port *made = nullptr;
    CHECK(heddle_port_create(nullptr, nullptr, &made) == HEDDLE_ERR_ARG);
    CHECK(heddle_port_create(&nothing, nullptr, &made) == HEDDLE_ERR_ARG);
    const heddle_port_options wrong[] = {
        port_options(-1, 0, 0, 0, 0, 0),    port_options(4095, 0, 0, 0, 0, 0),
        port_options(5000, 0, 0, 0, 0, 0),  port_options(0, -1, 0, 0, 0, 0),
        port_options(0, 0, -1, 0, 0, 0),    port_options(0, 0, 0, HEDDLE_PEER_REFERENCE + 1, 0, 0),
        port_options(2048, 0, 0, 0, 0, 0),  port_options(0, 0, 0, -1, 0, 0),
        port_options(0, 0, 0, 0, 65536, 0), port_options(0, 0, 0, 0, 0, -1)};
    const heddle_transport transport{sizeof(heddle_transport), nullptr,
                                     [](void *, void *, const void *, size_t, const void *, size_t,
                                        void *, int *) { return int{HEDDLE_ERR_PEER}; }};
    for (const heddle_port_options &options : wrong)
        CHECK(heddle_port_create(&transport, &options, &made) == HEDDLE_ERR_ARG);
    CHECK(made == nullptr);
    heddle_port_destroy(nullptr);
    CHECK(heddle_port_progress(nullptr, nullptr) == HEDDLE_ERR_ARG);

    char memory[64] = {}, envelope[HEDDLE_ENVELOPE_BYTES];
    const auto ended = [](void *, int, int64_t) {};
    const heddle_side side{memory, 64, heddle_type_predefined(HEDDLE_BYTE), 0};
    const heddle_side nowhere{nullptr, 64, heddle_type_predefined(HEDDLE_BYTE), 0};
    CHECK(send_message(port, nullptr, &side, 65, 0, 0, envelope, ended, nullptr, nullptr) ==
          HEDDLE_ERR_RANGE);
    CHECK(send_message(port, nullptr, &side, -1, 0, 0, envelope, ended, nullptr, nullptr) ==
          HEDDLE_ERR_ARG);
    CHECK(send_message(port, nullptr, &nowhere, 64, 0, 0, envelope, ended, nullptr, nullptr) ==
          HEDDLE_ERR_BUFFER);
    CHECK(send_message(port, nullptr, &side, 64, 0, 0, envelope, nullptr, nullptr, nullptr) ==
          HEDDLE_ERR_ARG);
    CHECK(receive_message(port, nullptr, exchange.envelope(), &side, 65, nullptr, ended, nullptr) ==
          HEDDLE_ERR_RANGE);
    CHECK(receive_message(port, nullptr, exchange.envelope(), &side, -1, nullptr, ended, nullptr) ==
          HEDDLE_ERR_ARG);
    CHECK(receive_message(port, nullptr, nullptr, &side, 64, nullptr, ended, nullptr) ==
          HEDDLE_ERR_ARG);
    CHECK(heddle_message_refuse(port, nullptr, nullptr, 0) == HEDDLE_ERR_ARG);
    CHECK(heddle_port_arrived(port, nullptr, 0, nullptr, 0) == HEDDLE_ERR_FORMAT);
}
