// SPDX-License-Identifier: BSD-3-Clause
// How far the bytes of each node of an image lie apart: kept with a plan from its first use on,
// which is where types of absolute addresses are looked at.
#pragma once

#include "../mpi/datatype/engine/plan.hpp"

#include <span>

namespace heddle::gpu {

// Displacements from a node's first packed byte: of its lowest byte, and past its highest.
struct Reach {
    int64_t low;
    int64_t high;

    // Of `count` nodes, each `stride` bytes after the one before. What is further apart than
    // numbers go reaches from the lowest number to the highest.
    Reach repeated(int64_t count, int64_t stride) const;
};

// Of each node of the plan's image; they live as long as the plan.
std::span<const Reach> reaches_of(const Plan &plan);

} // namespace heddle::gpu
