// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/transfer/by_members.hpp"

#include "engine/members.hpp"
#include "gpu/image/device_image.hpp"
#include "gpu/transfer/kernel_side.hpp"

#include <algorithm>

namespace heddle::gpu {

namespace {

bool has_members(const heddle_side &side)
{
    if (!side.type || heddle_type::is_freed(side.type))
        return false;
    const Plan *const plan = side.type->plan.load(std::memory_order_acquire);
    return plan && plan->by_members;
}

// More parts than this are better off with a list of runs.
constexpr int64_t most_parts = 64;

bool is_cut(const End &end, int64_t bytes)
{
    if (!end.plan->by_members)
        return false;
    const int64_t first = end.offset / end.plan->bytes,
                  last = (end.offset + bytes - 1) / end.plan->bytes;
    const auto members = static_cast<int64_t>(end.type->layout.node->blocks->members.size());
    return last - first < most_parts / members;
}

bool is_cut(const Move &move)
{
    return (is_cut(move.from, move.bytes) || is_cut(move.to, move.bytes)) && move.on_device &&
           move.op == HEDDLE_OP_REPLACE;
}

// What of an end is one member's.
struct Part {
    End end;
    int64_t bytes;
};

Part part_at(const End &end, int64_t bytes)
{
    if (!end.plan->by_members)
        return {end, bytes};
    const MemberPlans &members = members_of(*end.plan, end.type->layout);
    const int64_t instance = end.offset / end.plan->bytes, at = end.offset % end.plan->bytes;
    const auto next = std::upper_bound(members.prefix.begin(), members.prefix.end(), at);
    const auto i = static_cast<size_t>(next - members.prefix.begin() - 1);
    Part part{end, std::min(bytes, *next - at)};
    part.end.plan = members.plans[i].get();
    part.end.buf = end.displaced(instance * end.plan->extent);
    part.end.count = 1;
    part.end.offset = at - members.prefix[i];
    return part;
}

void add_parts(const Move &whole, Moves &moves)
{
    for (int64_t at = 0; at < whole.bytes;) {
        Move move = whole.part(at, whole.bytes - at);
        const Part from = part_at(move.from, move.bytes), to = part_at(move.to, move.bytes);
        move.from = from.end;
        move.to = to.end;
        move.bytes = std::min(from.bytes, to.bytes);
        moves.push_back(move);
        at += move.bytes;
    }
}

} // namespace

bool has_members(const heddle_move &asked)
{
    return has_members(asked.from) || has_members(asked.to);
}

void cut_at_members(Moves &moves, size_t first)
{
    for (size_t i = first, n = moves.size(); i < n;) {
        if (!is_cut(moves[i])) {
            ++i;
            continue;
        }
        const Move whole = moves[i];
        moves.erase(moves.begin() + static_cast<ptrdiff_t>(i));
        --n;
        add_parts(whole, moves);
    }
}

int64_t member_image_bytes(const heddle_type &type, const Plan &plan)
{
    int64_t bytes = 0;
    for (const auto &member : members_of(plan, type.layout).plans)
        if (!fits_parameters(*member, 1))
            bytes += device_image_bytes(*member, repeated(*member, 1));
    return bytes;
}

} // namespace heddle::gpu
