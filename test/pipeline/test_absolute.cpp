/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Types of absolute addresses: what memory they lead into, found out without looking at every run,
 * and how a message of such a type travels.
 */
#include "exchange.hpp"

#include "engine/runs.hpp"
#include "gpu/core/devices.hpp"
#include "gpu/memory/pointer_cache.hpp"
#include "pipeline/protocol/buffer.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <deque>

using namespace pipeline_test;
using heddle::gpu::Devices;
using heddle::gpu::End;
using heddle::gpu::MemoryKind;
using heddle::gpu::MemoryMap;
using heddle::pipeline::Buffer;
using heddle::pipeline::Mode;
using oracle::Rng;
using oracle::Type;

namespace {

constexpr gpu::Place device0{gpu::Kind::device, 0}, device1{gpu::Kind::device, 1},
    pinned{gpu::Kind::pinned, 0}, managed{gpu::Kind::managed, 0}, pageable{};
constexpr gpu::Place everywhere[] = {device0, device1, pinned, managed, pageable};
constexpr int64_t MiB = 1 << 20;

/* Types, each in memory of its own, as one. */
class Absolute {
public:
    void add(const Type &type, gpu::Place place)
    {
        const heddle_type_info info = type.info();
        memories_.emplace_back(place, static_cast<size_t>(std::max<int64_t>(info.true_extent, 1)));
        REQUIRE(memories_.back());
        displs_.push_back(static_cast<int64_t>(reinterpret_cast<uintptr_t>(memories_.back().at())) -
                          info.true_lb);
        types_.push_back(type.get());
        lengths_.push_back(1);
    }
    Type all() const
    {
        Type type = Type::from(
            [&](auto **made) {
                return heddle_type_struct(static_cast<int64_t>(types_.size()), lengths_.data(),
                                          displs_.data(), types_.data(), made);
            },
            "struct");
        type.commit();
        return type;
    }

private:
    std::deque<gpu::Memory> memories_;
    std::vector<int64_t> lengths_, displs_;
    std::vector<heddle_type *> types_;
};

Type every_second(int64_t n)
{
    return Type::from(
        [&](auto **t) {
            return heddle_type_vector(n, 1, 2, heddle_type_predefined(HEDDLE_DOUBLE), t);
        },
        "vector");
}

/* Of an address, all that the walk has to tell. Whether the host's memory is pinned it may leave
 * open. */
std::pair<int, int> told(const heddle::gpu::Memory &m)
{
    const bool host = m.kind == MemoryKind::host || m.kind == MemoryKind::pinned;
    return {host ? -1 : static_cast<int>(m.kind), host ? -1 : m.device};
}

struct Stretch {
    std::pair<int, int> memory;
    int64_t bytes;
    bool operator==(const Stretch &) const = default;
};

void join(std::vector<Stretch> &all, const heddle::gpu::Memory &memory, int64_t bytes)
{
    if (!all.empty() && all.back().memory == told(memory))
        all.back().bytes += bytes;
    else
        all.push_back({told(memory), bytes});
}

/* Asked for each run by itself. */
std::vector<Stretch> run_by_run(const End &end, int64_t bytes)
{
    std::vector<Stretch> all;
    heddle::visit_instances(
        *end.plan, false, end.count, end.offset, end.offset + bytes,
        [&](int64_t displ, int64_t n, uint8_t) {
            join(all, Devices::open()->backend().query(end.displaced(displ), false), n);
            return true;
        });
    return all;
}

struct Walked {
    std::vector<Stretch> stretches;
    int calls = 0;
    int64_t asked = 0;
};

Walked walk(const End &end, int64_t bytes)
{
    Walked walked;
    const int64_t before = gpu::Machine::get().count("query");
    MemoryMap map(&Devices::open()->backend());
    heddle::gpu::visit_memory(end, bytes, map, [&](int64_t n, const heddle::gpu::Memory &m) {
        join(walked.stretches, m, n);
        ++walked.calls;
        return true;
    });
    walked.asked = gpu::Machine::get().count("query") - before;
    return walked;
}

End end_of(const Type &type, int64_t offset, int64_t bytes)
{
    End end;
    REQUIRE(heddle::gpu::make_end({nullptr, 1, type.get(), offset}, bytes, end) == HEDDLE_SUCCESS);
    return end;
}

/* How a message of `type` can go. */
struct Ways {
    bool of_host, reference, shared;
    bool operator==(const Ways &) const = default;
};
Ways ways(const Type &type)
{
    const Buffer buffer({nullptr, 1, type.get(), 0}, type.info().size);
    return {buffer.of_host(), buffer.can_stay(Mode::reference), buffer.can_stay(Mode::shared)};
}

} // namespace

TEST_CASE("absolute addresses lead where each run's own address does", "[absolute]")
{
    const Switched on("reset");
    const uint64_t seed = seed_of_run();
    for (uint64_t i = 0; i < 400; ++i) {
        Rng rng(Rng::mix(seed, i));
        INFO("seed " << seed << ", case " << i);
        std::deque<Type> members;
        Absolute absolute;
        for (int64_t n = rng.in(1, 5); n > 0; --n) {
            if (members.empty() || rng.percent(60)) {
                oracle::Recipe recipe;
                recipe.leaves = oracle::random_leaves(rng);
                members.push_back(oracle::build(*oracle::random_type(rng, recipe).expr));
            }
            if (members.back().info().true_extent <= MiB) /* of equal ones, one after the other, a
                                                             node is made */
                absolute.add(members.back(), everywhere[rng.in(0, 4)]);
        }
        const Type type = absolute.all();
        const int64_t size = type.info().size;
        if (size == 0)
            continue;
        for (int part = 0; part < 3; ++part) {
            const int64_t offset = rng.percent(50) ? 0 : rng.in(0, size - 1),
                          bytes = rng.in(1, size - offset);
            const End end = end_of(type, offset, bytes);
            INFO(type.describe() << " from " << offset << ", " << bytes);
            REQUIRE(walk(end, bytes).stretches == run_by_run(end, bytes));
        }
    }
}

TEST_CASE("what lies in one allocation is asked about once, and the host's memory once a page",
          "[absolute]")
{
    const Switched on("reset");
    constexpr int64_t n = 100000;
    const Type doubles = every_second(n);
    Absolute one, two, mixed;
    one.add(doubles, device0);
    two.add(doubles, device0), two.add(doubles, device1);
    mixed.add(doubles, device0), mixed.add(doubles, pageable);
    const auto walked = [](const Absolute &absolute) {
        const Type type = absolute.all();
        return walk(end_of(type, 8, type.info().size - 16), type.info().size - 16);
    };
    CHECK(walked(one).calls == 1);
    CHECK(walked(one).asked == 1);
    CHECK(walked(two).calls == 2);
    CHECK(walked(two).asked <= 8);
    CHECK(walked(mixed).asked < 3 * 16 * n / 4096);
    CHECK(walked(mixed).calls < n / 16);
}

TEST_CASE("a message of absolute addresses goes as its memory allows", "[absolute]")
{
    const Switched on("reset");
    const Type doubles = every_second(1000);
    const auto of = [&](std::initializer_list<gpu::Place> places) {
        Absolute absolute;
        for (const gpu::Place &place : places)
            absolute.add(doubles, place);
        return ways(absolute.all());
    };
    const Ways host{true, false, false}, device{false, true, true}, several{false, false, true};
    CHECK(of({pageable}) == host);
    CHECK(of({pageable, pinned, pageable}) == host);
    CHECK(of({device1}) == device);
    CHECK(of({device0, device0}) == device);
    CHECK(of({device0, device1}) == several);
    CHECK(of({pageable, device1}) == several);
    CHECK(of({device0, pinned}) == several);
    CHECK(of({managed}) == several);
}
