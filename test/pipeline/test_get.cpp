/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages by get: read where they lie if somebody wants them soon, copied away and over for
 * their sender if not.
 */
#include "processes.hpp"
#include "two.hpp"

#include "pipeline/peer_memory/process.hpp"
#include "pipeline/peer_memory/slots.hpp"

using namespace pipeline_test;

namespace {

constexpr gpu::Place device0{gpu::Kind::device, 0}, device1{gpu::Kind::device, 1}, pageable{},
    managed{gpu::Kind::managed, 0};
constexpr int64_t bytes = 100000; /* enough out of one allocation for it to be exported */
constexpr int64_t for_ever = 100000000, at_once = 1; /* microseconds */

Plan contiguous(gpu::Place to = device1, int64_t length = bytes)
{
    return plan(dense(device0, length), blocks(to, length), length);
}

struct Patient : Two {
    explicit Patient(int64_t timeout, int at_receiver = HEDDLE_PEER_DEFAULT)
        : Two(HEDDLE_PEER_AUTO, chunk, at_receiver, 0, timeout)
    {
    }
};

struct Counts {
    const Since claimed{Counter::claimed}, withdrawn{Counter::withdrawn},
        in_place{Counter::sent_in_place};
};

/* The receiver is late: the sender is through, has other things in its buffer, and is not asked for
 * anything. */
void take_late(Patient &network, Exchange &exchange, bool within = false)
{
    REQUIRE(exchange.get(within));
    network.run_sender([&] { return exchange.sent.over; });
    exchange.spoil();
    exchange.receive();
    network.run_receiver([&] { return exchange.received.over; }, within ? network.a : network.b);
    exchange.check();
    CHECK(exchange.sent.error == HEDDLE_SUCCESS);
    CHECK(exchange.sent.calls == 1);
    CHECK(exchange.sent.bytes == bytes);
    CHECK(exchange.received.error == HEDDLE_SUCCESS);
}

/* The receive is posted at once; to its end. */
void exchange_at_once(Patient &network, Exchange &exchange)
{
    REQUIRE(exchange.get());
    exchange.receive();
    run(network, [&] { return exchange.over(); });
}

void take_soon(Patient &network, Exchange &exchange)
{
    REQUIRE(exchange.get());
    network.progress(network.a);
    CHECK(!exchange.sent.over);
    exchange.receive();
    run(network, [&] { return exchange.over(); });
    exchange.check();
    CHECK(exchange.sent.calls == 1);
    CHECK(exchange.sent.bytes == bytes);
}

} // namespace

TEST_CASE("what is claimed in time is read where it lies", "[get]")
{
    const Switched on("reset reorder=1 delay_us=20");
    Patient network(for_ever);
    const Counts counts;
    for (int i = 0; i < 3; ++i) {
        Exchange exchange(network, network.a, network.b, contiguous(), i);
        take_soon(network, exchange);
    }
    CHECK(counts.claimed.now() == 3);
    CHECK(counts.in_place.now() == 3);
    CHECK(counts.withdrawn.now() == 0);
    CHECK(network.bytes_sent() == 0);
}

TEST_CASE("what nobody wants is copied, and its sender's buffer is its own", "[get]")
{
    const Switched on("reset reorder=1 delay_us=20");
    for (const gpu::Place to : {device0, device1, pageable, managed}) {
        Patient network(at_once);
        const Counts counts;
        Exchange exchange(network, network.a, network.b, contiguous(to), 1);
        take_late(network, exchange);
        CHECK(counts.withdrawn.now() == 1);
        CHECK(counts.claimed.now() == 0);
        CHECK(network.bytes_sent() == bytes);
    }
}

static int64_t begun() { return launches() + gpu::Machine::get().count("copy"); }

/* Its sender has lost its time-out. How much had begun before. */
static int64_t get_until_copied(Patient &network, Exchange &exchange)
{
    const int64_t before = begun();
    REQUIRE(exchange.get());
    network.run_sender([&] { return begun() > before; });
    return before;
}

TEST_CASE("a read that is overtaken by the copy is for nothing", "[get]")
{
    const Switched on("reset delay_us=20000");
    Patient network(at_once);
    const Counts counts;
    Exchange exchange(network, network.a, network.b, contiguous(), 1);
    const int64_t before = get_until_copied(network, exchange);
    exchange.receive();
    network.progress(network.b);
    CHECK(begun() == before + 2); /* it reads what is copied */
    network.run_sender([&] { return exchange.sent.over; });
    exchange.spoil();
    run(network, [&] { return exchange.over(); });
    exchange.check();
    CHECK(counts.claimed.now() == 0);
    CHECK(counts.withdrawn.now() == 1);
    CHECK(exchange.sent.calls == 1);
}

TEST_CASE("who reads and does not come back keeps nobody", "[get]")
{
    const Switched on("reset delay_us=20");
    for (const int64_t timeout : {at_once, int64_t{300}}) {
        Patient network(timeout);
        Exchange exchange(network, network.a, network.b, contiguous(), 1);
        REQUIRE(exchange.get());
        exchange.receive();
        network.progress(network.b);
        network.run_sender([&] { return exchange.sent.over; });
        exchange.spoil();
        network.run_receiver([&] { return exchange.received.over; }, network.b);
        exchange.check();
        CHECK(exchange.sent.calls == 1);
    }
}

TEST_CASE("who is being read is more patient", "[get]")
{
    const Switched on("reset delay_us=60000");
    Patient network(20000);
    const Counts counts;
    Exchange exchange(network, network.a, network.b, contiguous(), 1);
    exchange_at_once(network, exchange);
    exchange.check();
    CHECK(counts.claimed.now() == 1);
    CHECK(counts.withdrawn.now() == 0);
}

TEST_CASE("who takes gets by value hears of none for a while", "[get]")
{
    const Switched on("reset");
    for (const bool on_device : {false, true}) { /* the receiver has host memory, or never looks at
                                                    others' */
        Patient network(for_ever, on_device ? HEDDLE_PEER_VALUE : HEDDLE_PEER_DEFAULT);
        const Counts counts;
        int by_get = 0;
        for (int i = 0; i < 33; ++i) {
            Exchange exchange(network, network.a, network.b,
                              contiguous(on_device ? device1 : pageable), i);
            const bool goes = exchange.get();
            CHECK(goes == (i % 16 == 0));
            by_get += goes;
            if (!goes)
                exchange.send();
            exchange.receive();
            run(network, [&] { return exchange.over(); });
            exchange.check();
            CHECK(exchange.sent.calls == 1);
        }
        CHECK(by_get == 3);
        CHECK(counts.claimed.now() == 0);
        CHECK(counts.withdrawn.now() == 3); /* at once, whatever its time-out */
    }
}

TEST_CASE("who is late hears of less and less, until it takes one", "[get]")
{
    const Switched on("reset");
    Patient network(20000);
    std::vector<int> by_get;
    const auto send = [&](int i, bool late) {
        Exchange exchange(network, network.a, network.b, contiguous(), i);
        const bool goes = exchange.get();
        if (goes)
            by_get.push_back(i);
        else
            exchange.send();
        if (goes && late)
            network.run_sender([&] { return exchange.sent.over; });
        exchange.receive();
        run(network, [&] { return exchange.over(); });
        exchange.check();
    };
    for (int i = 0; i < 14; ++i)
        send(i, true);
    CHECK(by_get == std::vector{0, 2, 6});
    send(14, false);
    for (int i = 15; i < 20; ++i)
        send(i, true);
    CHECK(by_get == std::vector{0, 2, 6, 14, 15, 17});
}

TEST_CASE("only what can be read where it lies is sent by get", "[get]")
{
    const Switched on("reset");
    Patient network(for_ever);
    const auto is_get = [&](const Plan &made, bool within = false) {
        Exchange exchange(network, network.a, within ? network.a : network.b, made, 1);
        const bool goes = exchange.get(within);
        if (!goes)
            exchange.send();
        exchange.receive();
        run(network, [&] { return exchange.over(); });
        exchange.check();
        return goes;
    };
    CHECK(is_get(contiguous()));
    CHECK_FALSE(is_get(spaced(device0, device1, bytes)));
    CHECK_FALSE(is_get(plan(dense(pageable, bytes), dense(device1, bytes), bytes)));
    CHECK_FALSE(is_get(plan(dense(managed, bytes), dense(device1, bytes), bytes)));
    CHECK_FALSE(is_get(contiguous(device1, 1000))); /* nothing was sent out of its allocation so
                                                           far */
    CHECK(is_get(spaced(device0, device0, bytes), true));
    for (const int peer : {HEDDLE_PEER_VALUE, HEDDLE_PEER_SHARED}) {
        const size_t c = network.add(port_options(4096, 4, 0, peer, 0, for_ever));
        Exchange exchange(network, c, network.b, contiguous(), 1);
        CHECK_FALSE(exchange.get());
        exchange.begin();
        run(network, [&] { return exchange.over(); });
    }
}

TEST_CASE("to oneself anything may be sent by get", "[get]")
{
    const Switched on("reset reorder=1 delay_us=20");
    for (const gpu::Place to : {device0, device1, pageable, managed}) {
        Patient network(at_once);
        Exchange late(network, network.a, network.a, spaced(device0, to, bytes), 1);
        take_late(network, late, true);
        CHECK(network.bytes_sent() == 0);
        Patient patient(for_ever);
        Exchange soon(patient, patient.a, patient.a, spaced(device0, to, bytes), 2);
        REQUIRE(soon.get(true));
        soon.receive();
        run(patient, [&] { return soon.over(); });
        soon.check();
    }
}

TEST_CASE("what is on its way to oneself is not copied", "[get]")
{
    const Switched on("reset delay_us=3000");
    Patient network(1000);
    Exchange exchange(network, network.a, network.a, spaced(device0, device0, bytes), 1);
    const int64_t before = launches();
    REQUIRE(exchange.get(true));
    exchange.receive();
    run(network, [&] { return exchange.over(); });
    exchange.check();
    CHECK(launches() == before + 1);
}

TEST_CASE("to oneself, received while it is copied", "[get]")
{
    const Switched on("reset delay_us=20000");
    Patient network(at_once);
    Exchange exchange(network, network.a, network.a, spaced(device0, device0, bytes), 1);
    const int64_t before = launches();
    REQUIRE(exchange.get(true));
    network.run_sender([&] { return launches() > before; });
    exchange.receive();
    run(network, [&] { return exchange.over(); });
    exchange.check();
    CHECK(exchange.sent.calls == 1);
}

TEST_CASE("what was withdrawn may be truncated, refused, or never received", "[get]")
{
    const Switched on("reset delay_us=20");
    for (int how = 0; how < 3; ++how) {
        Patient network(at_once);
        Plan made = contiguous();
        made.capacity = how == 0 ? bytes / 3 : bytes;
        Exchange exchange(network, network.a, network.b, made, 1);
        REQUIRE(exchange.get());
        network.run_sender([&] { return exchange.sent.over; });
        exchange.spoil();
        if (how == 0) {
            exchange.receive();
            run(network, [&] { return exchange.received.over; });
            exchange.check();
            CHECK(exchange.received.error == HEDDLE_ERR_TRUNCATE);
        } else if (how == 1) {
            CHECK(heddle_message_refuse(network.port(network.b), network.peer(network.a),
                                        exchange.envelope(), 0) == HEDDLE_SUCCESS);
        }
        const int64_t kept = how == 2; /* somebody may ask for it yet */
        run(network, [&] {
            return network.quiet() && (how == 2 || !*heddle_port_active(network.port(network.a)));
        });
        CHECK(heddle::pipeline::counted(Counter::kept) == kept);
        network.destroy(network.a);
        network.destroy(network.b);
        CHECK(exchange.sent.calls == 1);
        CHECK(exchange.sent.error == HEDDLE_SUCCESS);
        exchange.received.over = true;
    }
}

/* Whether it is pushed before its receiver says so, at the same time, or not at all. */
TEST_CASE("nothing is kept of what its receiver does not want", "[get]")
{
    enum class How { fails, takes_no_bytes, is_refused };
    for (const How how : {How::fails, How::takes_no_bytes, How::is_refused})
        for (const int64_t timeout : {at_once, for_ever})
            for (int turns = 0; turns < 40; ++turns) {
                const Switched on("reset delay_us=20");
                Patient network(timeout);
                Plan made = contiguous();
                made.capacity = how == How::takes_no_bytes ? 0 : bytes;
                Exchange exchange(network, network.a, network.b, made, 1);
                REQUIRE(exchange.get());
                for (int i = 0; i < turns; ++i)
                    network.progress(network.a);
                if (how == How::takes_no_bytes) {
                    exchange.receive();
                } else if (how == How::fails) {
                    network.fails = [](Network::When when, size_t, size_t) {
                        return when == Network::When::placed ? int{HEDDLE_ERR_PEER}
                                                             : HEDDLE_SUCCESS;
                    };
                    gpu::Machine::get().configure("fail=any:1+");
                    exchange.receive();
                } else {
                    CHECK(heddle_message_refuse(network.port(network.b), network.peer(network.a),
                                                exchange.envelope(), 0) == HEDDLE_SUCCESS);
                    exchange.received.over = true;
                }
                run(network, [&] {
                    return exchange.over() && network.quiet() &&
                           !*heddle_port_active(network.port(network.a)) &&
                           !*heddle_port_active(network.port(network.b));
                });
                CHECK(heddle::pipeline::counted(Counter::kept) == 0);
            }
}

TEST_CASE("a port keeps no more than some of what nobody asks for", "[get]")
{
    const Switched on("reset");
    Patient network(at_once);
    std::vector<std::unique_ptr<Exchange>> all;
    int by_get = 0;
    for (int i = 0; i < 3000; ++i) {
        all.push_back(std::make_unique<Exchange>(network, network.a, network.b,
                                                 contiguous(device1, 100000), i));
        network.progress(network.a);
        if (!all.back()->get()) {
            all.back()->sent.over = all.back()->received.over = true; /* it goes another way */
            all.pop_back();
            continue;
        }
        ++by_get;
        network.run_sender([&] { return all.back()->sent.over; });
        while (!network.quiet())
            network.step();
    }
    CHECK(by_get == 64);
    CHECK(heddle::pipeline::counted(Counter::kept) == by_get);
    for (const auto &each : all)
        each->receive();
    run_all(network, all);
    CHECK(heddle::pipeline::counted(Counter::kept) == 0);
    Exchange another(network, network.a, network.b, contiguous(), 1);
    bool again = false;
    for (int i = 0; i < 20 && !again; ++i)
        again = another.get();
    CHECK(again);
    another.receive();
    run(network, [&] { return another.over(); });
}

TEST_CASE("what was pushed is received though its sender's port is gone", "[get]")
{
    const Switched on("reset delay_us=2000");
    Patient network(at_once);
    const Since failed(Counter::failed);
    Exchange exchange(network, network.a, network.b, contiguous(), 1);
    REQUIRE(exchange.get());
    network.run_sender([&] { return exchange.sent.over; });
    exchange.spoil();
    network.destroy(network.a);
    while (network.step())
        ;
    exchange.receive();
    network.run_receiver([&] { return exchange.received.over; }, network.b);
    exchange.check();
    CHECK(exchange.sent.error == HEDDLE_SUCCESS);
    CHECK(exchange.received.error == HEDDLE_SUCCESS);
    CHECK(failed.now() == 0);
}

TEST_CASE("where it cannot be copied, it waits for its receiver", "[get]")
{
    const Switched on("reset fail=execute:1");
    Patient network(at_once);
    const Counts counts;
    Exchange exchange(network, network.a, network.b, contiguous(), 1);
    get_until_copied(network, exchange);
    for (int i = 0; i < 1000; ++i)
        network.progress(network.a);
    CHECK(!exchange.sent.over);
    exchange.receive();
    run(network, [&] { return exchange.over(); });
    exchange.check();
    CHECK(exchange.sent.error == HEDDLE_SUCCESS);
    CHECK(counts.claimed.now() == 1);
    CHECK(counts.withdrawn.now() == 0);
}

TEST_CASE("where it cannot be copied, and its receiver cannot read it, both ends hear of it",
          "[get]")
{
    const Switched on("reset fail=execute:1+");
    Patient network(for_ever);
    Exchange exchange(network, network.a, network.b, contiguous(pageable), 1);
    exchange_at_once(network, exchange);
    CHECK(exchange.sent.error == HEDDLE_ERR_DEVICE);
    CHECK(exchange.received.error == HEDDLE_ERR_PEER);
    CHECK(exchange.sent.calls == 1);
}

/* The simulated device stays failed, as a GPU does. */
TEST_CASE("a receiver whose device fails keeps nobody", "[get]")
{
    const Switched on("reset fail=execute:1");
    Patient network(for_ever);
    Exchange exchange(network, network.a, network.b, contiguous(), 1);
    exchange_at_once(network, exchange);
    CHECK(exchange.sent.error == HEDDLE_SUCCESS); /* it was pushed */
    CHECK(exchange.received.error == HEDDLE_ERR_DEVICE);
}

TEST_CASE("what can neither be read nor copied fails at both ends", "[get]")
{
    const Switched on("reset fail=execute:1+");
    Patient network(for_ever);
    Exchange exchange(network, network.a, network.b, contiguous(), 1);
    exchange_at_once(network, exchange);
    CHECK(exchange.sent.error == HEDDLE_ERR_DEVICE);
    CHECK(exchange.received.error == HEDDLE_ERR_PEER);
}

/* What is not dense is packed in exported memory first, if an RTR may follow. */
static bool get_packed(Exchange &exchange)
{
    return exchange.get(false, HEDDLE_MESSAGE_PERSISTENT);
}

constexpr int64_t few = 40000; /* one chunk */

static Plan scattered(gpu::Place to = device1)
{
    return plan(blocks(device0, few), blocks(to, few), few);
}

TEST_CASE("a persistent message that is not dense is packed, and read there", "[get]")
{
    for (const char *switches : {"reset", "reset reorder=1 delay_us=20", "reset delay_us=2000"}) {
        const Switched on(switches);
        Patient network(for_ever);
        const Counts counts;
        for (int i = 0; i < 5; ++i) {
            Exchange exchange(network, network.a, network.b, scattered(), i);
            CHECK(!exchange.get()); /* others are not */
            REQUIRE(get_packed(exchange));
            exchange.receive();
            run(network, [&] { return exchange.over(); });
            exchange.check();
            CHECK(exchange.sent.calls == 1);
            CHECK(exchange.sent.bytes == few);
        }
        CHECK(counts.claimed.now() == 5);
        CHECK(counts.in_place.now() == 0);
        CHECK(network.bytes_sent() == 0);
    }
}

TEST_CASE("a packed get is read as a whole, however short its receiver's chunks are", "[get]")
{
    const Switched on("reset");
    Patient network(for_ever);
    const size_t sender = network.add(port_options(1 << 20, 4, 0, HEDDLE_PEER_AUTO, 0, for_ever));
    constexpr int64_t several = 2 * Two::exported; /* of the receiver's chunks */
    const Plan plan_of_several = plan(blocks(device0, several), blocks(device1, several), several);
    for (int i = 0; i < 2; ++i) {
        Exchange exchange(network, sender, network.b, plan_of_several, i);
        REQUIRE(get_packed(exchange));
        exchange.receive();
        run(network, [&] { return exchange.over(); });
        exchange.check();
        CHECK(exchange.sent.error == HEDDLE_SUCCESS);
    }
    CHECK(network.bytes_sent() == 0);
}

TEST_CASE("several at a time are packed, and read there", "[get]")
{
    const Switched on("reset delay_us=20");
    Patient network(for_ever);
    const Counts counts;
    std::vector<std::unique_ptr<Exchange>> all;
    for (int i = 0; i < 8; ++i) {
        all.push_back(std::make_unique<Exchange>(network, network.a, network.b, scattered(), i));
        REQUIRE(get_packed(*all.back()));
    }
    for (const auto &each : all)
        each->receive();
    end_many(network, all);
    CHECK(counts.claimed.now() == 8);
}

/* Its receive is posted once the sender's time-out has passed, or never; or while it packs. */
TEST_CASE("a packed get that nobody reads in time is copied", "[get]")
{
    for (const char *switches : {"reset", "reset delay_us=5000"})
        for (const gpu::Place to : {device0, device1, pageable, managed}) {
            const Switched on(switches);
            Patient network(at_once);
            const Counts counts;
            Exchange exchange(network, network.a, network.b, scattered(to), 1);
            REQUIRE(get_packed(exchange));
            network.run_sender([&] { return exchange.sent.over; });
            exchange.spoil();
            exchange.receive();
            network.run_receiver([&] { return exchange.received.over; }, network.b);
            exchange.check();
            CHECK(exchange.sent.calls == 1);
            CHECK(counts.withdrawn.now() == 1);
            CHECK(network.bytes_sent() == few);
        }
}

/* Its caller may free the buffer once it is copied, and the pack reads that. */
TEST_CASE("a packed get is not copied before it is packed", "[get]")
{
    const Switched on("reset delay_us=50000");
    Patient network(at_once);
    Exchange exchange(network, network.a, network.b, scattered(), 1);
    const int64_t before = launches();
    REQUIRE(get_packed(exchange));
    for (int i = 0; i < 1000; ++i)
        network.progress(network.a);
    CHECK(launches() - before == 1);
    network.run_sender([&] { return exchange.sent.over; });
    CHECK(launches() - before == 2);
    exchange.receive();
    network.run_receiver([&] { return exchange.received.over; }, network.b);
    exchange.check();
}

TEST_CASE("a packed get into memory that cannot read it is copied", "[get]")
{
    const Switched on("reset delay_us=20");
    for (const gpu::Place to : {pageable, managed}) {
        Patient network(for_ever);
        Exchange exchange(network, network.a, network.b, scattered(to), 1);
        REQUIRE(get_packed(exchange));
        exchange.receive();
        run(network, [&] { return exchange.over(); });
        exchange.check();
        CHECK(exchange.sent.error == HEDDLE_SUCCESS);
    }
}

TEST_CASE("a packed get that cannot be copied is read where it was packed", "[get]")
{
    const Switched on("reset fail=execute:2");
    Patient network(at_once);
    const Counts counts;
    Exchange exchange(network, network.a, network.b, scattered(), 1);
    const auto executed = [] { return gpu::Machine::get().count("execute"); };
    const int64_t before = executed();
    REQUIRE(get_packed(exchange));
    network.run_sender([&] { return executed() == before + 2; });
    for (int i = 0; i < 1000; ++i)
        network.progress(network.a);
    CHECK(!exchange.sent.over);
    exchange.receive();
    run(network, [&] { return exchange.over(); });
    exchange.check();
    CHECK(exchange.sent.error == HEDDLE_SUCCESS);
    CHECK(counts.claimed.now() == 1);
}

TEST_CASE("a packed get ends if its receiver's port goes", "[get]")
{
    const Switched on("reset delay_us=5000");
    Patient network(for_ever);
    Exchange exchange(network, network.a, network.b, scattered(), 1);
    REQUIRE(get_packed(exchange));
    const auto packed = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
    network.run_sender([&] { return std::chrono::steady_clock::now() > packed; });
    exchange.receive(); /* it reads */
    network.destroy(network.b);
    run(network, [&] { return exchange.sent.over; });
    CHECK(exchange.sent.calls == 1);
    CHECK(exchange.received.error == HEDDLE_ERR_PEER);
}

TEST_CASE("a packed get may be truncated, refused, abandoned, or meet a failing device", "[get]")
{
    for (int how = 0; how < 4; ++how)
        for (const int64_t timeout : {at_once, for_ever})
            for (int turns = 0; turns < 20; ++turns) {
                INFO("how " << how << ", time-out " << timeout << ", turns " << turns);
                const Switched on(how == 3 ? "reset delay_us=20 fail=execute:1"
                                           : "reset delay_us=20");
                Patient network(timeout);
                Plan made = scattered();
                made.capacity = how == 0 ? few / 3 : few;
                Exchange exchange(network, network.a, network.b, made, 1);
                REQUIRE(get_packed(exchange));
                for (int i = 0; i < turns; ++i)
                    network.progress(network.a);
                if (how == 1)
                    CHECK(heddle_message_refuse(network.port(network.b), network.peer(network.a),
                                                exchange.envelope(),
                                                HEDDLE_ERR_BUFFER) == HEDDLE_SUCCESS);
                else if (how == 2 && !exchange.sent.over)
                    heddle_message_abandon(network.port(network.a), exchange.message(),
                                           HEDDLE_ERR_PEER);
                else
                    exchange.receive();
                run(network, [&] {
                    return exchange.sent.over && (how == 1 || how == 2 || exchange.received.over);
                });
                CHECK(exchange.sent.calls == 1);
                if (how == 0) {
                    CHECK(exchange.received.error == HEDDLE_ERR_TRUNCATE);
                    exchange.check();
                } else if (how == 3) {
                    const bool right = exchange.received.error == HEDDLE_SUCCESS;
                    CHECK((right || exchange.sent.error || exchange.received.error));
                    if (right)
                        exchange.check();
                }
                network.destroy(network.a);
                network.destroy(network.b);
                exchange.received.over = true;
            }
}

TEST_CASE("a port that goes tells who waits for its gets", "[get]")
{
    const Switched on("reset delay_us=20000");
    Patient network(for_ever);
    Exchange exchange(network, network.a, network.b, contiguous(pageable), 1);
    REQUIRE(exchange.get());
    exchange.receive();
    while (network.step()) /* the answer */
        network.progress(network.b);
    network.destroy(network.a);
    network.run_receiver([&] { return exchange.received.over; }, network.b);
    CHECK(exchange.sent.error == HEDDLE_ERR_PEER);
    CHECK(exchange.received.error == HEDDLE_ERR_PEER);
}

TEST_CASE("who is lost while a get waits, or is copied, ends it once", "[get]")
{
    for (const int64_t timeout : {at_once, for_ever}) {
        const Switched on("reset delay_us=2000");
        Patient network(timeout);
        Exchange exchange(network, network.a, network.b, contiguous(), 1);
        REQUIRE(exchange.get());
        for (int i = 0; i < 20; ++i)
            network.progress(network.a);
        heddle_port_lost(network.port(network.a), nullptr, HEDDLE_ERR_PEER);
        network.run_sender([&] { return exchange.sent.over; });
        CHECK(exchange.sent.error == HEDDLE_ERR_PEER);
        CHECK(exchange.sent.calls == 1);
    }
}

TEST_CASE("what is sent while a get waits is not sent by get", "[get]")
{
    const Switched on("reset");
    Patient network(for_ever);
    Exchange first(network, network.a, network.b, contiguous(), 1),
        second(network, network.a, network.b, contiguous(), 2),
        third(network, network.a, network.b, contiguous(), 3);
    CHECK(first.get());
    CHECK_FALSE(second.get());
    second.send();
    first.receive();
    second.receive();
    run(network, [&] { return first.over() && second.over(); });
    first.check();
    second.check();
    CHECK(third.get());
    third.receive();
    run(network, [&] { return third.over(); });
    third.check();
}

/* Readers and copies meet at any time; senders use their buffers again as soon as they may. */
TEST_CASE("many messages by get, with any time-out, received at any time", "[get]")
{
    oracle::Rng rng(20261122);
    for (int round = 0; round < 60; ++round) {
        const uint64_t seed = rng.next();
        INFO("seed " << seed);
        oracle::Rng of(seed);
        const Switched on(of.percent(50) ? "reset reorder=1 delay_us=30" : "reset delay_us=100");
        const int64_t timeout = of.in(1, 400);
        Patient network(timeout);
        std::vector<std::unique_ptr<Exchange>> all;
        std::vector<bool> spoilt, received;
        for (int i = 0; i < 12; ++i) {
            const gpu::Place to = of.percent(70) ? device1 : pageable;
            const size_t from =
                network.add(port_options(Two::chunk, 4, 0, HEDDLE_PEER_AUTO, 0, timeout));
            const bool within = of.percent(20);
            const int64_t length = 65536 + of.scaled(60000);
            all.push_back(std::make_unique<Exchange>(network, from, within ? from : network.b,
                                                     contiguous(to, length), of.next()));
            REQUIRE(all.back()->get(within));
            spoilt.push_back(false);
            received.push_back(false);
        }
        run(network, [&] {
            bool over = true;
            for (size_t i = 0; i < all.size(); ++i) {
                if (all[i]->sent.over && !spoilt[i]) {
                    all[i]->spoil();
                    spoilt[i] = true;
                }
                if (!received[i] && of.percent(3)) {
                    all[i]->receive();
                    received[i] = true;
                }
                over = over && all[i]->over();
            }
            return over;
        });
        for (const auto &exchange : all) {
            exchange->check();
            CHECK(exchange->sent.calls == 1);
            CHECK(exchange->sent.error == HEDDLE_SUCCESS);
        }
    }
}

TEST_CASE("bad arguments of a get", "[get]")
{
    const Switched on("reset");
    Patient network(for_ever);
    Exchange exchange(network, network.a, network.b, contiguous(), 1);
    char memory[64] = {}, envelope[HEDDLE_ENVELOPE_BYTES];
    const auto ended = [](void *, int, int64_t) {};
    const heddle_side side{memory, 64, heddle_type_predefined(HEDDLE_BYTE), 0};
    heddle_port *const port = network.port(network.a);
    int by_get = 7;
    CHECK(get_message(port, nullptr, 1, &side, 65, 0, 0, envelope, ended, nullptr, nullptr,
                      &by_get) == HEDDLE_ERR_RANGE);
    CHECK(by_get == 0);
    CHECK(get_message(port, nullptr, 1, nullptr, 64, 0, 0, envelope, ended, nullptr, nullptr,
                      &by_get) == HEDDLE_ERR_ARG);
    CHECK(get_message(nullptr, nullptr, 1, &side, 64, 0, 0, envelope, ended, nullptr, nullptr,
                      &by_get) == HEDDLE_ERR_ARG);
    exchange.begin();
    run(network, [&] { return exchange.over(); });
}

TEST_CASE("inside: a process that has no descriptor free for its first get", "[.][inside]")
{
    Patient network(for_ever);
    const Counts counts;
    Exchange exchange(network, network.a, network.b, contiguous(), 1);
    REQUIRE(heddle::pipeline::process_id().node); /* is known from MPI_Init on */
    CHECK(!without_descriptors([] { return heddle::pipeline::own_slots(); }));
    exchange_at_once(network, exchange);
    CHECK(counts.claimed.now() == 1);
}

TEST_CASE("a process that has no descriptor free sends by get later", "[get]")
{
    CHECK(run_inside("inside: a process that has no descriptor free for its first get") == 0);
}
