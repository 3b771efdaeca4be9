// SPDX-License-Identifier: BSD-3-Clause
// How much stays on nodes, beside what is known to be possible.
#include "graphs.hpp"

#include <catch2/catch.hpp>

#ifdef HEDDLE_HAVE_METIS
#include <metis.h>
#endif

#include <cstdlib>
#include <ctime>
#include <map>
#include <string>

using namespace test;

namespace {

#ifdef HEDDLE_HAVE_SCOTCH
constexpr bool has_partitioner = true;
#else
constexpr bool has_partitioner = false;
#endif

double seconds()
{
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double share_of(const Edges &edges, int32_t size)
{
    const std::vector<int32_t> node = nodes_of(edges.vertices, size);
    heddle_placement result{};
    const std::vector<int32_t> slot = placed(problem_of(edges, node), &result);
    const Between between = between_of(edges, node, slot);
    CHECK(result.between == between.between);
    CHECK(result.total == between.total);
    return between.share_within();
}

struct Case {
    Extents extents;
    bool is_periodic;
    int size; // of a node
};
constexpr Case cases[] = {
    {{16, 16, 12}, true, 6}, {{16, 16, 12}, false, 6}, {{16, 16, 12}, true, 4},
    {{16, 16, 8}, true, 8},  {{8, 8, 8}, true, 8},     {{8, 8, 8}, false, 4},
    {{4, 4, 3}, true, 6},    {{4, 2, 3}, true, 6},     {{32, 32, 1}, false, 16},
    {{12, 12, 6}, true, 12}, {{64, 1, 1}, false, 8},
};

} // namespace

TEST_CASE("the example of paper 004: 512 nodes of six, each subdomain a cube")
{
    const Edges edges = grid({16, 16, 12}, true);
    const std::vector<int32_t> node = nodes_of(edges.vertices, 6);
    heddle_placement result{};
    const double before = seconds();
    placed(problem_of(edges, node), &result);
    const double took = seconds() - before;
    const auto share = [&](int64_t between) {
        return 1 - static_cast<double>(between) / static_cast<double>(result.total);
    };
    WARN("within nodes " << share(result.between_before) << ", then " << share(result.between)
                         << " by " << result.way << ", in " << took << " s");
    CHECK(share(result.between_before) == Approx(0.271).margin(0.001));
    CHECK(share(result.between) == Approx(0.382).margin(0.001));
    CHECK(took < 1);
}

TEST_CASE("grids that are numbered row by row come within 2 % of boxes")
{
    for (const Case &each : cases) {
        const double boxes = box_share(each.extents, each.is_periodic, each.size);
        const double share = share_of(grid(each.extents, each.is_periodic), each.size);
        INFO(each.extents[0] << " x " << each.extents[1] << " x " << each.extents[2] << ", "
                             << each.size << " a node: " << share << " of " << boxes);
        CHECK(share >= 0.98 * boxes);
    }
}

TEST_CASE("grids that are numbered at random come within 2 % of boxes")
{
    for (const Case &each : cases) {
        const double boxes = box_share(each.extents, each.is_periodic, each.size);
        const double share = share_of(grid(each.extents, each.is_periodic, true), each.size);
        INFO(each.extents[0] << " x " << each.extents[1] << " x " << each.extents[2] << ", "
                             << each.size << " a node: " << share << " of " << boxes);
        CHECK(share >= 0.98 * boxes);
    }
}

TEST_CASE("a grid that is numbered at random and has no weights is found, too")
{
    for (const bool is_periodic : {true, false}) {
        Edges edges = grid({8, 6, 6}, is_periodic, true);
        edges.weight.assign(edges.weight.size(), 1);
        heddle_placement result{};
        const std::vector<int32_t> node = nodes_of(edges.vertices, 8);
        placed(problem_of(edges, node), &result);
        CHECK(result.way == std::string("boxes of a grid"));
    }
}

TEST_CASE("3072 ranks within a second of processor time")
{
    for (const bool is_periodic : {true, false})
        for (const int size : {4, 6, 8, 64}) {
            const Edges edges = grid({16, 16, 12}, is_periodic, true);
            const double before = seconds();
            share_of(edges, size);
            INFO(size << " a node");
            CHECK(seconds() - before < 1);
        }
    for (const Edges &edges : {random_geometric(3072, 1), power_law(3072, 1)}) {
        const double before = seconds();
        share_of(edges, 6);
        CHECK(seconds() - before < 1);
    }
}

#ifdef HEDDLE_HAVE_METIS
namespace {

// METIS's own partition, with what its parts may differ in size: one vertex.
double metis_share(const Edges &edges, int32_t size, bool is_recursive)
{
    std::vector<std::map<idx_t, idx_t>> neighbours(static_cast<size_t>(edges.vertices));
    for (size_t i = 0; i < edges.from.size(); ++i)
        if (edges.from[i] != edges.to[i]) {
            const auto weight = static_cast<idx_t>(edges.weight[i]);
            neighbours[static_cast<size_t>(edges.from[i])][edges.to[i]] += weight;
            neighbours[static_cast<size_t>(edges.to[i])][edges.from[i]] += weight;
        }
    std::vector<idx_t> start = {0}, ends, weights;
    for (const auto &each : neighbours) {
        for (const auto &[end, weight] : each) {
            ends.push_back(end);
            weights.push_back(weight);
        }
        start.push_back(static_cast<idx_t>(ends.size()));
    }
    idx_t n = edges.vertices, constraints = 1, parts = n / size, cut = 0;
    std::vector<idx_t> part(static_cast<size_t>(n)), options(METIS_NOPTIONS);
    METIS_SetDefaultOptions(options.data());
    options[METIS_OPTION_UFACTOR] = 1;
    options[METIS_OPTION_SEED] = 1;
    const auto partition = is_recursive ? METIS_PartGraphRecursive : METIS_PartGraphKway;
    REQUIRE(partition(&n, &constraints, start.data(), ends.data(), nullptr, nullptr, weights.data(),
                      &parts, nullptr, nullptr, options.data(), &cut, part.data()) == METIS_OK);
    std::vector<int32_t> slot(part.size());
    for (size_t i = 0; i < slot.size(); ++i)
        slot[i] = static_cast<int32_t>(i);
    return between_of(edges, std::vector<int32_t>(part.begin(), part.end()), slot).share_within();
}

} // namespace

namespace {

// Shares within nodes, in the mean of several cases: ours, and by METIS's two ways.
struct Shares {
    double ours = 0, recursive = 0, kway = 0;
    int cases = 0;

    void add(const Edges &edges, int32_t size)
    {
        ours += share_of(edges, size);
        recursive += metis_share(edges, size, true);
        kway += metis_share(edges, size, false);
        ++cases;
    }
    void tell(const char *graphs) const
    {
        WARN(graphs << ": within nodes " << ours / cases << ", METIS's bisection "
                    << recursive / cases << ", its k-way " << kway / cases);
    }
    // METIS's parts differ by a vertex, so its share is of a larger choice.
    void check(double of_recursive) const
    {
        CHECK(ours > kway);
        if (has_partitioner)
            CHECK(ours > of_recursive * recursive);
    }
};

} // namespace

TEST_CASE("random geometric and power law graphs, a real matrix: above METIS in the mean")
{
    Shares all, geometric, power, real;
    for (const int32_t vertices : {192, 768, 3072})
        for (const int32_t size : {4, 6, 16}) {
            const auto seed = static_cast<uint32_t>(vertices + size);
            geometric.add(random_geometric(vertices, seed), size);
            power.add(power_law(vertices, seed), size);
        }
    const char *path = std::getenv("HEDDLE_TEST_MATRIX");
    if (!path)
        WARN("no matrix: HEDDLE_TEST_MATRIX=$(test/placement/matrix FOLDER)");
    for (const int32_t ranks : {620, 1240, 2480})
        for (const int32_t size : {4, 10})
            if (path)
                real.add(matrix(path, ranks), size);
    for (const Shares *each : {&geometric, &power, &real}) {
        all.ours += each->ours;
        all.recursive += each->recursive;
        all.kway += each->kway;
        all.cases += each->cases;
    }
    geometric.tell("geometric");
    power.tell("power law");
    if (path)
        real.tell("matrix");
    all.tell("all");
    geometric.check(0.995);
    power.check(1);
    if (path)
        real.check(1);
    all.check(1);
}
#endif
