/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two processes, a socket between them: device memory that one exports and the other opens.
 */
#include "exchange.hpp"
#include "processes.hpp"

#include "pipeline/counters.hpp"
#include "pipeline/peer_memory/process.hpp"
#include "pipeline/peer_memory/slots.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

using namespace pipeline_test;
using heddle::pipeline::counted;
using heddle::pipeline::Counter;

namespace {

constexpr gpu::Place device0{gpu::Kind::device, 0};
constexpr int64_t chunk = Wire::chunk, bytes = 200 * chunk + 1000, block = 24;

/* What passes between the two. */
struct Traffic {
    const char *receiver; /* the test that the receiving process runs */
    int messages;
    int64_t gap;                 /* between blocks; 0: dense */
    int peer = HEDDLE_PEER_AUTO; /* at the sender */
    bool keeps = true;           /* otherwise each message is in memory of its own */
    bool gets = false;
    int64_t timeout = 100000000; /* microseconds */
    bool frees = true;           /* what a message was in, before the next */
    size_t room = 0;             /* at least so much is allocated for one */
    const Traffic *then = nullptr;
    int late_ms = 0;             /* the receiver, once it has asked where a message is */
    bool has_descriptors = true; /* the receiver, free when it first looks for slots */

    int64_t stride() const { return block + gap; }
    int64_t blocks() const { return (bytes + block - 1) / block; }
    int64_t count() const { return gap ? blocks() : bytes; } /* of type_of() */
};
constexpr Traffic spaced{"inside: the receiving process", 3, block};
constexpr Traffic dense_ones{"inside: the process that receives dense messages", 24, 0,
                             HEDDLE_PEER_AUTO, false};
constexpr Traffic dense_apart{
    .receiver = "inside: the process that receives dense messages from everywhere",
    .messages = 24,
    .gap = 0,
    .keeps = false,
    .frees = false};
constexpr Traffic dense_again{"inside: the process that receives out of one buffer", 5, 0};
constexpr Traffic by_get{"inside: the process that claims", 5, 0, HEDDLE_PEER_AUTO, true, true};
constexpr Traffic racing{
    "inside: the process that may be late", 60, 0, HEDDLE_PEER_AUTO, true, true, 200};
constexpr Traffic taken_back{.receiver = "inside: the process that learns too late where it is",
                             .messages = 1,
                             .gap = 0,
                             .gets = true,
                             .timeout = 20000,
                             .late_ms = 1000};
constexpr Traffic out_of_sight{
    "inside: the process that can claim nothing", 5, 0, HEDDLE_PEER_AUTO, true, true};
constexpr Traffic starved{.receiver = "inside: the process that has no descriptor free at first",
                          .messages = 5,
                          .gap = 0,
                          .gets = true,
                          .has_descriptors = false};
constexpr Traffic freed_before{
    .receiver = "inside: the process that reads what is exported where a buffer was",
    .messages = 2,
    .gap = 0,
    .room = size_t{24} << 20,
    .then = &spaced};
constexpr Traffic in_host_memory{"inside: the process that maps memory", 3, block,
                                 HEDDLE_PEER_SHARED};

oracle::Type type_of(const Traffic &traffic)
{
    const gpu::SideSpec spec = traffic.gap ? blocks(device0, bytes, block) : dense(device0, bytes);
    return oracle::build(*spec.type).commit();
}

/* What a side's memory holds. */
std::vector<char> spread(const Traffic &traffic, int message)
{
    std::vector<char> memory(static_cast<size_t>(traffic.blocks() * traffic.stride()), 'g');
    for (int64_t x = 0; x < bytes; ++x)
        memory[static_cast<size_t>(x / block * traffic.stride() + x % block)] = byte_at(message, x);
    return memory;
}

void send_all(Wire &wire, const Traffic &traffic)
{
    const oracle::Type type = type_of(traffic);
    std::deque<gpu::Memory> all;
    for (int message = 0; message < traffic.messages; ++message) {
        const std::vector<char> contents = spread(traffic, message);
        if (traffic.frees && !traffic.keeps)
            all.clear(); /* the next has its address */
        if (all.empty() || !traffic.keeps)
            all.emplace_back(device0, std::max(contents.size(), traffic.room));
        gpu::Memory &memory = all.back();
        const heddle_side side{memory.at(), traffic.count(), type.get(), 0};
        memory.write(0, contents.data(), contents.size());
        char envelope[HEDDLE_ENVELOPE_BYTES];
        End end;
        int by_get = 0;
        if (traffic.gets)
            gpu::succeeds(get_message(wire.port, nullptr, 0, &side, bytes, 0, 0, envelope, ended,
                                      &end, nullptr, &by_get),
                          "get_message");
        if (!by_get)
            gpu::succeeds(send_message(wire.port, nullptr, &side, bytes, 0, 0, envelope, ended,
                                       &end, nullptr),
                          "send_message");
        wire.write(nullptr, 0, envelope, sizeof envelope);
        wire.rests = traffic.late_ms > 0; /* no time passes before the receiver has asked */
        if (wire.rests)
            wire.run([&] { return wire.headers_read > 0; });
        wire.rests = false;
        wire.run([&] { return end.over; });
        CHECK(end.error == HEDDLE_SUCCESS);
    }
}

/* For the slots of who sent it. */
void look_in_vain(const void *raw)
{
    using namespace heddle::pipeline;
    Envelope envelope;
    REQUIRE(!read_envelope(raw, envelope));
    REQUIRE(process_id().node); /* is known from MPI_Init on */
    CHECK(!without_descriptors([&] { return slots_of(envelope.process); }));
}

void receive_all(Wire &wire, const Traffic &traffic)
{
    const oracle::Type type = type_of(traffic);
    const gpu::Memory memory(other_device(), spread(traffic, 0).size());
    const heddle_side side{memory.at(), traffic.count(), type.get(), 0};
    std::vector<char> got(memory.size());
    for (int message = 0; message < traffic.messages; ++message) {
        const std::vector<char> gaps(memory.size(), 'g');
        memory.write(0, gaps.data(), gaps.size());
        const std::vector<char> envelope = wire.next_envelope();
        if (!traffic.has_descriptors && message == 0)
            look_in_vain(envelope.data());
        End end;
        gpu::succeeds(receive_message(wire.port, nullptr, envelope.data(), &side, bytes, nullptr,
                                      ended, &end),
                      "receive_message");
        usleep(static_cast<useconds_t>(traffic.late_ms * 1000));
        wire.run([&] { return end.over; });
        CHECK(end.error == HEDDLE_SUCCESS);
        memory.read(0, got.data(), got.size());
        CHECK(got == spread(traffic, message));
    }
}

/* How many of the messages are exported at first (-1: who knows), and by how many of them the
 * receiver finds that it cannot import. */
void between_processes(const Traffic &traffic, int device, const char *switches, int64_t exported,
                       int64_t fallbacks)
{
    setenv("HEDDLE_TEST_FALLBACKS", std::to_string(fallbacks).c_str(), 1);
    const Other other(traffic.receiver, device, switches);
    const Counter counter =
        traffic.peer == HEDDLE_PEER_SHARED ? Counter::sent_shared : Counter::sent_by_reference;
    Wire wire(other.socket(), traffic.peer, traffic.timeout);
    const int64_t before = counted(counter), in_place = counted(Counter::sent_in_place);
    send_all(wire, traffic);
    if (traffic.then)
        send_all(wire, *traffic.then);
    if (exported >= 0)
        CHECK(counted(counter) - before == exported);
    if (!traffic.gap && traffic.keeps && exported == traffic.messages && !fallbacks) /* the first
                                                                                    one's answer,
                                                                                    and that it was
                                                                                    read */
        CHECK(wire.headers_read == 1 + (traffic.gets ? 0 : 1));
    if (exported >= 0)
        CHECK(counted(Counter::sent_in_place) - in_place == (traffic.gap ? 0 : exported));
    other.check_end();
}

} // namespace

namespace {

/* The receiving process. True where nothing had to come anew. */
bool receive_as_lent(const Traffic &traffic)
{
    const char *const fallbacks = std::getenv("HEDDLE_TEST_FALLBACKS");
    REQUIRE(fallbacks);
    Wire wire(other_socket(), HEDDLE_PEER_AUTO);
    receive_all(wire, traffic);
    if (traffic.then)
        receive_all(wire, *traffic.then);
    CHECK(counted(Counter::fallbacks) == std::atoi(fallbacks));
    return !counted(Counter::fallbacks);
}

} // namespace

TEST_CASE("inside: the receiving process", "[.][inside]")
{
    if (receive_as_lent(spaced)) /* opened once, for all messages */
        CHECK(gpu::Machine::get().count("import_memory") == 1);
}

/* Each message is in memory of its own, where the last one's was: while that is open, this cannot
 * be opened. */
TEST_CASE("inside: the process that receives dense messages", "[.][inside]")
{
    if (!receive_as_lent(dense_ones))
        return;
    CHECK(gpu::Machine::get().count("import_memory") == 24);
    CHECK(gpu::Machine::get().count("close_memory") == 23);
}

/* The same, each somewhere else; of 24, this one keeps 16 open. */
TEST_CASE("inside: the process that receives dense messages from everywhere", "[.][inside]")
{
    if (!receive_as_lent(dense_apart))
        return;
    CHECK(gpu::Machine::get().count("import_memory") == 24);
    CHECK(gpu::Machine::get().count("close_memory") == 8);
}

/* Its sender has exported nothing before, and does now, in memory that the device gives it in the
 * place of what it has freed. */
TEST_CASE("inside: the process that reads what is exported where a buffer was", "[.][inside]")
{
    receive_as_lent(freed_before);
}

TEST_CASE("inside: the process that receives out of one buffer", "[.][inside]")
{
    if (receive_as_lent(dense_again))
        CHECK(gpu::Machine::get().count("import_memory") == 1);
}

TEST_CASE("inside: the process that claims", "[.][inside]")
{
    receive_as_lent(by_get);
    CHECK(counted(Counter::claimed) == by_get.messages);
}

TEST_CASE("inside: the process that may be late", "[.][inside]") { receive_as_lent(racing); }

/* Its sender has the memory back, and may have freed it. */
TEST_CASE("inside: the process that learns too late where it is", "[.][inside]")
{
    receive_as_lent(taken_back);
    CHECK(gpu::Machine::get().count("import_memory") == 0);
    CHECK(counted(Counter::received_by_value) == 1);
}

TEST_CASE("inside: the process that can claim nothing", "[.][inside]")
{
    receive_as_lent(out_of_sight);
    CHECK(counted(Counter::claimed) == 0);
    CHECK(counted(Counter::received_by_value) == 1);
}

TEST_CASE("inside: the process that has no descriptor free at first", "[.][inside]")
{
    receive_as_lent(starved);
    CHECK(counted(Counter::claimed) == starved.messages);
}

TEST_CASE("inside: the process that maps memory", "[.][inside]")
{
    receive_as_lent(in_host_memory);
    CHECK(gpu::Machine::get().count("pin") == 1); /* for all messages, or in vain */
    CHECK(gpu::Machine::get().count("import_memory") == 0);
}

TEST_CASE("through memory that two processes map", "[shared][processes]")
{
    between_processes(in_host_memory, 0, "reorder=1 delay_us=20", in_host_memory.messages, 0);
    between_processes(in_host_memory, 1, "reorder=1 delay_us=20", in_host_memory.messages, 0);
}

TEST_CASE("a process that cannot map the other's memory gets the bytes themselves",
          "[shared][processes]")
{
    between_processes(in_host_memory, 0, "fail=pin:1+", 1, 1);
}

TEST_CASE("by reference between two processes", "[reference][processes]")
{
    between_processes(spaced, 0, "reorder=1 delay_us=20", spaced.messages, 0);
    between_processes(spaced, 1, "reorder=1 delay_us=20", spaced.messages, 0);
}

TEST_CASE("dense buffers are read where they lie, and freed afterwards", "[reference][processes]")
{
    between_processes(dense_ones, 0, "reorder=1 delay_us=20", dense_ones.messages, 0);
    between_processes(dense_ones, 1, "reorder=1 delay_us=20", dense_ones.messages, 0);
    between_processes(dense_apart, 1, "reorder=1 delay_us=20", dense_apart.messages, 0);
}

TEST_CASE("inside: a process that exports where it had a buffer", "[.][inside]")
{
    between_processes(freed_before, 1, "reorder=1 delay_us=20", -1, 0);
}

TEST_CASE("what is exported may lie where a buffer was", "[reference][processes]")
{
    CHECK(run_inside("inside: a process that exports where it had a buffer") == 0);
}

TEST_CASE("a buffer that the receiver has open is read with no answer", "[reference][processes]")
{
    between_processes(dense_again, 0, "reorder=1 delay_us=20", dense_again.messages, 0);
    between_processes(dense_again, 1, "reorder=1 delay_us=20", dense_again.messages, 0);
}

TEST_CASE("what a process sends by get another claims", "[get][processes]")
{
    between_processes(by_get, 0, "reorder=1 delay_us=20", by_get.messages, 0);
    between_processes(by_get, 1, "reorder=1 delay_us=20", by_get.messages, 0);
}

TEST_CASE("a process may be late for what another sends by get", "[get][processes]")
{
    const heddle::pipeline::Counter both[] = {Counter::sent_by_reference, Counter::withdrawn};
    int64_t before[] = {counted(both[0]), counted(both[1])};
    for (const char *const switches : {"delay_us=20", "delay_us=150", "delay_us=300 reorder=1"})
        between_processes(racing, 1, switches, -1, 0);
    CHECK(counted(both[0]) > before[0]);
    CHECK(counted(both[1]) > before[1]);
}

TEST_CASE("what was withdrawn is not opened", "[get][processes]")
{
    const int64_t before = counted(Counter::withdrawn);
    between_processes(taken_back, 1, "reset", -1, 0);
    CHECK(counted(Counter::withdrawn) == before + 1);
}

TEST_CASE("inside: a process whose gets nobody sees", "[.][inside]")
{
    {
        Network network(1);
        const size_t a = network.add(), b = network.add();
        Exchange exchange(network, a, b, plan(dense(device0, bytes), dense(device0, bytes), bytes),
                          1);
        REQUIRE(exchange.get());
        exchange.receive();
        run(network, [&] { return exchange.over(); });
    }
    std::vector<int> theirs;
    for (const auto &file : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        if (std::filesystem::read_symlink(file.path(), gone)
                .string()
                .starts_with("/memfd:heddle-slots"))
            theirs.push_back(std::stoi(file.path().filename()));
    }
    REQUIRE(theirs.size() == 1);
    close(theirs[0]);
    between_processes(out_of_sight, 0, "reorder=1 delay_us=20", out_of_sight.messages - 1, 0);
}

TEST_CASE("a process that cannot see another's gets gets the bytes themselves", "[get][processes]")
{
    CHECK(run_inside("inside: a process whose gets nobody sees") == 0);
}

TEST_CASE("a process that has no descriptor free sees another's gets later", "[get][processes]")
{
    between_processes(starved, 0, "reorder=1 delay_us=20", starved.messages, 0);
}

TEST_CASE("a forked child has a name of its own", "[processes]")
{
    using heddle::pipeline::number_of;
    using heddle::pipeline::process_id;
    const auto parent = process_id();
    CHECK(number_of(parent.process) == getpid());
    const pid_t child = fork();
    if (child == 0) {
        const auto own = process_id();
        _exit(own.node == parent.node && own.process != parent.process &&
                      number_of(own.process) == getpid()
                  ? 0
                  : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}

/* The first message finds out that nothing can be opened, and begins anew; the others go through
 * host memory. */
TEST_CASE("a process that cannot open the other's memory gets the bytes themselves",
          "[reference][processes]")
{
    between_processes(spaced, 0, "fail=import_memory:1+", 1, 1);
    between_processes(dense_ones, 0, "fail=import_memory:1+", 1, 1);
    between_processes(dense_again, 0, "fail=import_memory:1+", 1, 1);
}
