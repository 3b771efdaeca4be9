// SPDX-License-Identifier: BSD-3-Clause
// What of a plan a device has an image of.
#pragma once

#include "engine/plan.hpp"

namespace heddle::gpu {

// What a device traverses: evenly spaced instances of a plan, or of the part that the plan repeats.
// So n instances of a type, one of a type that holds it n times, and a vector of it are the same.
struct Repeated {
    int64_t count;
    int64_t bytes; // of one instance, which lie `extent` apart
    int64_t extent;
    int64_t runs; // of one instance
    Divisor by_bytes;
    bool part; // of the part: the child of the image's root
};

// The node of the plan's image that is repeated.
inline int32_t repeated_node(const Plan &plan, const Repeated &of)
{
    return of.part ? plan.image.nodes[0].child : 0;
}

// Of `count` instances of a general plan.
Repeated repeated(const Plan &plan, int64_t count);

} // namespace heddle::gpu
