// SPDX-License-Identifier: BSD-3-Clause
#include "placement/place.hpp"

#include <numeric>
#include <optional>
#include <utility>

namespace heddle::placement {

namespace {

std::vector<int32_t> capacities_of(const Machine &machine)
{
    std::vector<int32_t> capacities(static_cast<size_t>(machine.nodes()));
    for (size_t node = 0; node < capacities.size(); ++node)
        capacities[node] = machine.capacity(static_cast<int32_t>(node));
    return capacities;
}

// The best parts of several ways.
class Search {
public:
    Search(const Graph &graph, const Machine &machine, Budget &budget)
        : graph_(graph),
          budget_(budget),
          capacities_(capacities_of(machine)),
          best_(machine.nodes_of_slots().begin(), machine.nodes_of_slots().end()),
          least_(between_nodes(graph, best_))
    {
    }

    // All the swaps go to the best of them: to divide them among three gave less.
    void run()
    {
        Budget half = budget_.take_half();
        consider(boxes(graph_, capacities_, half), Way::boxes);
        for (const double imbalance : {kEven, kLoose})
            consider(multilevel(graph_, capacities_, imbalance, half), Way::multilevel);
        budget_.give_back(half);
        Parts improved = best_;
        anneal(graph_, improved, budget_);
        consider(std::move(improved), way_);
    }

    const Parts &best() const { return best_; }
    Way way() const { return way_; }

private:
    // Between the sizes of parts, before vertices move until each part fits its node. Equal parts
    // are best for grids. Others gain where parts may first follow the graph.
    static constexpr double kEven = 0.01;
    static constexpr double kLoose = 0.2;

    void consider(std::optional<Parts> parts, Way way)
    {
        const int64_t between = parts ? between_nodes(graph_, *parts) : least_;
        if (between >= least_)
            return;
        least_ = between;
        best_ = std::move(*parts);
        way_ = way;
    }

    const Graph &graph_;
    Budget &budget_;
    std::vector<int32_t> capacities_;
    Parts best_;
    Way way_ = Way::identity;
    int64_t least_;
};

} // namespace

const char *name_of(Way way)
{
    switch (way) {
    case Way::identity:
        return "the given order";
    case Way::boxes:
        return "boxes of a grid";
    case Way::multilevel:
        return "Scotch";
    case Way::links:
        return "links within nodes";
    }
    return "";
}

Placement place(const Graph &graph, const Machine &machine, int64_t milliseconds)
{
    Placement made;
    made.slots.resize(static_cast<size_t>(machine.slots()));
    std::iota(made.slots.begin(), made.slots.end(), 0);
    Parts parts(machine.nodes_of_slots().begin(), machine.nodes_of_slots().end());
    made.between = made.between_before = between_nodes(graph, parts);
    made.time = made.time_before = time_of(graph, machine, made.slots);

    Budget budget(milliseconds);
    if (machine.nodes() > 1 && machine.nodes() < machine.slots()) {
        Search search(graph, machine, budget);
        search.run();
        parts = search.best();
        made.way = search.way();
        rename(machine, parts);
    }
    Slots slots = seat(machine, parts);
    assign(graph, machine, slots, budget);
    const double time = time_of(graph, machine, slots);
    if (time < made.time) {
        made.slots = std::move(slots);
        made.between = between_nodes(graph, parts);
        made.time = time;
        if (made.way == Way::identity && made.between == made.between_before)
            made.way = Way::links;
    } else {
        made.way = Way::identity;
    }
    return made;
}

} // namespace heddle::placement
