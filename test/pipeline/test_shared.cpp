/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chunks that stay in host memory which both ends map: for devices that do not reach each other.
 */
#include "two.hpp"

#include "pipeline/peer_memory/memory_file.hpp"

#include <algorithm>

using namespace pipeline_test;
using heddle::pipeline::SharedMemory;

namespace {

constexpr gpu::Place device0{gpu::Kind::device, 0}, device1{gpu::Kind::device, 1}, pageable{};
constexpr int64_t chunk = Two::chunk, bytes = 30 * chunk + 100;

} // namespace

TEST_CASE("through memory that both ends map no bytes travel", "[shared]")
{
    const Switched on("reset reorder=1 delay_us=20");
    for (const gpu::Place to : {device0, device1}) {
        Two network(HEDDLE_PEER_SHARED);
        const Since sent(Counter::sent_shared), received(Counter::received_shared),
            chunks(Counter::chunks_shared), fallbacks(Counter::fallbacks);
        pass(network, spaced(device0, to, bytes));
        CHECK(network.bytes_sent() == 0);
        CHECK(sent.now() == 1);
        CHECK(received.now() == 1);
        CHECK(chunks.now() == 31);
        CHECK(fallbacks.now() == 0);
    }
}

TEST_CASE("devices that can export do so in host memory if either end wants it", "[shared]")
{
    const Switched on("reset");
    const auto is_shared = [](Two &&network, const Plan &made) {
        const Since sent(Counter::sent_shared), in_place(Counter::sent_in_place);
        pass(network, made);
        CHECK(network.bytes_sent() == 0);
        CHECK(sent.now() == 1);
        CHECK(in_place.now() == 0);
    };
    is_shared(Two(HEDDLE_PEER_SHARED, chunk, HEDDLE_PEER_AUTO), spaced(device0, device1, bytes));
    is_shared(Two(HEDDLE_PEER_AUTO, chunk, HEDDLE_PEER_SHARED), spaced(device0, device1, bytes));
    /* Nor is a dense buffer exported itself, which only a device can read. */
    constexpr int64_t MiB = 1 << 20;
    is_shared(Two(HEDDLE_PEER_AUTO, chunk, HEDDLE_PEER_SHARED),
              plan(dense(device0, MiB), dense(device1, MiB), MiB));
}

TEST_CASE("what no device packs or unpacks, or either end wants by value, is not shared",
          "[shared]")
{
    const Switched on("reset");
    travels(Two(HEDDLE_PEER_SHARED), spaced(pageable, device0, bytes));
    travels(Two(HEDDLE_PEER_SHARED), spaced(device0, pageable, bytes));
    travels(Two(HEDDLE_PEER_SHARED, chunk, HEDDLE_PEER_VALUE), spaced(device0, device1, bytes));
    travels(Two(HEDDLE_PEER_VALUE, chunk, HEDDLE_PEER_SHARED), spaced(device0, device1, bytes));
}

/* In a process of its own: it lasts for the process's life. */
TEST_CASE("inside: memory that cannot be pinned", "[.][inside]")
{
    const Switched on("reset fail=pin:1+");
    const Since fallbacks(Counter::fallbacks);
    for (int i = 0; i < 3; ++i) {
        Two network(HEDDLE_PEER_SHARED);
        pass(network, spaced(device0, device1, bytes));
        CHECK(network.bytes_sent() == bytes);
    }
    CHECK(fallbacks.now() == 1);
    CHECK(gpu::Machine::get().count("pin") == 1);
}

/* As this: no memory was pinned before. */
TEST_CASE("inside: memory that cannot be pinned for now", "[.][inside]")
{
    for (const bool enough : {false, false, true}) {
        const Switched on(enough ? "reset" : "reset pinned_memory=100000");
        Two network(HEDDLE_PEER_SHARED);
        pass(network, spaced(device0, device1, bytes));
        CHECK(network.bytes_sent() == (enough ? 0 : bytes));
    }
}

TEST_CASE("memory that could not be pinned is asked for again", "[shared]")
{
    CHECK(run_inside("inside: memory that cannot be pinned for now") == 0);
}

TEST_CASE("memory that cannot be pinned is asked for once", "[shared]")
{
    CHECK(run_inside("inside: memory that cannot be pinned") == 0);
}

TEST_CASE("a handle opens the memory that it names, and nothing else", "[shared]")
{
    const Switched on("reset");
    heddle::gpu::Device &device = heddle::gpu::Devices::open()->device(0);
    constexpr size_t size = 1 << 20;
    unsigned char handle[heddle::gpu::Backend::handle_bytes];
    const auto opens = [&](const unsigned char *named) {
        SharedMemory opened;
        return opened.open(device, named);
    };
    {
        SharedMemory made, opened;
        REQUIRE(made.make(size) == HEDDLE_SUCCESS);
        REQUIRE(made.publish(device, handle) == HEDDLE_SUCCESS);
        REQUIRE(opened.open(device, handle) == HEDDLE_SUCCESS);
        REQUIRE(opened.bytes() == size);
        made.at()[size - 1] = 'x';
        CHECK(opened.at()[size - 1] == 'x');
        for (size_t byte = 0; byte < 32; byte += 8) { /* what it is, which file, how long, whose */
            unsigned char other[sizeof handle];
            std::copy(std::begin(handle), std::end(handle), other);
            other[byte + 3] ^= 0x40;
            INFO("byte " << byte + 3);
            CHECK(opens(other) == HEDDLE_ERR_FORMAT);
        }
    }
    CHECK(opens(handle) == HEDDLE_ERR_FORMAT); /* it is gone */
}

TEST_CASE("shared memory is used again", "[shared]")
{
    const Switched on("reset reorder=1 delay_us=50");
    Two network(HEDDLE_PEER_SHARED);
    const int64_t before = gpu::Machine::get().count("pin");
    end_many(network, begin_many(network, network.a, network.b, 40, [](int i) {
                 return spaced(device0, i % 2 ? device0 : device1, bytes);
             }));
    CHECK(network.bytes_sent() == 0);
    CHECK(gpu::Machine::get().count("pin") - before <= 3); /* of 64 pieces each; 40 messages of 4 at
                                                              a time */
}
