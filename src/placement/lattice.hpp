// SPDX-License-Identifier: BSD-3-Clause
// Grids that a graph is, however its vertices are numbered.
#pragma once

#include "placement/graph.hpp"
#include "placement/parts.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace heddle::placement {

// From the slowest dimension to the fastest.
using Extents = std::vector<int32_t>;

// A grid, and the number of each vertex in it, row by row.
struct Lattice {
    Extents extents;
    std::vector<int32_t> number;
};

// The grid that the first `used` vertices form. Its cells may have neighbours across edges and
// corners, too, to which they say less than half as much, or as much. A periodic dimension of four
// is told as two dimensions of two, which it equals.
std::optional<Lattice> lattice(const Graph &graph, int32_t used, Budget &budget);

} // namespace heddle::placement
