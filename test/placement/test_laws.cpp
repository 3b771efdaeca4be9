// SPDX-License-Identifier: BSD-3-Clause
// What always holds, whatever the graph and the machine: checked on random ones.
#include "graphs.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

using namespace test;

namespace {

struct Problem {
    Edges edges;
    std::vector<int32_t> node;
    std::vector<double> rates;

    heddle_placement_problem get() const
    {
        heddle_placement_problem problem = problem_of(edges, node);
        problem.rates = rates.empty() ? nullptr : rates.data();
        return problem;
    }
};

// Of each node, its slots; nodes in the order of their first slots.
std::vector<std::vector<int32_t>> slots_of(const std::vector<int32_t> &node)
{
    std::vector<int32_t> seen;
    std::vector<std::vector<int32_t>> slots;
    for (size_t slot = 0; slot < node.size(); ++slot) {
        const auto found = std::find(seen.begin(), seen.end(), node[slot]);
        if (found == seen.end()) {
            seen.push_back(node[slot]);
            slots.emplace_back();
            slots.back().push_back(static_cast<int32_t>(slot));
        } else {
            slots[static_cast<size_t>(found - seen.begin())].push_back(static_cast<int32_t>(slot));
        }
    }
    return slots;
}

// The time of all data, from the definition.
double time_of(const Problem &problem, const std::vector<int32_t> &slot)
{
    const size_t n = problem.node.size();
    std::vector<double> time(n * n, 1);
    size_t next = 0;
    for (const auto &slots : slots_of(problem.node)) {
        const size_t size = slots.size();
        for (size_t i = 0; i < size; ++i)
            for (size_t j = 0; j < size; ++j) {
                const auto a = static_cast<size_t>(slots[i]), b = static_cast<size_t>(slots[j]);
                time[a * n + b] = problem.rates.empty() ? 0.1
                                                        : (1 / problem.rates[next + i * size + j] +
                                                           1 / problem.rates[next + j * size + i]) /
                                                              2;
            }
        next += problem.rates.empty() ? 0 : size * size;
    }
    double sum = 0;
    for (size_t i = 0; i < problem.edges.from.size(); ++i) {
        const auto a = static_cast<size_t>(slot[static_cast<size_t>(problem.edges.from[i])]);
        const auto b = static_cast<size_t>(slot[static_cast<size_t>(problem.edges.to[i])]);
        sum += a == b ? 0 : time[a * n + b] * static_cast<double>(problem.edges.weight[i]);
    }
    return sum;
}

// Nodes of any sizes, with their slots mixed; slots that nobody needs; rates in every other case.
Problem random_problem(std::mt19937 &random)
{
    Problem problem;
    const auto slots = static_cast<int32_t>(1 + random() % 40);
    const auto nodes = static_cast<int32_t>(1 + random() % 6);
    for (int32_t slot = 0; slot < slots; ++slot)
        problem.node.push_back(static_cast<int32_t>(random() % static_cast<uint32_t>(nodes)) * 17 -
                               20);
    const int32_t unused = random() % 3 ? 0 : static_cast<int32_t>(random()) & 7;
    problem.edges = any(std::max(0, slots - unused), static_cast<int>(random() % 200), random);
    if (random() % 2)
        for (const auto &each : slots_of(problem.node))
            for (size_t i = 0; i < each.size() * each.size(); ++i)
                problem.rates.push_back(1 + static_cast<double>(random() % 20));
    return problem;
}

std::vector<int32_t> identity(int32_t n)
{
    std::vector<int32_t> slot(static_cast<size_t>(n));
    std::iota(slot.begin(), slot.end(), 0);
    return slot;
}

} // namespace

TEST_CASE("never worse than the given order, the same each time, and true to what is told")
{
    std::mt19937 random(1);
    for (int i = 0; i < 400; ++i) {
        INFO("case " << i);
        const Problem problem = random_problem(random);
        heddle_placement result{};
        const std::vector<int32_t> slot = placed(problem.get(), &result);
        CHECK(time_of(problem, slot) <=
              time_of(problem, identity(problem.edges.vertices)) * (1 + 1e-12));
        const Between between = between_of(problem.edges, problem.node, slot);
        CHECK(result.between == between.between);
        CHECK(result.total == between.total);
        CHECK(result.between_before ==
              between_of(problem.edges, problem.node, identity(problem.edges.vertices)).between);
        int32_t moved = 0;
        for (size_t v = 0; v < slot.size(); ++v)
            moved += slot[v] != static_cast<int32_t>(v);
        CHECK(result.moved == moved);
        CHECK(placed(problem.get()) == slot);
    }
}

TEST_CASE("within a node of up to eight slots the answer is the best of all")
{
    std::mt19937 random(2);
    for (int i = 0; i < 40; ++i) {
        INFO("case " << i);
        Problem problem;
        const auto n = static_cast<int32_t>(2 + random() % 6);
        problem.node.assign(static_cast<size_t>(n), 3);
        problem.edges = any(n, 20, random);
        for (int32_t r = 0; r < n * n; ++r)
            problem.rates.push_back(1 + static_cast<double>(random() % 20));
        std::vector<int32_t> slot = identity(n);
        double least = time_of(problem, slot);
        while (std::next_permutation(slot.begin(), slot.end()))
            least = std::min(least, time_of(problem, slot));
        CHECK(time_of(problem, placed(problem.get())) == Approx(least));
    }
}

TEST_CASE("larger nodes: neighbours share the fast links")
{
    // A ring whose ranks are dealt out to two sockets of eight in turn.
    Problem problem;
    problem.edges.vertices = 16;
    for (int32_t v = 0; v < 16; ++v)
        problem.edges.add(v, (v + 1) % 16, 10);
    problem.node.assign(16, 0);
    for (int32_t a = 0; a < 16; ++a)
        for (int32_t b = 0; b < 16; ++b)
            problem.rates.push_back(a % 2 == b % 2 ? 10 : 2);
    // Two links of the ring must cross, fourteen need not.
    heddle_placement result{};
    placed(problem.get(), &result);
    CHECK(result.way == std::string("links within nodes"));
    CHECK(time_of(problem, placed(problem.get())) == Approx(14 * 10 / 10.0 + 2 * 10 / 2.0));
}

TEST_CASE("two pairs that stand on two nodes are brought together, and no others move")
{
    // The example of section 5.1.1 of paper 004: ranks 0 and 2 say the most to each other.
    Problem problem;
    problem.edges.vertices = 8;
    problem.node = nodes_of(8, 2);
    for (const auto &[a, b] : {std::pair(0, 2), {1, 3}, {4, 5}, {6, 7}})
        problem.edges.add(a, b, 100);
    problem.edges.add(0, 1, 1);
    heddle_placement result{};
    const std::vector<int32_t> slot = placed(problem.get(), &result);
    CHECK(result.between == 1);
    CHECK(result.between_before == 200);
    CHECK(slot[0] / 2 == slot[2] / 2);
    CHECK(result.moved == 2);
    for (size_t v = 4; v < 8; ++v)
        CHECK(slot[v] == static_cast<int32_t>(v));
}

TEST_CASE("no time: the given order")
{
    const Edges edges = grid({4, 4, 4}, true, true);
    const std::vector<int32_t> node = nodes_of(64, 4);
    heddle_placement_problem problem = problem_of(edges, node);
    problem.milliseconds = 0;
    CHECK(placed(problem) == identity(64));
}

TEST_CASE("less time never makes an answer worse than the given order")
{
    const Edges edges = grid({16, 16, 12}, true, true);
    const std::vector<int32_t> node = nodes_of(3072, 6);
    heddle_placement_problem problem = problem_of(edges, node);
    for (const int64_t milliseconds : {1, 10, 100, 1000}) {
        problem.milliseconds = milliseconds;
        heddle_placement result{};
        placed(problem, &result);
        CHECK(result.between <= result.between_before);
    }
}

TEST_CASE("no vertices, no edges, huge weights")
{
    heddle_placement_problem problem{};
    CHECK(heddle_place(&problem, nullptr, nullptr) == HEDDLE_SUCCESS);

    const std::vector<int32_t> node = nodes_of(6, 2);
    Edges edges;
    edges.vertices = 6;
    CHECK(placed(problem_of(edges, node)) == identity(6));

    edges.add(0, 5, INT64_MAX / 16);
    edges.add(1, 4, INT64_MAX / 32);
    heddle_placement result{};
    placed(problem_of(edges, node), &result);
    CHECK(result.between == 0);
    edges.add(0, 5, INT64_MAX / 8);
    problem = problem_of(edges, node);
    std::vector<int32_t> slot(6);
    CHECK(heddle_place(&problem, slot.data(), nullptr) == HEDDLE_ERR_OVERFLOW);
}

TEST_CASE("a weight is 1 where none is said")
{
    const Edges edges = grid({4, 4, 1}, false);
    const std::vector<int32_t> node = nodes_of(16, 4);
    heddle_placement_problem problem = problem_of(edges, node);
    problem.weight = nullptr;
    heddle_placement result{};
    placed(problem, &result);
    CHECK(result.total == static_cast<int64_t>(edges.from.size()));
}

TEST_CASE("arguments that make no sense")
{
    const std::vector<int32_t> node = {0, 0, 1, 1}, from = {0, 1}, to = {1, 3};
    const std::vector<int64_t> weight = {1, 2};
    std::vector<double> rates(8, 1.0);
    std::vector<int32_t> slot(4);
    const auto error = [&](auto &&change) {
        heddle_placement_problem problem{};
        problem.vertices = problem.slots = 4;
        problem.node = node.data();
        problem.edges = 2;
        problem.from = from.data();
        problem.to = to.data();
        problem.weight = weight.data();
        problem.rates = rates.data();
        change(problem);
        return heddle_place(&problem, slot.data(), nullptr);
    };
    using P = heddle_placement_problem;
    CHECK(error([](P &) {}) == HEDDLE_SUCCESS);
    CHECK(error([](P &p) { p.bytes = 8; }) == HEDDLE_ERR_ARG);
    CHECK(error([](P &p) { p.vertices = 5; }) == HEDDLE_ERR_ARG);
    CHECK(error([](P &p) { p.vertices = 3; }) == HEDDLE_ERR_ARG); // an edge leads to 3
    CHECK(error([](P &p) { p.vertices = -1; }) == HEDDLE_ERR_ARG);
    CHECK(error([](P &p) { p.node = nullptr; }) == HEDDLE_ERR_ARG);
    CHECK(error([](P &p) { p.to = nullptr; }) == HEDDLE_ERR_ARG);
    CHECK(error([](P &p) { p.edges = -1; }) == HEDDLE_ERR_ARG);
    CHECK(error([](P &p) { p.milliseconds = -2; }) == HEDDLE_ERR_ARG);
    const int64_t negative[] = {1, -1};
    CHECK(error([&](P &p) { p.weight = negative; }) == HEDDLE_ERR_ARG);
    rates[1] = 0;
    CHECK(error([](P &) {}) == HEDDLE_ERR_ARG);
    CHECK(heddle_place(nullptr, slot.data(), nullptr) == HEDDLE_ERR_ARG);
}

TEST_CASE("processors of one memory are nearest, those of another socket farthest")
{
    const auto at = [](int32_t socket, int32_t memory) {
        heddle_location location{};
        REQUIRE(heddle_location_device(&location) == HEDDLE_SUCCESS);
        CHECK(!location.has_device);
        location.socket = socket;
        location.memory = memory;
        return location;
    };
    const auto rate = [](const heddle_location &from, const heddle_location &to) {
        return heddle_location_rate(&from, &to);
    };
    const double same = rate(at(0, 1), at(0, 1));
    CHECK(rate(at(0, 0), at(0, 1)) < same);
    CHECK(rate(at(0, 0), at(1, 2)) < rate(at(0, 0), at(0, 1)));
    CHECK(rate(at(-1, -1), at(1, 1)) == same);
    CHECK(rate(at(0, 0), at(1, 1)) > 1); // nodes are farther

    heddle_location wrong{};
    wrong.bytes = 4;
    CHECK(heddle_location_device(&wrong) == HEDDLE_ERR_ARG);
    CHECK(heddle_location_rate(&wrong, &wrong) == 0);
    CHECK(heddle_location_rate(nullptr, nullptr) == 0);
}

TEST_CASE("what was gained is counted")
{
    const auto read = [](const char *name) {
        heddle_counter counter{};
        for (int64_t i = 0; heddle_counter_read(i, &counter) == HEDDLE_SUCCESS; ++i)
            if (!std::strcmp(counter.name, name))
                return counter.value;
        return int64_t{-1};
    };
    const Edges edges = grid({4, 4, 4}, true);
    const std::vector<int32_t> node = nodes_of(64, 8);
    const int64_t moved = read("placements_moved"), kept = read("placements_kept"),
                  before = read("placements_between_nodes_before"),
                  after = read("placements_between_nodes_after");
    heddle_placement result{};
    placed(problem_of(edges, node), &result);
    CHECK(read("placements_moved") == moved + 1);
    CHECK(read("placements_kept") == kept);
    CHECK(read("placements_between_nodes_before") == before + result.between_before);
    CHECK(read("placements_between_nodes_after") == after + result.between);
    CHECK(result.between < result.between_before);
}
