// SPDX-License-Identifier: BSD-3-Clause
#include "placement/slots.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace heddle::placement {

namespace {

// Vertices of a part that were on a node.
struct Overlap {
    int32_t part;
    int32_t node;
    int32_t vertices;
};

// Those of equal size, the most vertices first.
std::vector<Overlap> overlaps_of(const Machine &machine, const Parts &parts)
{
    std::map<std::pair<int32_t, int32_t>, int32_t> counts;
    for (size_t v = 0; v < parts.size(); ++v)
        ++counts[{parts[v], machine.node_of(static_cast<int32_t>(v))}];
    std::vector<Overlap> overlaps;
    for (const auto &[pair, vertices] : counts)
        if (machine.capacity(pair.first) == machine.capacity(pair.second))
            overlaps.push_back({pair.first, pair.second, vertices});
    std::stable_sort(overlaps.begin(), overlaps.end(),
                     [](const Overlap &a, const Overlap &b) { return a.vertices > b.vertices; });
    return overlaps;
}

} // namespace

void rename(const Machine &machine, Parts &parts)
{
    const auto nodes = static_cast<size_t>(machine.nodes());
    std::vector<int32_t> node_of_part(nodes, -1);
    std::vector<bool> is_taken(nodes, false);
    for (const Overlap &overlap : overlaps_of(machine, parts)) {
        int32_t &node = node_of_part[static_cast<size_t>(overlap.part)];
        if (node >= 0 || is_taken[static_cast<size_t>(overlap.node)])
            continue;
        node = overlap.node;
        is_taken[static_cast<size_t>(node)] = true;
    }
    // The rest in order, each size by itself.
    std::map<int32_t, int32_t> next;
    for (int32_t part = 0; part < machine.nodes(); ++part) {
        if (node_of_part[static_cast<size_t>(part)] >= 0)
            continue;
        int32_t &node = next[machine.capacity(part)];
        while (is_taken[static_cast<size_t>(node)] ||
               machine.capacity(node) != machine.capacity(part))
            ++node;
        node_of_part[static_cast<size_t>(part)] = node;
        is_taken[static_cast<size_t>(node)] = true;
    }
    for (int32_t &part : parts)
        part = node_of_part[static_cast<size_t>(part)];
}

Slots seat(const Machine &machine, const Parts &parts)
{
    Slots slots(parts.size(), -1);
    std::vector<bool> is_taken(parts.size(), false);
    for (size_t v = 0; v < parts.size(); ++v)
        if (machine.node_of(static_cast<int32_t>(v)) == parts[v]) {
            slots[v] = static_cast<int32_t>(v);
            is_taken[v] = true;
        }
    std::vector<size_t> next(static_cast<size_t>(machine.nodes()), 0);
    for (size_t v = 0; v < parts.size(); ++v) {
        if (slots[v] >= 0)
            continue;
        const auto of_node = machine.slots_of(parts[v]);
        size_t &i = next[static_cast<size_t>(parts[v])];
        while (is_taken[static_cast<size_t>(of_node[i])])
            ++i;
        slots[v] = of_node[i++];
    }
    return slots;
}

double time_of(const Graph &graph, const Machine &machine, const Slots &slots)
{
    double sum = 0;
    for (int32_t v = 0; v < graph.vertices(); ++v)
        for (const Arc &arc : graph.of(v))
            if (v < arc.to)
                sum +=
                    static_cast<double>(arc.weight) *
                    machine.time(slots[static_cast<size_t>(v)], slots[static_cast<size_t>(arc.to)]);
    return sum;
}

} // namespace heddle::placement
