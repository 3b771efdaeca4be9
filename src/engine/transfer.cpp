// SPDX-License-Identifier: BSD-3-Clause
#include "engine/transfer.hpp"

#include "engine/predefined.hpp"
#include "engine/runs.hpp"
#include "engine/walk.hpp"

#include <array>
#include <cassert>

namespace heddle {

namespace {

template <Dir D> void transfer(const Plan &plan, int64_t count, Address memory, Address packed,
                               int64_t lo, int64_t hi)
{
    if (lo >= hi)
        return;
    assert(lo >= 0 && hi <= count * plan.bytes);
    const Address m = at(memory, plan.displ);
    if (plan.contiguous)
        return move<D>(at(m, lo), packed, static_cast<size_t>(hi - lo));
    const Walk<D> walk(plan.image.view());
    const Strides instances{count, plan.extent, plan.bytes};
    if (lo == 0 && hi == count * plan.bytes)
        return walk.whole(0, instances, m, packed);
    walk.repeated(0, plan.bytes, plan.by_bytes, instances, lo, hi, m, at(packed, -lo));
}

// Above this mean length of a run, a copy goes from run to run; below, through a tile in the cache.
constexpr int64_t long_run = 2048;
constexpr int64_t tile_bytes = 16384;

bool has_long_runs(const Plan &p) { return p.contiguous || p.bytes / p.runs >= long_run; }

} // namespace

void pack_range(const Plan &plan, int64_t count, const void *memory, void *packed, int64_t lo,
                int64_t hi)
{
    transfer<Dir::pack>(plan, count, reinterpret_cast<Address>(memory),
                        reinterpret_cast<Address>(packed), lo, hi);
}

void unpack_range(const Plan &plan, int64_t count, void *memory, const void *packed, int64_t lo,
                  int64_t hi)
{
    transfer<Dir::unpack>(plan, count, reinterpret_cast<Address>(memory),
                          reinterpret_cast<Address>(packed), lo, hi);
}

void copy_range(const Plan &from, int64_t from_count, const void *source, const Plan &to,
                int64_t to_count, void *target, int64_t lo, int64_t hi)
{
    const auto s = reinterpret_cast<Address>(source);
    const auto t = reinterpret_cast<Address>(target);
    if (lo >= hi)
        return;
    if (&from == &to && !from.contiguous) {
        const Walk<Dir::same> walk(from.image.view());
        const Strides instances{std::min(from_count, to_count), from.extent, from.extent};
        walk.repeated(0, from.bytes, from.by_bytes, instances, lo, hi, at(s, from.displ),
                      at(t, from.displ));
        return;
    }
    if (to.contiguous)
        return transfer<Dir::pack>(from, from_count, s, at(t, to.displ + lo), lo, hi);
    if (has_long_runs(from)) {
        visit_instances(from, false, from_count, lo, hi,
                        [&](int64_t displ, int64_t bytes, uint8_t) {
                            transfer<Dir::unpack>(to, to_count, t, at(s, displ), lo, lo + bytes);
                            lo += bytes;
                            return true;
                        });
        return;
    }
    if (has_long_runs(to)) {
        visit_instances(to, false, to_count, lo, hi, [&](int64_t displ, int64_t bytes, uint8_t) {
            transfer<Dir::pack>(from, from_count, s, at(t, displ), lo, lo + bytes);
            lo += bytes;
            return true;
        });
        return;
    }
    alignas(64) std::array<char, tile_bytes> tile;
    const auto b = reinterpret_cast<Address>(tile.data());
    for (; lo < hi; lo += tile_bytes) {
        const int64_t end = std::min(hi, lo + tile_bytes);
        transfer<Dir::pack>(from, from_count, s, b, lo, end);
        transfer<Dir::unpack>(to, to_count, t, b, lo, end);
    }
}

int64_t whole_elements(const Plan &plan, int64_t count, int64_t lo, int64_t hi)
{
    if (hi == count * plan.bytes)
        return hi;
    int64_t excess;
    if (plan.grain > 0) {
        excess = hi % plan.grain;
    } else {
        const int64_t id = hi % plan.bytes;
        if (id == 0)
            return hi;
        const Location l = locate(plan.typed_image().view(), id);
        excess = l.within % predefined_info(static_cast<heddle_predefined>(l.label)).size;
    }
    return hi - excess > lo ? hi - excess : hi;
}

} // namespace heddle
