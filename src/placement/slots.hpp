// SPDX-License-Identifier: BSD-3-Clause
// The second level: the slot of each vertex within its node.
#pragma once

#include "placement/machine.hpp"
#include "placement/parts.hpp"

namespace heddle::placement {

using Slots = std::vector<int32_t>; // of each vertex

// Renames parts, among nodes of one size, so that many vertices are where they were: on the node
// of the slot of their own number. What is between nodes stays the same.
void rename(const Machine &machine, Parts &parts);

// Vertices that were on their node keep their slots; the others take what is free, in order.
Slots seat(const Machine &machine, const Parts &parts);

// Changes slots within each node so that its data take less time there: a quadratic assignment
// problem, as in paper 004, section 4.4. Exact for nodes of up to eight slots, if there is time.
void assign(const Graph &graph, const Machine &machine, Slots &slots, Budget &budget);

// How long the data take, one after the other; each pair of vertices counts once.
double time_of(const Graph &graph, const Machine &machine, const Slots &slots);

} // namespace heddle::placement
