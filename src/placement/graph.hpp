// SPDX-License-Identifier: BSD-3-Clause
// Who talks to whom, and how much: an undirected graph. What is said both ways, or several times,
// is added; what a vertex says to itself costs nothing anywhere, and is left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace heddle::placement {

struct Edge {
    int32_t from;
    int32_t to;
    int64_t weight; // not negative
};

struct Arc {
    int32_t to;
    int64_t weight; // above 0
};

class Graph {
public:
    // The ends of all edges are vertices. The sum of all weights is below an eighth of the range.
    Graph(int32_t vertices, std::span<const Edge> edges);

    int32_t vertices() const { return static_cast<int32_t>(start_.size()) - 1; }
    size_t arcs() const { return arcs_.size(); }
    // Both directions together: each pair counts once.
    int64_t total() const { return total_; }

    // In the order of the other ends.
    std::span<const Arc> of(int32_t vertex) const
    {
        const auto v = static_cast<size_t>(vertex);
        return std::span(arcs_).subspan(start_[v], start_[v + 1] - start_[v]);
    }

private:
    std::vector<size_t> start_; // of each vertex's arcs, and their end
    std::vector<Arc> arcs_;     // each pair twice: once at each of its ends
    int64_t total_ = 0;
};

} // namespace heddle::placement
