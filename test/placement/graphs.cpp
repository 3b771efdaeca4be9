// SPDX-License-Identifier: BSD-3-Clause
#include "graphs.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <set>

namespace test {

Edges grid(Extents extents, bool is_periodic, bool is_shuffled)
{
    const int nx = extents[0], ny = extents[1], nz = extents[2];
    Edges edges;
    edges.vertices = nx * ny * nz;
    std::vector<int32_t> number(static_cast<size_t>(edges.vertices));
    std::iota(number.begin(), number.end(), 0);
    if (is_shuffled)
        std::shuffle(number.begin(), number.end(), std::mt19937(7));
    const auto at = [&](int x, int y, int z) {
        return number[static_cast<size_t>((x * ny + y) * nz + z)];
    };
    const auto is_inside = [&](int x, int y, int z) {
        return x >= 0 && x < nx && y >= 0 && y < ny && z >= 0 && z < nz;
    };
    for (int i = 0; i < edges.vertices * 27; ++i) {
        const int v = i / 27, direction = i % 27;
        const int x = v / (ny * nz), y = v / nz % ny, z = v % nz;
        const int dx = direction / 9 - 1, dy = direction / 3 % 3 - 1, dz = direction % 3 - 1;
        const auto kind = static_cast<size_t>(std::abs(dx) + std::abs(dy) + std::abs(dz));
        if (kind == 0 || (!is_periodic && !is_inside(x + dx, y + dy, z + dz)))
            continue;
        edges.add(at(x, y, z), at((x + dx + nx) % nx, (y + dy + ny) % ny, (z + dz + nz) % nz),
                  halo_weights[kind]);
    }
    return edges;
}

double box_share(Extents extents, bool is_periodic, int volume)
{
    const Edges edges = grid(extents, is_periodic);
    const auto [nx, ny, nz] = extents;
    double best = 0;
    for (int a = 1; a <= volume; ++a)
        for (int b = 1; a * b <= volume; ++b) {
            const int c = volume / (a * b);
            if (a * b * c != volume || nx % a || ny % b || nz % c)
                continue;
            std::vector<int32_t> slot(static_cast<size_t>(edges.vertices)), node(slot.size());
            std::iota(slot.begin(), slot.end(), 0);
            for (int v = 0; v < edges.vertices; ++v) {
                const int x = v / (ny * nz), y = v / nz % ny, z = v % nz;
                node[static_cast<size_t>(v)] = (x / a * ny + y / b) * nz + z / c;
            }
            best = std::max(best, between_of(edges, node, slot).share_within());
        }
    return best;
}

Edges random_geometric(int32_t vertices, uint32_t seed)
{
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> place(0, 1);
    std::vector<std::array<double, 2>> points(static_cast<size_t>(vertices));
    for (auto &point : points)
        point = {place(random), place(random)};
    const double reach = 8.0 / (3.14159 * vertices); // squared: eight neighbours in the mean
    Edges edges;
    edges.vertices = vertices;
    for (int32_t a = 0; a < vertices; ++a)
        for (int32_t b = 0; b < a; ++b) {
            const double dx = points[static_cast<size_t>(a)][0] - points[static_cast<size_t>(b)][0];
            const double dy = points[static_cast<size_t>(a)][1] - points[static_cast<size_t>(b)][1];
            const double distance = dx * dx + dy * dy;
            if (distance < reach)
                edges.add(a, b, 1 + static_cast<int64_t>(1000 * (1 - distance / reach)));
        }
    return edges;
}

Edges power_law(int32_t vertices, uint32_t seed)
{
    std::mt19937 random(seed);
    Edges edges;
    edges.vertices = vertices;
    std::vector<int32_t> ends = {0}; // each vertex as often as it has edges
    for (int32_t v = 1; v < vertices; ++v)
        for (int i = 0; i < 4; ++i) {
            const int32_t other = ends[random() % ends.size()];
            if (other == v)
                continue;
            edges.add(v, other, 1 + static_cast<int64_t>(random() % 100));
            ends.push_back(v);
            ends.push_back(other);
        }
    // Numbers that tell nothing of their age.
    std::vector<int32_t> number(static_cast<size_t>(vertices));
    std::iota(number.begin(), number.end(), 0);
    std::shuffle(number.begin(), number.end(), random);
    for (auto *side : {&edges.from, &edges.to})
        for (int32_t &end : *side)
            end = number[static_cast<size_t>(end)];
    return edges;
}

Edges matrix(const std::string &path, int32_t ranks)
{
    std::ifstream file(path);
    std::string line;
    for (int i = 0; i < 2; ++i) // its title, and how many lines each part has
        std::getline(file, line);
    std::string kind;
    int32_t rows = 0, columns = 0, entries = 0;
    file >> kind >> rows >> columns >> entries;
    REQUIRE((kind == "RUA" && rows == columns && entries > 0));
    for (int i = 0; i < 3; ++i) // the rest of this one, formats, right-hand sides
        std::getline(file, line);
    std::vector<int32_t> start(static_cast<size_t>(columns) + 1), row(static_cast<size_t>(entries));
    for (auto *part : {&start, &row})
        for (int32_t &number : *part)
            file >> number;
    REQUIRE((file && start.back() == entries + 1));

    const auto rank_of = [&](int32_t r) { return static_cast<int32_t>(int64_t{r} * ranks / rows); };
    Edges edges;
    edges.vertices = ranks;
    for (int32_t column = 0; column < columns; ++column) {
        std::set<int32_t> wanted; // by whom
        for (int32_t i = start[static_cast<size_t>(column)];
             i < start[static_cast<size_t>(column) + 1]; ++i)
            wanted.insert(rank_of(row[static_cast<size_t>(i - 1)] - 1));
        for (const int32_t rank : wanted)
            edges.add(rank_of(column), rank, 8);
    }
    return edges;
}

Edges any(int32_t vertices, int count, std::mt19937 &random)
{
    Edges edges;
    edges.vertices = vertices;
    const auto below = [&](int32_t n) { return static_cast<int32_t>(random() >> 1) % n; };
    for (int i = 0; i < count && vertices > 0; ++i)
        edges.add(below(vertices), below(vertices), below(1000));
    return edges;
}

std::vector<int32_t> nodes_of(int32_t slots, int32_t size)
{
    std::vector<int32_t> node;
    for (int32_t slot = 0; slot < slots; ++slot)
        node.push_back(slot / size);
    return node;
}

Between between_of(const Edges &edges, const std::vector<int32_t> &node,
                   const std::vector<int32_t> &slot)
{
    Between sum;
    for (size_t i = 0; i < edges.from.size(); ++i) {
        const auto a = static_cast<size_t>(slot[static_cast<size_t>(edges.from[i])]);
        const auto b = static_cast<size_t>(slot[static_cast<size_t>(edges.to[i])]);
        sum.total += a == b ? 0 : edges.weight[i];
        sum.between += node[a] == node[b] ? 0 : edges.weight[i];
    }
    return sum;
}

heddle_placement_problem problem_of(const Edges &edges, const std::vector<int32_t> &node)
{
    heddle_placement_problem problem{};
    problem.vertices = edges.vertices;
    problem.slots = static_cast<int32_t>(node.size());
    problem.node = node.data();
    problem.edges = static_cast<int64_t>(edges.from.size());
    problem.from = edges.from.data();
    problem.to = edges.to.data();
    problem.weight = edges.weight.data();
    problem.milliseconds = 5000;
    return problem;
}

std::vector<int32_t> placed(const heddle_placement_problem &problem, heddle_placement *result)
{
    std::vector<int32_t> slot(static_cast<size_t>(problem.vertices), -1);
    REQUIRE(heddle_place(&problem, slot.data(), result) == HEDDLE_SUCCESS);
    std::vector<bool> is_taken(static_cast<size_t>(problem.slots), false);
    for (const int32_t s : slot) {
        REQUIRE((s >= 0 && s < problem.slots));
        REQUIRE(!is_taken[static_cast<size_t>(s)]);
        is_taken[static_cast<size_t>(s)] = true;
    }
    return slot;
}

} // namespace test
