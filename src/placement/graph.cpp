// SPDX-License-Identifier: BSD-3-Clause
#include "placement/graph.hpp"

#include <algorithm>

namespace heddle::placement {

namespace {

// Every edge at both its ends, in the order of the ends.
std::vector<Edge> both_ways(std::span<const Edge> edges)
{
    std::vector<Edge> all;
    all.reserve(2 * edges.size());
    for (const Edge &e : edges) {
        if (e.from == e.to || e.weight == 0)
            continue;
        all.push_back(e);
        all.push_back({e.to, e.from, e.weight});
    }
    std::sort(all.begin(), all.end(), [](const Edge &a, const Edge &b) {
        return a.from != b.from ? a.from < b.from : a.to < b.to;
    });
    return all;
}

} // namespace

Graph::Graph(int32_t vertices, std::span<const Edge> edges)
{
    start_.assign(static_cast<size_t>(vertices) + 1, 0);
    int32_t from = -1;
    for (const Edge &e : both_ways(edges)) {
        total_ += e.from < e.to ? e.weight : 0;
        if (e.from == from && arcs_.back().to == e.to) {
            arcs_.back().weight += e.weight;
            continue;
        }
        from = e.from;
        arcs_.push_back({e.to, e.weight});
        start_[static_cast<size_t>(from) + 1] = arcs_.size();
    }
    for (size_t v = 1; v < start_.size(); ++v)
        start_[v] = std::max(start_[v], start_[v - 1]);
}

} // namespace heddle::placement
