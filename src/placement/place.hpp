// SPDX-License-Identifier: BSD-3-Clause
// Which slot each vertex gets: a permutation that is never worse than none.
#pragma once

#include "placement/graph.hpp"
#include "placement/machine.hpp"
#include "placement/slots.hpp"

#include <cstdint>

namespace heddle::placement {

enum class Way : uint8_t { identity, boxes, multilevel, links };
const char *name_of(Way way);

struct Placement {
    Slots slots;             // of each vertex, all different
    Way way = Way::identity; // where the parts came from, before swaps made them better
    int64_t between = 0;     // what goes from node to node
    int64_t between_before = 0;
    double time = 0; // of all data, one after the other; the measure
    double time_before = 0;
};

// The graph has a vertex for each slot; some may have no edges. Vertex v is at slot v before.
Placement place(const Graph &graph, const Machine &machine, int64_t milliseconds);

} // namespace heddle::placement
