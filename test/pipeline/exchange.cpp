/* SPDX-License-Identifier: BSD-3-Clause */
#include "exchange.hpp"

#include "../gpu/named.hpp"

#include "pipeline/wire.hpp"

#include <chrono>
#include <cstdlib>
#include <random>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace pipeline_test {

using gpu::fail;
using oracle::Rng;

uint64_t seed_of_run()
{
    const char *given = std::getenv("HEDDLE_TEST_SEED");
    return given ? std::strtoull(given, nullptr, 0) : std::random_device{}();
}

gpu::SideSpec dense(gpu::Place place, int64_t bytes)
{
    gpu::SideSpec side;
    side.type = oracle::predefined(HEDDLE_BYTE);
    side.count = bytes;
    side.place = place;
    return side;
}

gpu::SideSpec blocks(gpu::Place place, int64_t bytes, int64_t block)
{
    gpu::SideSpec side;
    side.type =
        oracle::resized(oracle::contiguous(block, oracle::predefined(HEDDLE_BYTE)), 0, 2 * block);
    side.count = (bytes + block - 1) / block;
    side.place = place;
    return side;
}

Plan plan(gpu::SideSpec from, gpu::SideSpec to, int64_t bytes)
{
    return {std::move(from), std::move(to), bytes, bytes};
}

std::string to_text(const Plan &plan)
{
    gpu::Case c;
    c.jobs.push_back(
        {plan.from, plan.to, plan.bytes, HEDDLE_OP_REPLACE, HEDDLE_BYTE, {plan.bytes}, 0});
    return gpu::to_text(c) + " into " + std::to_string(plan.capacity);
}

namespace {

bool fits(const gpu::SideSpec &side)
{
    const oracle::Typemap map = oracle::expand(*side.type);
    return gpu::Mirror::fits(oracle::Packing(map, side.count), side.place);
}

int64_t data_of(const gpu::SideSpec &side)
{
    return oracle::size_of(oracle::expand(*side.type)) * side.count - side.offset;
}

std::optional<Plan> of_random_case(uint64_t seed)
{
    const gpu::Case c = gpu::random_case(seed);
    for (const gpu::Job &job : c.jobs)
        if (job.op == HEDDLE_OP_REPLACE && fits(job.from) && fits(job.to))
            return plan(job.from, job.to, job.bytes);
    return std::nullopt;
}

/* Regular, and long enough for many chunks. */
Plan of_blocks(Rng &rng)
{
    const auto places = gpu::Machine::get().places();
    const int64_t bytes = rng.percent(30) ? rng.scaled(3 << 20) : rng.scaled(300000);
    const auto side = [&] {
        return rng.percent(40) ? dense(rng.pick(places), bytes)
                               : blocks(rng.pick(places), bytes, rng.scaled(300));
    };
    gpu::SideSpec from = side();
    return plan(std::move(from), side(), bytes);
}

} // namespace

std::optional<Plan> random_plan(uint64_t seed)
{
    Rng rng(seed);
    std::optional<Plan> made;
    if (rng.percent(50))
        made = of_random_case(rng.next());
    else
        made = of_blocks(rng);
    if (!made)
        return made;
    if (rng.percent(15)) /* a receive that is too short */
        made->capacity = rng.in(0, made->bytes);
    else if (rng.percent(30)) /* or longer */
        made->capacity = std::max(data_of(made->to), made->bytes);
    return made;
}

// ---- an exchange ----

Exchange::Side::Side(const gpu::SideSpec &made, Rng &rng)
    : spec(made),
      map(oracle::expand(*made.type)),
      packing(map, made.count),
      type(oracle::build(*made.type).commit()),
      contents(packing, made.misaligned, rng),
      memory(made.place, contents.size())
{
    if (!memory)
        throw std::bad_alloc();
    contents.upload(memory);
}

heddle_side Exchange::Side::at(int64_t packed) const
{
    const uintptr_t base =
        reinterpret_cast<uintptr_t>(memory.at()) + static_cast<uintptr_t>(contents.origin());
    return {reinterpret_cast<void *>(base), spec.count, type.get(), spec.offset + packed};
}

Exchange::Exchange(Network &network, size_t from, size_t to, const Plan &plan, uint64_t seed)
    : network_(network),
      from_end_(from),
      to_end_(to),
      plan_(plan),
      rng_(seed),
      from_(plan_.from, rng_),
      to_(plan_.to, rng_),
      at_sender_{&network, &sent},
      at_receiver_{&network, &received}
{
}

Exchange::~Exchange()
{
    if (over())
        return;
    network_.destroy(from_end_);
    network_.destroy(to_end_);
}

void Exchange::ended(void *argument, int error, int64_t bytes)
{
    const Callback &callback = *static_cast<Callback *>(argument);
    Outcome &outcome = *callback.outcome;
    outcome.over = true;
    outcome.error = error;
    outcome.bytes = bytes;
    outcome.detail = heddle_error_detail();
    outcome.calls += callback.network->inside_progress() ? 1 : 1000;
}

void Exchange::send(uint64_t key)
{
    const heddle_side side = from_.at(0);
    gpu::succeeds(send_message(network_.port(from_end_), network_.peer(to_end_), &side, plan_.bytes,
                               key, 0, envelope_, ended, &at_sender_, &message_),
                  "send_message");
    from_.type = oracle::Type();
}

bool Exchange::get(bool within, int flags)
{
    const heddle_side side = from_.at(0);
    int by_get = -1;
    gpu::succeeds(get_message(network_.port(from_end_), network_.peer(to_end_), within, &side,
                              plan_.bytes, 0, flags, envelope_, ended, &at_sender_, &message_,
                              &by_get),
                  "get_message");
    if (by_get)
        from_.type = oracle::Type();
    return by_get;
}

void Exchange::spoil()
{
    gpu::Mirror(from_.packing, plan_.from.misaligned, rng_).upload(from_.memory);
    spoilt_ = true;
}

void Exchange::seems_far()
{
    heddle::pipeline::Envelope envelope;
    if (heddle::pipeline::read_envelope(envelope_, envelope))
        gpu::fail("the envelope cannot be read");
    envelope.node ^= 2;
    envelope.check = 0;
    heddle::pipeline::write_envelope(envelope, envelope_);
}

void Exchange::receive()
{
    const heddle_side side = to_.at(0);
    gpu::succeeds(receive_message(network_.port(to_end_), network_.peer(from_end_), envelope_,
                                  &side, plan_.capacity, nullptr, ended, &at_receiver_),
                  "receive_message");
    to_.type = oracle::Type();
}

void Exchange::check(int64_t bytes)
{
    gpu::Mirror source = from_.contents.twin();
    source.download(from_.memory);
    if (const auto at = source.difference(from_.contents); at && !spoilt_)
        fail("the source was written to, at displacement ", *at);
    gpu::Mirror got = to_.contents.twin();
    got.download(to_.memory);
    gpu::Mirror expected = to_.contents.twin();
    const oracle::Bytes packed = oracle::pack(from_.contents.base(), from_.packing);
    oracle::unpack(std::span(packed).subspan(static_cast<size_t>(plan_.from.offset),
                                             static_cast<size_t>(bytes)),
                   expected.base(), to_.packing, plan_.to.offset);
    if (const auto at = got.difference(expected))
        fail("the target differs at displacement ", *at);
}

bool Exchange::has_come(int64_t x)
{
    std::byte now, then;
    const int64_t from = from_.packing.locate(plan_.from.offset + x);
    const int64_t to = to_.packing.locate(plan_.to.offset + x);
    then = *from_.contents.at(from);
    to_.memory.read(static_cast<size_t>(to_.contents.origin() + to), &now, 1);
    return now == then;
}

// ---- running ----

void run(Network &network, const std::function<bool()> &done, double seconds)
{
    const auto began = std::chrono::steady_clock::now();
    while (!done()) {
        bool busy = false;
        for (int i = 0; i < 4; ++i)
            busy = network.step() || busy;
        for (size_t end = 0; end < network.ends(); ++end)
            busy = network.progress(end) > 0 || busy;
        if (!busy)
            std::this_thread::yield();
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began;
        if (taken.count() > seconds)
            fail("nothing ends any more");
    }
}

void run_all(Network &network, const std::vector<std::unique_ptr<Exchange>> &exchanges)
{
    run(network, [&] {
        for (const auto &exchange : exchanges)
            if (!exchange->over())
                return false;
        return true;
    });
}

int run_inside(const char *test, const char *device)
{
    const pid_t child = fork();
    if (child == 0) {
        if (device)
            setenv("HEDDLE_DEVICE", device, 1);
        execl("/proc/self/exe", "pipeline", test, nullptr);
        _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Switched::Switched(const std::string &switches)
{
    if (!gpu::Machine::get().configure(switches.c_str()))
        fail("these tests need the simulated device");
}

Switched::~Switched() { gpu::Machine::get().reset(); }

} // namespace pipeline_test
