/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chunks that stay in host memory which both ends map: for devices that do not reach each other.
 */
#include "two.hpp"

using namespace pipeline_test;

namespace {

constexpr gpu::Place device0{gpu::Kind::device, 0}, device1{gpu::Kind::device, 1}, pageable{};
constexpr int64_t chunk = Two::chunk, bytes = 30 * chunk + 100;

} // namespace

TEST_CASE("through memory that both ends map no bytes travel", "[shared]")
{
    const Switched on("reset reorder=1 delay_us=20");
    for (const gpu::Place to : {device0, device1}) {
        Two network(HEDDLE_PEER_SHARED);
        const Since sent(Counter::sent_shared), received(Counter::received_shared), chunks(Counter::chunks_shared),
            fallbacks(Counter::fallbacks);
        pass(network, plan(blocks(device0, bytes), blocks(to, bytes), bytes));
        CHECK(network.bytes_sent() == 0);
        CHECK(sent.now() == 1);
        CHECK(received.now() == 1);
        CHECK(chunks.now() == 31);
        CHECK(fallbacks.now() == 0);
    }
}

TEST_CASE("devices that can lend do so in host memory if either end wants it", "[shared]")
{
    const Switched on("reset");
    const auto is_shared = [](Two &&network, const Plan &made) {
        const Since sent(Counter::sent_shared), in_place(Counter::sent_in_place);
        pass(network, made);
        CHECK(network.bytes_sent() == 0);
        CHECK(sent.now() == 1);
        CHECK(in_place.now() == 0);
    };
    const Plan spaced = plan(blocks(device0, bytes), blocks(device1, bytes), bytes);
    is_shared(Two(HEDDLE_PEER_SHARED, chunk, HEDDLE_PEER_AUTO), spaced);
    is_shared(Two(HEDDLE_PEER_AUTO, chunk, HEDDLE_PEER_SHARED), spaced);
    /* Nor is a dense buffer lent itself, which only a device can read. */
    constexpr int64_t MiB = 1 << 20;
    is_shared(Two(HEDDLE_PEER_AUTO, chunk, HEDDLE_PEER_SHARED), plan(dense(device0, MiB), dense(device1, MiB), MiB));
}

TEST_CASE("what no device packs or unpacks, or either end wants by value, is not shared", "[shared]")
{
    const Switched on("reset");
    const auto travels = [](Two &&network, gpu::Place from, gpu::Place to) {
        pass(network, plan(blocks(from, bytes), blocks(to, bytes), bytes));
        CHECK(network.bytes_sent() == bytes);
    };
    travels(Two(HEDDLE_PEER_SHARED), pageable, device0);
    travels(Two(HEDDLE_PEER_SHARED), device0, pageable);
    travels(Two(HEDDLE_PEER_SHARED, chunk, HEDDLE_PEER_VALUE), device0, device1);
    travels(Two(HEDDLE_PEER_VALUE, chunk, HEDDLE_PEER_SHARED), device0, device1);
}

/* In a process of its own: it lasts for the process's life. */
TEST_CASE("inside: memory that cannot be pinned", "[.][inside]")
{
    const Switched on("reset fail=pin:1+");
    const Since fallbacks(Counter::fallbacks);
    for (int i = 0; i < 3; ++i) {
        Two network(HEDDLE_PEER_SHARED);
        pass(network, plan(blocks(device0, bytes), blocks(device1, bytes), bytes));
        CHECK(network.bytes_sent() == bytes);
    }
    CHECK(fallbacks.now() == 1);
    CHECK(gpu::Machine::get().count("pin") == 1);
}

TEST_CASE("memory that cannot be pinned is asked for once", "[shared]")
{
    CHECK(run_inside("inside: memory that cannot be pinned") == 0);
}

TEST_CASE("shared memory is used again", "[shared]")
{
    const Switched on("reset reorder=1 delay_us=50");
    Two network(HEDDLE_PEER_SHARED);
    const int64_t before = gpu::Machine::get().count("pin");
    std::vector<std::unique_ptr<Exchange>> all;
    for (int i = 0; i < 40; ++i) {
        all.push_back(std::make_unique<Exchange>(
            network, network.a, network.b,
            plan(blocks(device0, bytes), blocks(i % 2 ? device0 : device1, bytes), bytes), i));
        all.back()->begin();
    }
    run_all(network, all);
    for (const auto &exchange : all)
        exchange->check();
    CHECK(network.bytes_sent() == 0);
    CHECK(gpu::Machine::get().count("pin") - before <= 3); /* of 64 pieces each; 40 messages of 4 at a time */
}
