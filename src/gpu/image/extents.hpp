// SPDX-License-Identifier: BSD-3-Clause
// How far the bytes of each node of an image lie apart. The answer is kept with a plan from its
// first use on. It is needed for types of absolute addresses.
#pragma once

#include "engine/plan.hpp"

#include <span>

namespace heddle::gpu {

// Displacements from a node's first packed byte: of its lowest byte, and past its highest.
struct Reach {
    int64_t low;
    int64_t high;

    // The reach of `count` nodes, each `stride` bytes after the one before. A reach beyond 64 bits
    // goes from the lowest number to the highest.
    Reach repeated(int64_t count, int64_t stride) const;
};

// The reach of each node of the plan's image. They live as long as the plan.
std::span<const Reach> reaches_of(const Plan &plan);

} // namespace heddle::gpu
