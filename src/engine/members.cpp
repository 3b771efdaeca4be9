// SPDX-License-Identifier: BSD-3-Clause
#include "engine/members.hpp"

namespace heddle {

const MemberPlans &members_of(const Plan &plan, const Placed &layout)
{
    return plan.attached<MemberPlans>(Attached::members, [&] {
        auto made = std::make_unique<MemberPlans>();
        int64_t bytes = 0;
        for (const Placed &each : layout.node->blocks->members) {
            const Placed member{layout.displ + each.displ, each.node};
            made->plans.push_back(std::make_unique<const Plan>(member, erase(member), 0));
            made->prefix.push_back(bytes);
            bytes += each.node->bytes;
        }
        made->prefix.push_back(bytes);
        return made;
    });
}

} // namespace heddle
