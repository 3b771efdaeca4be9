/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processes that are killed amid a message: that is seen, and what waits for them ends; and ports
 * whose transport has memory of messages to somebody who is gone.
 */
#include "processes.hpp"
#include "two.hpp"

#include "pipeline/peer_memory/process.hpp"

#include <algorithm>
#include <csignal>
#include <sys/resource.h>

using namespace pipeline_test;

namespace {

constexpr gpu::Place device0{gpu::Kind::device, 0}, device1{gpu::Kind::device, 1};
constexpr int64_t chunk = Wire::chunk, bytes = 100 * chunk;

/* One buffer of bytes with gaps, or dense. */
struct Side {
    Side(gpu::Place place, bool is_dense)
        : spec(is_dense ? dense(place, bytes) : blocks(place, bytes)),
          type(oracle::build(*spec.type).commit()),
          memory(place, size_t{3} * bytes),
          side{memory.at(), spec.count, type.get(), 0}
    {
    }
    const gpu::SideSpec spec;
    const oracle::Type type;
    const gpu::Memory memory;
    const heddle_side side;
};

int peer_of(const char *name) { return std::atoi(name); }

/* The process that is killed: begins one end of a message, goes on for a while, and is gone. */
[[noreturn]] void begin_and_die(bool sends, int steps)
{
    Wire wire(other_socket(), peer_of(std::getenv("HEDDLE_TEST_PEER")));
    heddle_process self;
    heddle_process_self(&self);
    wire.write(nullptr, 0, &self, sizeof self);
    const Side own(other_device(), std::getenv("HEDDLE_TEST_DENSE") != nullptr);
    char envelope[HEDDLE_ENVELOPE_BYTES];
    End end;
    if (sends) {
        gpu::succeeds(send_message(wire.port, nullptr, &own.side, bytes, 0, 0, envelope, ended,
                                   &end, nullptr),
                      "send_message");
        wire.write(nullptr, 0, envelope, sizeof envelope);
    } else {
        const std::vector<char> met = wire.next_envelope();
        gpu::succeeds(
            receive_message(wire.port, nullptr, met.data(), &own.side, bytes, nullptr, ended, &end),
            "receive_message");
    }
    wire.run([&] { return steps-- == 0; });
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

/* The survivor's end of it. Whoever was quick enough has the message. */
void outlive(const char *test, bool sends, bool is_dense, int peer)
{
    setenv("HEDDLE_TEST_PEER", std::to_string(peer).c_str(), 1);
    is_dense ? setenv("HEDDLE_TEST_DENSE", "1", 1) : unsetenv("HEDDLE_TEST_DENSE");
    const Other other(test, 0, "reset");
    Wire wire(other.socket(), peer);
    const std::vector<char> name = wire.next_envelope();
    heddle_process process;
    REQUIRE(name.size() == sizeof process);
    std::memcpy(&process, name.data(), sizeof process);
    int gone = -1;
    REQUIRE(heddle_process_ended(&process, &gone) == HEDDLE_SUCCESS);
    const Side own(device0, is_dense);
    End end;
    if (sends) {
        char envelope[HEDDLE_ENVELOPE_BYTES];
        gpu::succeeds(send_message(wire.port, nullptr, &own.side, bytes, 0, 0, envelope, ended,
                                   &end, nullptr),
                      "send_message");
        wire.write(nullptr, 0, envelope, sizeof envelope);
    } else {
        const std::vector<char> met = wire.next_envelope();
        gpu::succeeds(
            receive_message(wire.port, nullptr, met.data(), &own.side, bytes, nullptr, ended, &end),
            "receive_message");
    }
    int more = 100; /* what it sent comes first */
    wire.run([&] {
        REQUIRE(heddle_process_ended(&process, &gone) == HEDDLE_SUCCESS);
        if (gone && --more == 0)
            heddle_port_lost(wire.port, nullptr, HEDDLE_ERR_LOST);
        return end.over && gone;
    });
    CHECK(end.calls == 1);
    CHECK((end.error == HEDDLE_ERR_LOST || end.error == HEDDLE_ERR_PEER ||
           (end.error == HEDDLE_SUCCESS && end.bytes == bytes)));
    CHECK(gone == 1);
}

} // namespace

TEST_CASE("inside: a sender that is killed at once", "[.][inside]") { begin_and_die(true, 0); }
TEST_CASE("inside: a sender that is killed", "[.][inside]") { begin_and_die(true, 40); }
TEST_CASE("inside: a receiver that is killed at once", "[.][inside]") { begin_and_die(false, 0); }
TEST_CASE("inside: a receiver that is killed", "[.][inside]") { begin_and_die(false, 40); }

TEST_CASE("what waits for a process that was killed ends", "[lost][processes]")
{
    const Switched on("reset delay_us=200");
    for (const int peer : all_peers)
        for (const bool is_dense : {false, true}) {
            outlive("inside: a sender that is killed at once", false, is_dense, peer);
            outlive("inside: a sender that is killed", false, is_dense, peer);
            outlive("inside: a receiver that is killed at once", true, is_dense, peer);
            outlive("inside: a receiver that is killed", true, is_dense, peer);
        }
}

TEST_CASE("whether a process lives", "[lost]")
{
    heddle_process self;
    heddle_process_self(&self);
    int gone = -1;
    CHECK(heddle_process_ended(nullptr, &gone) == HEDDLE_ERR_ARG);
    CHECK(heddle_process_ended(&self, nullptr) == HEDDLE_ERR_ARG);
    CHECK(heddle_process_ended(&self, &gone) == HEDDLE_SUCCESS);
    CHECK(gone == 0);
    int pipes[2];
    REQUIRE(pipe(pipes) == 0);
    const pid_t child = fork();
    if (child == 0) {
        heddle_process own;
        heddle_process_self(&own);
        _exit(write(pipes[1], &own, sizeof own) == sizeof own ? (pause(), 0) : 1);
    }
    heddle_process process;
    REQUIRE(read(pipes[0], &process, sizeof process) == sizeof process);
    CHECK(heddle_process_ended(&process, &gone) == HEDDLE_SUCCESS);
    CHECK(gone == 0);
    heddle_process elsewhere = process;
    elsewhere.node ^= 2;
    kill(child, SIGKILL);
    for (int i = 0; i < 1000 && !gone; ++i) {
        usleep(1000);
        CHECK(heddle_process_ended(&process, &gone) == HEDDLE_SUCCESS);
    }
    CHECK(gone == 1); /* though nobody has asked for its status */
    CHECK(heddle_process_ended(&elsewhere, &gone) == HEDDLE_SUCCESS);
    CHECK(gone == 0);
    waitpid(child, nullptr, 0);
    CHECK(heddle_process_ended(&process, &gone) == HEDDLE_SUCCESS);
    CHECK(gone == 1);
    close(pipes[0]);
    close(pipes[1]);
}

/* The transport holds on to what it was given. */
TEST_CASE("memory that a transport has for somebody who is gone comes back", "[lost]")
{
    const Switched on("reset");
    for (int steps = 0; steps < 60; steps += 4) {
        Two network(HEDDLE_PEER_VALUE);
        Exchange exchange(network, network.a, network.b, spaced(device0, device1, 40 * Two::chunk),
                          1);
        exchange.begin();
        for (int i = 0; i < steps; ++i) {
            network.progress(network.a);
            network.progress(network.b);
            network.step();
        }
        network.holds = [](size_t) { return true; };
        for (const size_t end : {network.a, network.b})
            heddle_port_lost(network.port(end),
                             network.peer(end == network.a ? network.b : network.a),
                             HEDDLE_ERR_LOST);
        run(network, [&] { return exchange.over(); });
        network.holds = nullptr;
        while (network.step()) /* what it says of it later is no matter */
            ;
    }
}

/* While the port goes on with several messages from one peer, because another one is lost; and what
 * it sent by get to a third one has just been read. */
TEST_CASE("a transport finds out while it sends that a peer is gone", "[lost]")
{
    const Switched on("reset");
    constexpr int64_t length = 40 * Two::chunk, for_ever = 100000000;
    for (int at = 1; at <= 20; ++at) {
        INFO("at send " << at);
        Two network(HEDDLE_PEER_AUTO, Two::chunk, HEDDLE_PEER_DEFAULT, 0, for_ever);
        const size_t sender = network.add(), gone = network.add(), idle = network.add();
        heddle_port *const port = network.port(network.a);
        std::vector<std::unique_ptr<Exchange>> living, dead;
        const auto add = [&](auto &to, size_t from, size_t into, const Plan &made) -> Exchange & {
            to.push_back(std::make_unique<Exchange>(network, from, into, made, to.size()));
            return *to.back();
        };
        const auto go_on = [&] {
            heddle_port_lost(port, network.peer(idle), HEDDLE_ERR_PEER);
            while (network.step())
                ;
        };
        for (int i = 0; i < 4; ++i) {
            add(dead, network.a, gone, spaced(device0, device1, length)).begin();
            Exchange &read = add(living, network.a, network.b,
                                 plan(dense(device0, length), blocks(device1, length), length));
            REQUIRE(read.get(false, HEDDLE_MESSAGE_PERSISTENT));
            read.receive();
        }
        for (int i = 0; i < 8; ++i)
            go_on();
        for (int i = 0; i < 4; ++i)
            add(living, sender, network.a, spaced(device0, {}, length)).begin();
        int left = at;
        network.fails = [&](Network::When now, size_t from, size_t) {
            if (now == Network::When::send && from == network.a && --left == 0) {
                for (int i = 0; i < 20; ++i)
                    network.progress(network.b);
                heddle_port_lost(port, network.peer(gone), HEDDLE_ERR_PEER);
            }
            return HEDDLE_SUCCESS;
        };
        for (int i = 0; i < 100 && left > 0; ++i) {
            network.progress(sender);
            go_on();
        }
        run_all(network, living);
        for (const auto &each : living)
            each->check();
        network.fails = nullptr;
        heddle_port_lost(network.port(gone), nullptr, HEDDLE_ERR_PEER);
        run_all(network, dead);
    }
}

TEST_CASE("the oldest message that was not answered", "[lost]")
{
    Two network(HEDDLE_PEER_VALUE);
    heddle_unmatched found{sizeof found, 0, nullptr, 0, 0};
    heddle_port *const port = network.port(network.a);
    CHECK(heddle_port_unmatched(port, nullptr) == HEDDLE_ERR_ARG);
    CHECK(heddle_port_unmatched(nullptr, &found) == HEDDLE_ERR_ARG);
    CHECK(heddle_port_unmatched(port, &found) == HEDDLE_ERR_RANGE);
    Exchange first(network, network.a, network.b, spaced(device0, device1, 20000), 1),
        second(network, network.a, network.b, spaced(device0, device1, 30000), 2);
    first.send(5);
    second.send(6);
    first.receive();
    run(network, [&] { return first.over(); });
    REQUIRE(heddle_port_unmatched(port, &found) == HEDDLE_SUCCESS);
    CHECK(found.message == second.message());
    CHECK(found.peer == network.peer(network.b));
    CHECK(found.key == 6);
    CHECK(found.bytes == 30000);
    CHECK(heddle_message_abandon(port, found.message, HEDDLE_ERR_PEER) == HEDDLE_SUCCESS);
    CHECK(heddle_port_unmatched(port, &found) == HEDDLE_ERR_RANGE);
    run(network, [&] { return second.sent.over; });
    second.received.over = true;
}

/* A file as long as chunks in shared memory need would end the program. */
TEST_CASE("inside: files may not be long", "[.][inside]")
{
    travels(Two(HEDDLE_PEER_VALUE), spaced(device0, device1, 40 * Two::chunk)); /* the simulated
                                                                                   device has its
                                                                                   own files then */
    const rlimit most{rlim_t{1} << 20, rlim_t{1} << 20};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &most) == 0);
    Two network(HEDDLE_PEER_SHARED);
    pass(network, spaced(device0, device1, 40 * Two::chunk)); /* finds it out */
    travels(Two(HEDDLE_PEER_SHARED), spaced(device0, device1, 40 * Two::chunk));
}
TEST_CASE("where files may not be long chunks travel", "[shared]")
{
    CHECK(run_inside("inside: files may not be long") == 0);
}
