/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rules that messages live by (docs/design.md, section 6): each test fails where its rule is
 * broken.
 */
#include "exchange.hpp"

#include <catch2/catch.hpp>

using namespace pipeline_test;

namespace {

constexpr gpu::Place device0{gpu::Kind::device, 0}, device1{gpu::Kind::device, 1}, pageable{};
constexpr int64_t chunk = 4096;

heddle_port_options limits(int64_t window, int64_t chunks_of_staging, int peer = HEDDLE_PEER_VALUE)
{
    heddle_port_options options = port_options(0, 0, 0, 0);
    options.chunk = chunk;
    options.window = window;
    options.staging = chunks_of_staging * chunk;
    options.peer = peer;
    return options;
}

using Exchanges = std::vector<std::unique_ptr<Exchange>>;

Exchange &add(Exchanges &all, Network &network, size_t from, size_t to, const Plan &plan)
{
    all.push_back(std::make_unique<Exchange>(network, from, to, plan, all.size() + 1));
    return *all.back();
}

int64_t count(const char *what) { return gpu::Machine::get().count(what); }

/* Packs and unpacks that a device was asked for. */
int64_t begun() { return count("launch") + count("copy") + count("copy_2d"); }

/* Lets ports work and the network not. */
void progress_alone(Network &network, size_t end, int times = 50)
{
    for (int i = 0; i < times; ++i) {
        network.progress(end);
        gpu::Machine::get().count("launch"); /* some time passes */
    }
}

} // namespace

TEST_CASE("no staging memory, and nothing packed, before a match", "[rules]")
{
    const Switched on("reset");
    Network network(1);
    const size_t a = network.add(limits(8, 64)), b = network.add(limits(8, 64));
    Exchanges all;
    for (int i = 0; i < 100; ++i)
        add(all, network, a, b,
            plan(blocks(device0, 20 * chunk), dense(device1, 20 * chunk), 20 * chunk));
    const int64_t pinned = count("allocate_pinned"), exported = count("allocate"), packs = begun();
    for (const auto &exchange : all)
        exchange->send();
    progress_alone(network, a);
    CHECK(count("allocate_pinned") == pinned);
    CHECK(count("allocate") == exported);
    CHECK(begun() == packs);
    CHECK(*heddle_port_active(network.port(a)) == 0);
    for (const auto &exchange : all)
        exchange->receive();
    run_all(network, all);
    for (const auto &exchange : all)
        exchange->check();
}

TEST_CASE("nothing is sent that the receiver has no room for", "[rules]")
{
    const Switched on("reset");
    Network network(2);
    const size_t a = network.add(limits(8, 64)), b = network.add(limits(8, 2));
    Exchanges all;
    for (int i = 0; i < 6; ++i)
        add(all, network, a, b,
            plan(blocks(device0, 20 * chunk), dense(device1, 20 * chunk), 20 * chunk))
            .begin();
    int64_t most = 0;
    run(network, [&] {
        most = std::max(most, network.bytes_flying(b));
        for (const auto &exchange : all)
            if (!exchange->over())
                return false;
        return true;
    });
    CHECK(most == 2 * chunk);
    for (const auto &exchange : all)
        exchange->check();
}

TEST_CASE(
    "with two slabs at either end all messages move on, both ways, none waits for others to end",
    "[rules]")
{
    const Switched on("reset reorder=1");
    for (const int64_t slabs : {1, 2}) {
        Network network(3);
        const size_t a = network.add(limits(8, slabs)), b = network.add(limits(8, slabs));
        Exchanges all;
        for (int i = 0; i < 10; ++i) {
            const Plan made = plan(blocks(i % 3 ? device0 : pageable, 40 * chunk),
                                   blocks(device1, 40 * chunk), 40 * chunk);
            add(all, network, i % 2 ? a : b, i % 2 ? b : a, made).begin();
        }
        bool looked = false;
        run(network, [&] {
            size_t over = 0;
            for (const auto &exchange : all)
                over += exchange->received.over;
            if (over > 0 && !looked) {
                looked = true;
                for (const auto &exchange : all) { /* one byte may be right by chance, ten are not
                                                    */
                    int come = 0;
                    for (int64_t x = 0; x < 30; ++x)
                        come += exchange->has_come(x);
                    CHECK(come > 10);
                }
            }
            for (const auto &exchange : all)
                if (!exchange->over())
                    return false;
            return true;
        });
        CHECK(looked);
        for (const auto &exchange : all)
            exchange->check();
    }
}

TEST_CASE("who waits for a message that does not move gets memory all the same", "[rules]")
{
    const Switched on("reset");
    Network network(4);
    const size_t stuck = network.add(limits(8, 64)), a = network.add(limits(8, 1)),
                 b = network.add(limits(8, 1));
    Exchanges all;
    add(all, network, stuck, b,
        plan(blocks(device0, 4 * chunk), blocks(device1, 4 * chunk), 4 * chunk))
        .begin();
    add(all, network, a, b, plan(blocks(device0, 4 * chunk), blocks(device1, 4 * chunk), 4 * chunk))
        .begin();
    network.holds = [&](size_t to) { return to == stuck; }; /* it never hears that it was matched */
    run(network, [&] { return all[1]->over(); });
    CHECK(!all[0]->received.over);
    all[1]->check();
    network.holds = nullptr;
    run_all(network, all);
    all[0]->check();
}

TEST_CASE("chunks are packed while others travel", "[rules]")
{
    const Switched on("reset");
    Network network(5, {false, 0, 0});
    const size_t a = network.add(limits(4, 64)), b = network.add(limits(4, 64));
    Exchange exchange(network, a, b,
                      plan(blocks(device0, 10 * chunk), blocks(device1, 10 * chunk), 10 * chunk),
                      1);
    exchange.begin();
    network.holds = [&](size_t to) { return to == b; };
    run(
        network, [&] { return network.bytes_sent() == 4 * chunk; }, 5);
    progress_alone(network, a, 1000);
    CHECK(network.bytes_sent() == 4 * chunk); /* the window, and no more */
    network.holds = nullptr;
    run(network, [&] { return exchange.over(); });
    exchange.check();
}

TEST_CASE("chunks are unpacked while others come", "[rules]")
{
    Network network(6, {false, 100, 100});
    heddle_port_options options = limits(4, 1000);
    options.chunk = 64 * chunk; /* not small: each is a launch */
    const size_t a = network.add(options), b = network.add(options);
    const int64_t bytes = 10 * options.chunk;
    Exchange exchange(network, a, b, plan(dense(pageable, bytes), blocks(device1, bytes), bytes),
                      1);
    const Switched on("reset delay_us=600000");
    exchange.begin();
    const int64_t before = begun();
    run(
        network, [&] { return begun() >= before + 4; }, 5);
    CHECK(!exchange.received.over); /* the first is not through yet */
    gpu::Machine::get().configure("delay_us=0");
    run(network, [&] { return exchange.over(); });
    exchange.check();
}

TEST_CASE("a receive ends when its last unpack has, and tells so from progress alone", "[rules]")
{
    Network network(7, {false, 100, 100});
    const size_t a = network.add(limits(4, 64)), b = network.add(limits(4, 64));
    Exchange exchange(network, a, b, plan(dense(pageable, chunk), blocks(device1, chunk), chunk),
                      1);
    const Switched on("reset delay_us=600000");
    exchange.begin();
    while (network.step() || network.progress(a) > 0) {
    }
    network.progress(b);
    CHECK(exchange.sent.over);
    CHECK(!exchange.received.over);
    gpu::Machine::get().configure("delay_us=0");
    run(network, [&] { return exchange.over(); });
    exchange.check();
    CHECK(exchange.sent.calls == 1);
    CHECK(exchange.received.calls == 1);
}

TEST_CASE("dense host memory is read and written where it lies, without staging", "[rules]")
{
    const Switched on("reset");
    Network network(8, {true, 0, 0});
    const size_t a = network.add(limits(4, 1)), b = network.add(limits(4, 1));
    for (const gpu::Kind kind : {gpu::Kind::pageable, gpu::Kind::pinned}) {
        const gpu::Place host{kind, 0};
        Exchange exchange(network, a, b,
                          plan(dense(host, 30 * chunk), dense(host, 30 * chunk), 30 * chunk), 1);
        const char *const to = static_cast<const char *>(exchange.to_side().buf);
        const int64_t pinned = count("allocate_pinned");
        int written = 0;
        network.writes = [&](const void *at, size_t) {
            written += at >= to && at < to + 30 * chunk;
        };
        exchange.begin();
        run(network, [&] { return exchange.over(); });
        exchange.check();
        CHECK(written == 30);
        CHECK(count("allocate_pinned") == pinned);
    }
}

TEST_CASE("receives that are too short, down to nothing", "[rules]")
{
    const Switched on("reset");
    for (const int peer : all_peers)
        for (const int64_t capacity : {int64_t{0}, int64_t{1}, chunk - 1, chunk, 3 * chunk + 5}) {
            Network network(9);
            const size_t a = network.add(limits(4, 4, peer)), b = network.add(limits(4, 4, peer));
            Plan made = plan(blocks(device0, 10 * chunk), blocks(device1, 10 * chunk), 10 * chunk);
            made.capacity = capacity;
            Exchange exchange(network, a, b, made, 1);
            exchange.begin();
            CHECK(!exchange.received.over);
            run(network, [&] { return exchange.over(); });
            exchange.check();
            CHECK(exchange.sent.error == HEDDLE_SUCCESS);
            CHECK(exchange.received.error == HEDDLE_ERR_TRUNCATE);
            CHECK(exchange.received.bytes == capacity);
        }
}

TEST_CASE("messages of no bytes", "[rules]")
{
    const Switched on("reset");
    Network network(10);
    const size_t a = network.add(), b = network.add();
    Exchange exchange(network, a, b, plan(dense(device0, 10), dense(pageable, 10), 0), 1);
    exchange.begin();
    CHECK(!exchange.received.over);
    run(network, [&] { return exchange.over(); });
    CHECK(exchange.sent.error == HEDDLE_SUCCESS);
    CHECK(exchange.received.error == HEDDLE_SUCCESS);
    CHECK(exchange.received.bytes == 0);
    exchange.check();
}

TEST_CASE("inside: without any device", "[.][inside]")
{
    REQUIRE(heddle_device_open() == HEDDLE_ERR_NO_DEVICE);
    Network network(12);
    const size_t a = network.add(limits(4, 2)), b = network.add(limits(4, 2));
    Exchanges all;
    for (int i = 0; i < 4; ++i)
        add(all, network, a, b,
            plan(i & 1 ? dense(pageable, 9 * chunk) : blocks(pageable, 9 * chunk),
                 i & 2 ? dense(pageable, 9 * chunk) : blocks(pageable, 9 * chunk), 9 * chunk))
            .begin();
    run_all(network, all);
    for (const auto &exchange : all) {
        exchange->check();
        CHECK(exchange->received.error == HEDDLE_SUCCESS);
    }
}

TEST_CASE("without any device messages go from host to host", "[rules]")
{
    CHECK(run_inside("inside: without any device", "none") == 0);
}

namespace {

/* Every second of `n` pieces of `piece` bytes in device memory, the others in the host's, as
 * absolute addresses. */
struct Mixed {
    Mixed(int64_t n, int64_t piece, unsigned char seed)
        : device(device0, static_cast<size_t>(n * piece)),
          host(pageable, static_cast<size_t>(n * piece)),
          contents(static_cast<size_t>(n * piece))
    {
        std::vector<int64_t> at;
        for (int64_t i = 0; i < n; ++i)
            at.push_back(reinterpret_cast<int64_t>((i % 2 ? host : device).at() + i * piece));
        type = oracle::Type::from(
            [&](auto **t) {
                return heddle_type_hindexed_block(n, piece, at.data(),
                                                  heddle_type_predefined(HEDDLE_BYTE), t);
            },
            "hindexed_block");
        type.commit();
        for (size_t i = 0; i < contents.size(); ++i)
            contents[i] = static_cast<unsigned char>(i * 7 + i / 256 + seed);
        device.write(0, contents.data(), contents.size());
        host.write(0, contents.data(), contents.size());
    }
    /* The packed bytes that are there now. */
    std::vector<unsigned char> bytes(int64_t piece) const
    {
        std::vector<unsigned char> now(contents.size()), other(contents.size());
        device.read(0, now.data(), now.size());
        host.read(0, other.data(), other.size());
        for (size_t i = 0; i < now.size(); ++i)
            if (static_cast<int64_t>(i) / piece % 2)
                now[i] = other[i];
        return now;
    }
    heddle_side side() const { return {nullptr, 1, type.get(), 0}; }

    gpu::Memory device, host;
    std::vector<unsigned char> contents;
    oracle::Type type;
};

} // namespace

TEST_CASE("types of absolute addresses lead into memory of several kinds", "[rules]")
{
    const Switched on("reset reorder=1");
    constexpr int64_t piece = 1000, n = 50;
    for (const int peer : all_peers) {
        Network network(13);
        const size_t a = network.add(limits(4, 8, peer)), b = network.add(limits(4, 8, peer));
        const Mixed from(n, piece, 1), to(n, piece, 2);
        const heddle_side source = from.side(), target = to.side();
        char envelope[HEDDLE_ENVELOPE_BYTES];
        int errors[2] = {-1, -1};
        const auto ended = [](void *error, int e, int64_t) { *static_cast<int *>(error) = e; };
        REQUIRE(send_message(network.port(a), network.peer(b), &source, n * piece, 0, 0, envelope,
                             ended, &errors[0], nullptr) == HEDDLE_SUCCESS);
        REQUIRE(receive_message(network.port(b), network.peer(a), envelope, &target, n * piece,
                                nullptr, ended, &errors[1]) == HEDDLE_SUCCESS);
        run(network, [&] { return errors[0] >= 0 && errors[1] >= 0; });
        CHECK(errors[0] == HEDDLE_SUCCESS);
        CHECK(errors[1] == HEDDLE_SUCCESS);
        CHECK(to.bytes(piece) == from.contents);
    }
}

TEST_CASE("an idle port has nothing to do", "[rules]")
{
    Network network(11);
    const size_t a = network.add();
    CHECK(*heddle_port_active(network.port(a)) == 0);
    int events = -1;
    CHECK(heddle_port_progress(network.port(a), &events) == HEDDLE_SUCCESS);
    CHECK(events == 0);
}

/* Both ends of a message, however it goes, and where it fails. */
TEST_CASE("a profiler is shown each message from its beginning to its end", "[rules]")
{
    for (const int peer : {HEDDLE_PEER_VALUE, HEDDLE_PEER_SHARED, HEDDLE_PEER_REFERENCE})
        for (const char *switches : {"reset", "reset fail=launch:1"}) {
            const Switched on(switches);
            Network network(1);
            const size_t a = network.add(limits(8, 64, peer)), b = network.add(limits(8, 64, peer));
            Exchanges all;
            add(all, network, a, b,
                plan(blocks(device0, 20 * chunk), blocks(device1, 20 * chunk), 20 * chunk))
                .begin();
            CHECK(count("span_begin") >= 1);
            CHECK(count("span_end") == 0);
            run_all(network, all);
            run(network, [] { return count("span_end") == 2; });
            CHECK(count("span_begin") == 2);
        }
}
