// SPDX-License-Identifier: BSD-3-Clause
// The members of a struct of several fields of one grid, say, as plans of their own. Each is dense
// or strided and needs no description on a device, where the struct is a list of runs.
#pragma once

#include "engine/plan.hpp"

#include <memory>
#include <vector>

namespace heddle {

// In pack order.
struct MemberPlans : Attachment {
    std::vector<std::unique_ptr<const Plan>> plans; // each of one instance
    std::vector<int64_t> prefix;                    // packed bytes before each, and the total
};

// Of a plan with by_members, which keeps them. `layout` is that of its type. Errors: NO_MEMORY.
const MemberPlans &members_of(const Plan &plan, const Placed &layout);

} // namespace heddle
