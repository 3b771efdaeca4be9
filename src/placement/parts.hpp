// SPDX-License-Identifier: BSD-3-Clause
// The first level: which vertices share a node. Parts name the node of each vertex, and hold as
// many vertices as their nodes have slots.
#pragma once

#include "placement/graph.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace heddle::placement {

using Parts = std::vector<int32_t>;

constexpr int64_t kLongestMilliseconds = 3'600'000;

// The time limit as steps: arcs that are looked at. Steps depend on the problem alone, so each
// process of a job has the same answer, however busy its core is.
class Budget {
public:
    explicit Budget(int64_t milliseconds) : left_(milliseconds * kStepsPerMillisecond) {}

    int64_t left() const { return left_; }
    // False where not so many are left; then none are taken.
    bool take(int64_t steps)
    {
        if (steps > left_)
            return false;
        left_ -= steps;
        return true;
    }
    // Half of what is left, until it is given back.
    Budget take_half()
    {
        Budget half(0);
        half.left_ = left_ / 2;
        left_ -= half.left_;
        return half;
    }
    void give_back(const Budget &other) { left_ += other.left_; }

private:
    // An arc took 4 ns on an EPYC of 2026-11; a slower or busier core has its time limit doubled.
    static constexpr int64_t kStepsPerMillisecond = 100'000;

    int64_t left_;
};

// What crosses from node to node; each pair of vertices counts once.
int64_t between_nodes(const Graph &graph, const Parts &parts);

// Vertices in the order of `order`, and each node in turn takes as many as it has room for.
Parts cut(std::span<const int32_t> order, std::span<const int32_t> capacities);

// Boxes of the grid that the vertices form, if they seem to form one: the best box of every such
// grid, whether the vertices are numbered row by row or otherwise. Consecutive vertices are boxes,
// too.
std::optional<Parts> boxes(const Graph &graph, std::span<const int32_t> capacities, Budget &budget);

// A multilevel partition by Scotch, whose parts differ by a share of their size at first, and fit
// in the end. None without that library, or without the time for it.
std::optional<Parts> multilevel(const Graph &graph, std::span<const int32_t> capacities,
                                double imbalance, Budget &budget);
// Whether there is a partitioner in this build.
bool has_multilevel();

// Moves as few vertices as need be, those that lose least, until each node has as many as it holds.
void fit(const Graph &graph, std::span<const int32_t> capacities, Parts &parts);

// Swaps vertices of different nodes, at random and with less and less patience for swaps that cost
// (simulated annealing). The result is no worse than it was.
void anneal(const Graph &graph, Parts &parts, Budget &budget);

} // namespace heddle::placement
