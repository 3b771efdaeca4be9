/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chunks that stay on the sender's device: within a process, with every way back to chunks that
 * travel.
 */
#include "two.hpp"

#include "pipeline/wire.hpp"

using namespace pipeline_test;
namespace wire = heddle::pipeline;

namespace {

constexpr gpu::Place device0{gpu::Kind::device, 0}, device1{gpu::Kind::device, 1}, pageable{},
    pinned{gpu::Kind::pinned, 0};
constexpr int64_t chunk = Two::chunk, bytes = 30 * Two::exported + 100;

} // namespace

TEST_CASE("between devices of a node no bytes travel", "[reference]")
{
    const Switched on("reset reorder=1 delay_us=20");
    for (const gpu::Place to : {device0, device1}) {
        Two network;
        const Since sent(Counter::sent_by_reference), received(Counter::received_by_reference),
            chunks(Counter::chunks_by_reference), fallbacks(Counter::fallbacks);
        pass(network, spaced(device0, to, bytes));
        CHECK(network.bytes_sent() == 0);
        CHECK(sent.now() == 1);
        CHECK(received.now() == 1);
        CHECK(chunks.now() == 31);
        CHECK(fallbacks.now() == 0);
    }
}

TEST_CASE("heddle_info tells what messages did", "[reference]")
{
    const Switched on("reset");
    Two network;
    pass(network, spaced(device0, device1, bytes));
    std::string text(10000, '\0');
    size_t length = 0;
    REQUIRE(heddle_info(text.data(), text.size(), &length) == HEDDLE_SUCCESS);
    const std::string expected = "sent_by_reference " +
                                 std::to_string(wire::counted(Counter::sent_by_reference)) +
                                 " received_by_value ";
    CHECK(text.find("messages: sent_whole ") != std::string::npos);
    CHECK(text.find(expected) != std::string::npos);

    heddle_counter counter{};
    int64_t index = 0, found = -1;
    for (; heddle_counter_read(index, &counter) == HEDDLE_SUCCESS; ++index)
        if (counter.name == std::string("messages_sent_by_reference"))
            found = counter.value;
    CHECK(found == wire::counted(Counter::sent_by_reference));
    CHECK(heddle_counter_read(index, &counter) == HEDDLE_ERR_RANGE);
    CHECK(heddle_counter_read(-1, &counter) == HEDDLE_ERR_RANGE);
    CHECK(heddle_counter_read(0, nullptr) == HEDDLE_ERR_ARG);
}

TEST_CASE("memory that is not all of a device's, or a choice by value at either end, travels",
          "[reference]")
{
    const Switched on("reset");
    travels(Two(), spaced(pageable, device0, bytes));
    travels(Two(), spaced(device0, pageable, bytes));
    travels(Two(), spaced(pinned, device0, bytes));
    travels(Two(), spaced(device0, pinned, bytes));
    travels(Two(HEDDLE_PEER_VALUE), spaced(device0, device1, bytes));
    travels(Two(HEDDLE_PEER_VALUE, chunk, HEDDLE_PEER_REFERENCE), spaced(device0, device1, bytes));
    travels(Two(HEDDLE_PEER_REFERENCE, chunk, HEDDLE_PEER_VALUE), spaced(device0, device1, bytes));
}

TEST_CASE("a dense buffer of a device is exported itself", "[reference]")
{
    const Switched on("reset reorder=1 delay_us=20");
    constexpr int64_t size = (int64_t{1} << 20) + 100;
    for (const gpu::Place to : {device0, device1}) {
        Two network;
        const Since in_place(Counter::sent_in_place);
        const int64_t exported = gpu::Machine::get().count("export_memory");
        pass(network, plan(dense(device0, size), blocks(to, size), size));
        CHECK(network.bytes_sent() == 0);
        CHECK(in_place.now() == 1);
        CHECK(gpu::Machine::get().count("export_memory") - exported == 1);
    }
}

static void send_and_receive(Two &network, const heddle_side &source, const heddle_side &sink,
                             int64_t size)
{
    int ended = 0;
    const auto end = [](void *argument, int error, int64_t) {
        CHECK(error == HEDDLE_SUCCESS);
        ++*static_cast<int *>(argument);
    };
    unsigned char envelope[HEDDLE_ENVELOPE_BYTES];
    REQUIRE(send_message(network.port(network.a), network.peer(network.b), &source, size, 0, 0,
                         envelope, end, &ended, nullptr) == HEDDLE_SUCCESS);
    REQUIRE(receive_message(network.port(network.b), network.peer(network.a), envelope, &sink, size,
                            nullptr, end, &ended) == HEDDLE_SUCCESS);
    run(network, [&] { return ended == 2; });
}

/* Of 18 short messages out of one buffer this is the first that goes in place, or none is. */
static void in_place_from(int first)
{
    constexpr int64_t size = 100;
    const gpu::Memory memory(device0, size), target(device1, size);
    const heddle_side source{memory.at(), size, heddle_type_predefined(HEDDLE_BYTE), 0},
        sink{target.at(), size, source.type, 0};
    Two network;
    for (int i = 1; i <= 18; ++i) {
        const Since in_place(Counter::sent_in_place);
        send_and_receive(network, source, sink, size);
        CHECK(in_place.now() == (i >= first));
    }
}

/* The shorter ones gain as much, each: so they count for 4 KiB. */
TEST_CASE("a buffer of short messages is exported after 16 of them", "[reference]")
{
    const Switched on("reset");
    in_place_from(16);
}

/* Opening an allocation takes as long as several short messages. */
TEST_CASE("a short dense buffer is exported itself once enough was sent out of its allocation",
          "[reference]")
{
    const Switched on("reset");
    constexpr int64_t size = 20000; /* four are more than 64 KiB */
    const gpu::SideSpec from = dense(device0, size);
    const oracle::Type type = oracle::build(*from.type).commit();
    gpu::Memory memory(device0, size), target(device1, size);
    const std::vector<char> sent(size, 's');
    memory.write(0, sent.data(), sent.size());
    const heddle_side source{memory.at(), size, type.get(), 0},
        sink{target.at(), size, type.get(), 0};
    Two network;
    for (int i = 1; i <= 6; ++i) {
        const Since in_place(Counter::sent_in_place);
        const int64_t exported = gpu::Machine::get().count("export_memory");
        send_and_receive(network, source, sink, size);
        CHECK(in_place.now() == (i >= 4));
        if (i >= 4)
            CHECK(gpu::Machine::get().count("export_memory") - exported == (i == 4));
        std::vector<char> got(size);
        target.read(0, got.data(), got.size());
        CHECK(got == sent);
    }
}

/* Its receivers would keep it open, and so in being, when it was freed. */
TEST_CASE("scratch memory beyond the pool is not exported itself", "[reference]")
{
    const Switched on("reset");
    constexpr int64_t size = int64_t{1} << 20;
    const gpu::SideSpec from = dense(device0, size);
    const oracle::Type type = oracle::build(*from.type).commit();
    const gpu::Memory near(device0, 8), target(device1, size);
    std::vector<char> sent(size, 's'), got(size);
    for (const int64_t bytes : {size, int64_t{300} << 20}) {
        void *scratch = nullptr;
        REQUIRE(heddle_scratch_alloc(bytes, near.at(), &scratch) == HEDDLE_SUCCESS);
        REQUIRE(heddle_memory_kind(scratch, nullptr) == HEDDLE_MEMORY_DEVICE);
        const heddle_side source{scratch, size, type.get(), 0},
            sink{target.at(), size, type.get(), 0};
        const heddle_move fill{{sent.data(), size, type.get(), 0}, source, size, HEDDLE_OP_REPLACE};
        REQUIRE(heddle_transfer(&fill, 1) == HEDDLE_SUCCESS);
        Two network;
        const Since in_place(Counter::sent_in_place);
        send_and_receive(network, source, sink, size);
        CHECK(in_place.now() == (bytes == size));
        target.read(0, got.data(), got.size());
        CHECK(got == sent);
        heddle_scratch_free(scratch);
    }
}

TEST_CASE("a dense buffer that cannot be exported is exported in pieces", "[reference]")
{
    constexpr int64_t size = int64_t{3} << 20;
    {
        const Switched on("reset");
        Two network; /* makes the pieces */
        pass(network, plan(blocks(device0, size), blocks(device1, size), size));
    }
    const Switched on("reset fail=export_memory:1");
    Two network;
    const Since in_place(Counter::sent_in_place), by_reference(Counter::sent_by_reference);
    pass(network, plan(dense(device0, size), dense(device1, size), size));
    CHECK(network.bytes_sent() == 0);
    CHECK(in_place.now() == 0);
    CHECK(by_reference.now() == 1);
}

/* Other errors last. */
TEST_CASE("a dense buffer that finds no memory to be exported is exported later", "[reference]")
{
    constexpr int64_t size = 100;
    for (const bool may_pass : {true, false}) {
        {
            const Switched on("reset");
            Two network; /* makes the pieces */
            pass(network, plan(blocks(device0, size), blocks(device1, size), size));
        }
        const Switched on(may_pass ? "reset exhaust=export_memory:1"
                                   : "reset fail=export_memory:1");
        constexpr int never = 19;
        in_place_from(may_pass ? 17 : never);
    }
}

/* In a process of its own: nothing is there to be exported yet. */
TEST_CASE("inside: no memory to export", "[.][inside]")
{
    for (const char *switches : {"reset fail=allocate:1+", "reset device_memory=0"}) {
        const Switched on(switches);
        INFO(switches);
        Two network(HEDDLE_PEER_REFERENCE);
        const Since fallbacks(Counter::fallbacks);
        pass(network, spaced(device0, device1, bytes));
        CHECK(network.bytes_sent() == bytes);
        CHECK(fallbacks.now() == 1);
    }
}

/* This, too: it lasts for the process's life. */
TEST_CASE("inside: a device that exports nothing", "[.][inside]")
{
    const Switched on("reset fail=export_memory:1+");
    const Since fallbacks(Counter::fallbacks), shared(Counter::sent_shared);
    for (int i = 0; i < 3; ++i) {
        Two network(HEDDLE_PEER_REFERENCE);
        pass(network, spaced(device0, device1, bytes));
        CHECK(network.bytes_sent() == (i ? 0 : bytes));
    }
    CHECK(fallbacks.now() == 1);
    CHECK(shared.now() == 2);
    CHECK(gpu::Machine::get().count("export_memory") == 1);
}

TEST_CASE("what cannot be exported travels", "[reference]")
{
    CHECK(run_inside("inside: no memory to export") == 0);
}

TEST_CASE("a device that exports nothing is asked once", "[reference]")
{
    CHECK(run_inside("inside: a device that exports nothing") == 0);
}

/* The receiver cannot open what comes, from the third chunk on: it begins anew, and what was read
 * of the sender's memory before is not read after that is used again. */
TEST_CASE("what cannot be imported travels", "[reference]")
{
    const Switched on("reset reorder=1 delay_us=200");
    for (int turn = 0; turn < 20; ++turn) {
        Two network;
        const Since fallbacks(Counter::fallbacks);
        int chunks = 0;
        network.loses = [&](size_t to, const std::vector<unsigned char> &raw) {
            wire::Header header;
            REQUIRE(wire::read_header(raw.data(), raw.size(), header) == HEDDLE_SUCCESS);
            if (header.kind != wire::Kind::chunk || header.mode != wire::Mode::reference ||
                ++chunks != 3 + turn / 4)
                return false;
            header.memory.place.allocation += 1000;
            const wire::HeaderBytes changed = wire::write_header(header);
            CHECK(heddle_port_arrived(network.port(to), changed.bytes, changed.size, nullptr, 0) ==
                  HEDDLE_SUCCESS);
            return true;
        };
        pass(network, spaced(device0, device1, bytes));
        CHECK(network.bytes_sent() == bytes);
        CHECK(fallbacks.now() == 1);
    }
}

TEST_CASE("small chunks of many messages share launches", "[reference]")
{
    const Switched on("reset");
    Two network(HEDDLE_PEER_REFERENCE);
    const Plan small = plan(blocks(device0, 1000), blocks(device1, 1000), 1000);
    const auto all = begin_many(network, network.a, network.b, 8, [&](int) { return small; });
    while (network.step()) { /* all are answered */
    }
    const int64_t before = gpu::Machine::get().count("launch");
    network.progress(network.a);
    CHECK(gpu::Machine::get().count("launch") - before == 1);
    end_many(network, all);
}

/* Each chunk's memory comes back: far more goes through than there is. */
TEST_CASE("exported memory is used again, and only once it was read", "[reference]")
{
    const Switched on("reset reorder=1 delay_us=50");
    Two network;
    const int64_t before = gpu::Machine::get().count("export_memory");
    end_many(network, begin_many(network, network.a, network.b, 12, [](int i) {
                 return spaced(device0, i % 2 ? device0 : device1, bytes);
             }));
    CHECK(network.bytes_sent() == 0);
    CHECK(gpu::Machine::get().count("export_memory") - before <= 3); /* of 16 pieces each; 12
                                                                        messages of 4 at a time */
}

TEST_CASE("a sender that fails does not end before the receiver has said that it reads nothing",
          "[reference]")
{
    const Switched on("reset");
    Two network(HEDDLE_PEER_REFERENCE);
    Exchange exchange(network, network.a, network.b, spaced(device0, device1, bytes), 1);
    exchange.begin();
    network.step(); /* the answer */
    int chunks = 0;
    network.fails = [&](Network::When what, size_t from, size_t) {
        return what == Network::When::send && from == network.a && ++chunks == 3
                   ? HEDDLE_ERR_NO_MEMORY
                   : HEDDLE_SUCCESS;
    };
    network.holds = [&](size_t to) { return to == network.b; };
    run(network, [&] { return chunks >= 4; }); /* two are exported, one failed, and the receiver is
                                                * told
                                                */
    for (int i = 0; i < 1000; ++i)
        network.progress(network.a);
    CHECK(!exchange.sent.over);
    network.holds = nullptr;
    run(network, [&] { return exchange.over(); });
    CHECK(exchange.sent.error == HEDDLE_ERR_NO_MEMORY);
    CHECK(exchange.received.error == HEDDLE_ERR_PEER);
}

/* A device fails while chunks are exported: they are not free before the receiver has said so, and
 * are after it.
 */
TEST_CASE("what was exported comes back when a message fails", "[reference]")
{
    for (int when = 1; when < 10; ++when) {
        Two network(HEDDLE_PEER_REFERENCE);
        Exchange exchange(network, network.a, network.b, spaced(device0, device1, bytes), 1);
        {
            const Switched on("reset delay_us=100 fail=execute:" + std::to_string(when));
            exchange.begin();
            run(network, [&] { return exchange.over(); });
            CHECK(exchange.sent.error);
            CHECK(exchange.received.error);
        }
        pass(network, spaced(device0, device1, bytes));
    }
}
