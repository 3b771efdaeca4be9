// SPDX-License-Identifier: BSD-3-Clause
#include "placement/parts.hpp"

#include <algorithm>
#include <limits>

namespace heddle::placement {

int64_t between_nodes(const Graph &graph, const Parts &parts)
{
    int64_t sum = 0;
    for (int32_t v = 0; v < graph.vertices(); ++v)
        for (const Arc &arc : graph.of(v))
            if (v < arc.to && parts[static_cast<size_t>(v)] != parts[static_cast<size_t>(arc.to)])
                sum += arc.weight;
    return sum;
}

Parts cut(std::span<const int32_t> order, std::span<const int32_t> capacities)
{
    Parts parts(order.size());
    size_t next = 0;
    for (size_t node = 0; node < capacities.size(); ++node)
        for (int32_t i = 0; i < capacities[node]; ++i)
            parts[static_cast<size_t>(order[next++])] = static_cast<int32_t>(node);
    return parts;
}

namespace {

struct Move {
    int64_t gain = std::numeric_limits<int64_t>::min();
    int32_t vertex = -1;
    int32_t to = -1;
};

// The parts that have too many vertices, or too few.
class Fit {
public:
    Fit(const Graph &graph, std::span<const int32_t> capacities, Parts &parts)
        : graph_(graph),
          parts_(parts),
          room_(capacities.begin(), capacities.end()),
          said_(capacities.size(), 0),
          members_(capacities.size())
    {
        for (size_t v = 0; v < parts_.size(); ++v) {
            --room_[static_cast<size_t>(parts_[v])];
            members_[static_cast<size_t>(parts_[v])].push_back(static_cast<int32_t>(v));
        }
    }

    void run()
    {
        for (size_t node = 0; node < room_.size(); ++node)
            while (room_[node] < 0)
                carry_out(best_from(node));
    }

private:
    Move best_from(size_t node)
    {
        while (room_[roomy_] <= 0)
            ++roomy_;
        Move best;
        for (const int32_t v : members_[node])
            if (const Move move = best_of(v); move.gain > best.gain)
                best = move;
        return best;
    }

    // To the neighbours' node that gains most, else to any with room.
    Move best_of(int32_t v)
    {
        const auto own = static_cast<size_t>(parts_[static_cast<size_t>(v)]);
        for (const Arc &arc : graph_.of(v))
            said_[part_of(arc)] += arc.weight;
        Move best{-said_[own], v, static_cast<int32_t>(roomy_)};
        for (const Arc &arc : graph_.of(v)) {
            const size_t to = part_of(arc);
            if (room_[to] > 0 && said_[to] - said_[own] > best.gain)
                best = {said_[to] - said_[own], v, static_cast<int32_t>(to)};
        }
        for (const Arc &arc : graph_.of(v))
            said_[part_of(arc)] = 0;
        return best;
    }

    void carry_out(const Move &move)
    {
        int32_t &part = parts_[static_cast<size_t>(move.vertex)];
        std::erase(members_[static_cast<size_t>(part)], move.vertex);
        members_[static_cast<size_t>(move.to)].push_back(move.vertex);
        ++room_[static_cast<size_t>(part)];
        --room_[static_cast<size_t>(move.to)];
        part = move.to;
    }

    size_t part_of(const Arc &arc) const
    {
        return static_cast<size_t>(parts_[static_cast<size_t>(arc.to)]);
    }

    const Graph &graph_;
    Parts &parts_;
    std::vector<int32_t> room_; // below 0: too many vertices
    std::vector<int64_t> said_; // what one vertex says to each part; zero in between
    std::vector<std::vector<int32_t>> members_;
    size_t roomy_ = 0; // the first with room
};

} // namespace

void fit(const Graph &graph, std::span<const int32_t> capacities, Parts &parts)
{
    Fit(graph, capacities, parts).run();
}

} // namespace heddle::placement
