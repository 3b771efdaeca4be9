// SPDX-License-Identifier: BSD-3-Clause
// Programs number the ranks of a grid row by row. Then the differences between neighbours' numbers
// tell the grid; otherwise its edges do. Boxes of it are parts with little surface, often the best.
#include "placement/lattice.hpp"
#include "placement/parts.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <utility>

namespace heddle::placement {

namespace {

constexpr size_t kMostDimensions = 6;

// Where the vertices with neighbours end.
int32_t used_vertices(const Graph &graph)
{
    int32_t used = graph.vertices();
    while (used > 0 && graph.of(used - 1).empty())
        --used;
    return used;
}

// Numbers that many neighbours differ by: at least every other vertex has one there.
std::vector<int32_t> strides_of(const Graph &graph, int32_t used)
{
    std::map<int32_t, int32_t> pairs;
    for (int32_t v = 0; v < used; ++v)
        for (const Arc &arc : graph.of(v))
            if (v < arc.to)
                ++pairs[arc.to - v];
    std::vector<int32_t> strides;
    for (const auto &[stride, count] : pairs)
        if (stride > 1 && count >= used / 2)
            strides.push_back(stride);
    return strides;
}

// Every grid whose strides are among the differences: each stride divides the next.
void add_grids(std::span<const int32_t> strides, int32_t vertices, const Extents &inner,
               int32_t stride, std::vector<Extents> &grids)
{
    // What is left is the slowest dimension.
    if (vertices % stride == 0) {
        Extents grid = inner;
        grid.insert(grid.begin(), vertices / stride);
        grids.push_back(grid);
    }
    if (inner.size() + 1 == kMostDimensions)
        return;
    for (const int32_t next : strides)
        if (next > stride && next % stride == 0 && vertices % next == 0) {
            Extents more = inner;
            more.insert(more.begin(), next / stride);
            add_grids(strides, vertices, more, next, grids);
        }
}

// Every box of a volume within a grid.
void add_boxes(const Extents &grid, int32_t volume, const Extents &box, std::vector<Extents> &boxes)
{
    if (box.size() == grid.size()) {
        if (volume == 1)
            boxes.push_back(box);
        return;
    }
    for (int32_t side = 1; side <= std::min(volume, grid[box.size()]); ++side)
        if (volume % side == 0) {
            Extents more = box;
            more.push_back(side);
            add_boxes(grid, volume / side, more, boxes);
        }
}

// The vertices box by box, those without neighbours last. `number_of` says where in the
// grid a vertex is. Boxes at the edge may be cut off.
std::vector<int32_t> box_order(const Extents &grid, std::span<const int32_t> number_of,
                               const Extents &box, int32_t vertices)
{
    const auto used = static_cast<int32_t>(number_of.size());
    std::vector<int32_t> box_of(static_cast<size_t>(vertices), used);
    for (int32_t v = 0; v < used; ++v) {
        int32_t rest = number_of[static_cast<size_t>(v)], number = 0, boxes = 1;
        for (size_t d = grid.size(); d-- > 0; rest /= grid[d]) {
            number += rest % grid[d] / box[d] * boxes;
            boxes *= (grid[d] + box[d] - 1) / box[d];
        }
        box_of[static_cast<size_t>(v)] = number;
    }
    std::vector<int32_t> order(static_cast<size_t>(vertices));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
        return box_of[static_cast<size_t>(a)] < box_of[static_cast<size_t>(b)];
    });
    return order;
}

} // namespace

std::optional<Parts> boxes(const Graph &graph, std::span<const int32_t> capacities, Budget &budget)
{
    const int32_t vertices = graph.vertices(), used = used_vertices(graph);
    if (used == 0 || !budget.take(4 * static_cast<int64_t>(graph.arcs())))
        return {};

    // To put them in order takes as long as to look at some 20 arcs a vertex.
    const int64_t steps = static_cast<int64_t>(graph.arcs()) + 20 * static_cast<int64_t>(vertices);
    std::optional<Parts> best;
    int64_t least = 0;
    // False once the budget is spent.
    const auto try_boxes = [&](const Extents &grid, std::span<const int32_t> number_of) {
        std::vector<Extents> all;
        add_boxes(grid, capacities.front(), {}, all);
        for (const Extents &box : all) {
            if (!budget.take(steps))
                return false;
            Parts parts = cut(box_order(grid, number_of, box, vertices), capacities);
            const int64_t between = between_nodes(graph, parts);
            if (!best || between < least) {
                least = between;
                best = std::move(parts);
            }
        }
        return true;
    };

    // The grids that the vertices form by their numbers, and the one that they form by their edges.
    std::vector<Extents> grids;
    add_grids(strides_of(graph, used), used, {}, 1, grids);
    std::vector<int32_t> in_order(static_cast<size_t>(used));
    std::iota(in_order.begin(), in_order.end(), 0);
    for (const Extents &grid : grids)
        if (!try_boxes(grid, in_order))
            return best;
    if (const auto found = lattice(graph, used, budget))
        try_boxes(found->extents, found->number);
    return best;
}

} // namespace heddle::placement
