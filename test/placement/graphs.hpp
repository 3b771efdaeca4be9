// SPDX-License-Identifier: BSD-3-Clause
// Graphs and machines that the tests of placement share.
#pragma once

#include <heddle_placement.h>

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace test {

struct Edges {
    int32_t vertices = 0;
    std::vector<int32_t> from, to;
    std::vector<int64_t> weight;

    void add(int32_t a, int32_t b, int64_t w)
    {
        from.push_back(a);
        to.push_back(b);
        weight.push_back(w);
    }
};

using Extents = std::array<int, 3>;

// What subdomains of 256 x 256 x 256 points exchange over faces, edges and corners at radius 3, as
// in paper 004: points a variable.
constexpr std::array<int64_t, 4> halo_weights = {0, 256 * 256 * 3, 256 * 3 * 3, 3 * 3 * 3};

// A grid of 26 neighbours, both directions said. Numbered row by row, or at random.
Edges grid(Extents extents, bool is_periodic, bool is_shuffled = false);
// The share of the weight that stays within the best box of that many vertices that tiles the grid.
double box_share(Extents extents, bool is_periodic, int volume);

// Points in a square; those that are near speak, and more to those that are nearer.
Edges random_geometric(int32_t vertices, uint32_t seed);
// Few speak to many (Barabasi and Albert), four edges a vertex.
Edges power_law(int32_t vertices, uint32_t seed);
// A sparse matrix in Harwell-Boeing's format, its rows dealt to ranks in blocks: to multiply it, a
// rank needs the vector's elements of its columns from the ranks that have those rows.
Edges matrix(const std::string &path, int32_t ranks);
// Any edges: loops, parallel ones, one direction alone, weights of zero.
Edges any(int32_t vertices, int edges, std::mt19937 &random);

// Nodes of equal size, one after the other.
std::vector<int32_t> nodes_of(int32_t slots, int32_t size);

// What is between nodes, and the total, told from the edges alone.
struct Between {
    int64_t between = 0, total = 0;

    double share_within() const
    {
        return 1 - static_cast<double>(between) / static_cast<double>(total);
    }
};
Between between_of(const Edges &edges, const std::vector<int32_t> &node,
                   const std::vector<int32_t> &slot);

heddle_placement_problem problem_of(const Edges &edges, const std::vector<int32_t> &node);
// heddle_place, which must succeed and permute.
std::vector<int32_t> placed(const heddle_placement_problem &problem,
                            heddle_placement *result = nullptr);

} // namespace test
