// SPDX-License-Identifier: BSD-3-Clause
// The C API of placement: arguments are checked, what was gained is counted and logged.
#include "engine/guard.hpp"
#include "engine/sized.hpp"
#include "gpu/core/counters.hpp"
#include "gpu/core/error_detail.hpp"
#include "gpu/core/log.hpp"
#include "gpu/core/settings.hpp"
#include "placement/place.hpp"

#include <heddle_placement.h>

#include <algorithm>
#include <atomic>

using namespace heddle;
using namespace heddle::placement;

namespace {

struct Totals {
    std::atomic<int64_t> moved, kept, before, after;
} totals;

const gpu::Source source([](gpu::Counts &counts) {
    const auto add = [&](const char *name, const std::atomic<int64_t> &value) {
        counts.push_back({"placements", name,
                          "placements that moved ranks, or kept them; weight between nodes",
                          value.load(std::memory_order_relaxed)});
    };
    add("moved", totals.moved);
    add("kept", totals.kept);
    add("between_nodes_before", totals.before);
    add("between_nodes_after", totals.after);
});

bool is_vertex(int32_t v, const heddle_placement_problem &p) { return v >= 0 && v < p.vertices; }

Error check(const heddle_placement_problem &p)
{
    if (p.vertices < 0 || p.slots < p.vertices || p.edges < 0 || (p.slots > 0 && !p.node) ||
        (p.edges > 0 && (!p.from || !p.to)))
        return HEDDLE_ERR_ARG;
    int64_t sum = 0;
    for (int64_t i = 0; i < p.edges; ++i) {
        const int64_t weight = p.weight ? p.weight[i] : 1;
        if (!is_vertex(p.from[i], p) || !is_vertex(p.to[i], p) || weight < 0)
            return HEDDLE_ERR_ARG;
        // Gains compare a few sums of all weights.
        if (__builtin_add_overflow(sum, weight, &sum) || sum > INT64_MAX / 8)
            return HEDDLE_ERR_OVERFLOW;
    }
    return HEDDLE_SUCCESS;
}

Graph graph_of(const heddle_placement_problem &p)
{
    std::vector<Edge> edges;
    edges.reserve(static_cast<size_t>(p.edges));
    for (int64_t i = 0; i < p.edges; ++i)
        edges.push_back({p.from[i], p.to[i], p.weight ? p.weight[i] : 1});
    return Graph(p.slots, edges);
}

// The rates that the machine's nodes need; false where one makes no sense.
bool read_rates(const heddle_placement_problem &p, std::span<const double> &rates)
{
    if (!p.rates)
        return true;
    const Machine plain({p.node, static_cast<size_t>(p.slots)});
    size_t count = 0;
    for (int32_t node = 0; node < plain.nodes(); ++node) {
        const auto n = static_cast<size_t>(plain.capacity(node));
        for (size_t i = 0; i < n * n; ++i)
            if (i % (n + 1) != 0 && !(p.rates[count + i] > 0))
                return false;
        count += n * n;
    }
    rates = {p.rates, count};
    return true;
}

void tell(const heddle_placement_problem &p, const heddle_placement &made, const Placement &placed)
{
    (made.moved ? totals.moved : totals.kept).fetch_add(1, std::memory_order_relaxed);
    totals.before.fetch_add(made.between_before, std::memory_order_relaxed);
    totals.after.fetch_add(made.between, std::memory_order_relaxed);
    if (!gpu::logs(gpu::Topic::policy))
        return;
    const double all = 100 / std::max(1.0, static_cast<double>(made.total));
    gpu::log_line(
        gpu::Topic::policy,
        "placement: %d of %d ranks move; between nodes %.1f %% of the weight, before %.1f %%; "
        "time %.4g, before %.4g: %s%s",
        made.moved, p.vertices, static_cast<double>(made.between) * all,
        static_cast<double>(made.between_before) * all, placed.time, placed.time_before, made.way,
        has_multilevel() ? "" : " (this build has no partitioner: configure found no Scotch)");
}

} // namespace

int heddle_place(const heddle_placement_problem *problem, int32_t *slot, heddle_placement *result)
{
    gpu::clear_error_detail();
    if (!problem || problem->bytes != sizeof *problem || (result && !is_sized(result)))
        return HEDDLE_ERR_ARG;
    const heddle_placement_problem &p = *problem;
    return guard([&]() -> Error {
        if (const Error e = check(p))
            return e;
        std::span<const double> rates;
        if ((p.vertices > 0 && !slot) || p.milliseconds < -1 || !read_rates(p, rates))
            return HEDDLE_ERR_ARG;
        const Graph graph = graph_of(p);
        const Machine machine({p.node, static_cast<size_t>(p.slots)}, rates);
        const int64_t limit = p.milliseconds < 0 ? heddle_placement_limit() : p.milliseconds;
        const Placement placed = place(graph, machine, std::min(limit, kLongestMilliseconds));

        heddle_placement made{};
        for (int32_t v = 0; v < p.vertices; ++v) {
            slot[v] = placed.slots[static_cast<size_t>(v)];
            made.moved += slot[v] != v;
        }
        made.total = graph.total();
        made.between = placed.between;
        made.between_before = placed.between_before;
        made.way = name_of(placed.way);
        tell(p, made, placed);
        if (result)
            write_sized(made, result);
        return HEDDLE_SUCCESS;
    });
}

int64_t heddle_placement_limit(void) { return gpu::Settings::get().placement; }
