/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Devices, transports and memory that fail in the middle of a message: an error at both ends, or
 * right data; never a hang, never anything else.
 */
#include "exchange.hpp"

#include "../gpu/named.hpp"

#include <catch2/catch.hpp>

using namespace pipeline_test;
using gpu::text;

namespace {

constexpr gpu::Place device0{gpu::Kind::device, 0}, device1{gpu::Kind::device, 1}, pageable{};
constexpr int64_t chunk = 4096, bytes = 160 * chunk; /* 20 exported ones */

struct Two : Network {
    explicit Two(int peer, Behaviour behaviour = {})
        : Network(1, behaviour),
          options(port_options(chunk, 4, 0, peer)),
          a(add(options)),
          b(add(options))
    {
    }
    heddle_port_options options;
    size_t a, b;
};

/* Whether either end failed. Where the receiver says that it has the data, it has. */
bool end_well(Two &network, Exchange &exchange)
{
    exchange.begin();
    run(network, [&] { return exchange.over(); });
    run(network, [&] { return network.quiet(); });
    if (!exchange.received.error)
        exchange.check();
    CHECK(exchange.sent.calls == 1);
    CHECK(exchange.received.calls == 1);
    return exchange.sent.error || exchange.received.error;
}

} // namespace

TEST_CASE("a device fails in the middle of a message", "[failures]")
{
    for (const int peer : all_peers)
        for (const bool at_sender : {true, false})
            for (const int when : {1, 2, 7, 20}) {
                Two network(peer);
                const gpu::Place there = peer == HEDDLE_PEER_VALUE ? pageable : device1;
                const Plan made = at_sender
                                      ? plan(blocks(device0, bytes), blocks(there, bytes), bytes)
                                      : plan(blocks(there, bytes), blocks(device0, bytes), bytes);
                Exchange exchange(network, network.a, network.b, made, 1);
                INFO("peer " << peer << ", at the sender " << at_sender << ", at " << when);
                const Switched on(text("reset reorder=1 delay_us=20 fail=execute:", when));
                end_well(network, exchange);
                /* Between two devices it is chance whose fails. */
                if (peer == HEDDLE_PEER_VALUE) {
                    const Outcome &broken = at_sender ? exchange.sent : exchange.received;
                    const Outcome &other = at_sender ? exchange.received : exchange.sent;
                    CHECK(broken.error == HEDDLE_ERR_DEVICE);
                    CHECK(broken.detail.find("asked to fail") != std::string::npos);
                    /* Who has sent all is through. */
                    CHECK((other.error == HEDDLE_ERR_PEER ||
                           (!at_sender && when == 20 && !other.error)));
                } else {
                    /* There may not be so many launches. */
                    CHECK(!exchange.sent.error == !exchange.received.error);
                    CHECK((exchange.sent.error || when == 20));
                }
            }
}

TEST_CASE("any call to a device fails once", "[failures]")
{
    constexpr const char *calls[] = {
        "allocate",      "allocate_pinned", "stream_create", "stream_synchronize", "launch",
        "copy",          "copy_2d",         "done_acquire",  "done_test",          "done_wait",
        "export_memory", "import_memory"};
    int failed = 0;
    for (const int peer : all_peers)
        for (const char *call : calls)
            for (int when = 1; when <= 5; ++when) {
                Two network(peer);
                const Plan made = plan(blocks(device0, bytes), blocks(device1, bytes), bytes);
                Exchange exchange(network, network.a, network.b, made, 1),
                    again(network, network.a, network.b, made, 2);
                INFO("peer " << peer << ", " << call << " at " << when);
                {
                    const Switched on(text("reset reorder=1 fail=", call, ":", when));
                    failed += end_well(network, exchange);
                }
                CHECK(!end_well(network, again));
            }
    CHECK(failed > 10);
}

TEST_CASE("the transport fails", "[failures]")
{
    const Switched on("reset");
    int failed = 0;
    for (const int peer : all_peers)
        for (const Network::When what :
             {Network::When::send, Network::When::sent, Network::When::placed})
            for (int when = 1; when <= 30; when += 1 + when / 4)
                for (const bool dense_ends : {false, true}) {
                    Two network(peer, {true, 30, 30});
                    const gpu::Place place = dense_ends ? pageable : device0;
                    const Plan made =
                        dense_ends ? plan(dense(place, bytes), dense(place, bytes), bytes)
                                   : plan(blocks(place, bytes), blocks(device1, bytes), bytes);
                    Exchange exchange(network, network.a, network.b, made, 1);
                    INFO("peer " << peer << ", what " << int(what) << " at " << when << ", dense "
                                 << dense_ends);
                    /* One header or chunk is not sent or not come; what tells of the failure gets
                     * through. */
                    int left = when;
                    network.fails = [&](Network::When now, size_t, size_t) {
                        return now == what && --left == 0 ? HEDDLE_ERR_PEER : HEDDLE_SUCCESS;
                    };
                    failed += end_well(network, exchange);
                }
    CHECK(failed > 20);
}

TEST_CASE("no memory on any device", "[failures]")
{
    for (const int peer : all_peers)
        for (const char *memory :
             {"device_memory=0", "pinned_memory=0", "device_memory=0 pinned_memory=0"}) {
            Two network(peer);
            const size_t c = network.add(port_options(chunk << 6, 4, 0, peer, 0, 0)); /* pieces of
                                                                             this size are not there
                                                                             yet */
            const Plan made = plan(blocks(device0, bytes), blocks(device1, bytes), bytes);
            Exchange exchange(network, c, c, made, 1);
            INFO("peer " << peer << ", " << memory);
            const Switched on(text("reset ", memory));
            CHECK(!end_well(network, exchange));
        }
}
