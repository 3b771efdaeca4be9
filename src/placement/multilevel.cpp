// SPDX-License-Identifier: BSD-3-Clause
// The multilevel partition of Scotch (https://gitlab.inria.fr/scotch/scotch), 7.0 or newer.
#include "placement/parts.hpp"

#include <algorithm>
#include <bit>

#ifdef HEDDLE_HAVE_SCOTCH
#include <cstdio>
// It needs FILE, and has types of the width that it was built with.
#include <scotch.h>
#endif

namespace heddle::placement {

#ifdef HEDDLE_HAVE_SCOTCH

namespace {

// Its time for each arc and bisection: 60 ns on a loaded EPYC, 80 000 arcs and 512 nodes.
constexpr int64_t kSteps = 40;

// Sums of weights must fit a SCOTCH_Num of 32 bits.
constexpr double kLargestSum = 1 << 30;

class Scotch {
public:
    Scotch(const Graph &graph, std::span<const int32_t> capacities, double imbalance)
        : is_ready_((SCOTCH_contextInit(&context_) | SCOTCH_graphInit(&graph_) |
                     SCOTCH_graphInit(&bound_) | SCOTCH_stratInit(&strategy_) |
                     SCOTCH_archInit(&nodes_)) == 0)
    {
        // One thread, and random numbers that are the same each time, in a state of our own.
        is_ready_ = is_ready_ && !SCOTCH_contextThreadSpawn(&context_, 1, nullptr) &&
                    !option(SCOTCH_OPTIONNUMDETERMINISTIC) &&
                    !option(SCOTCH_OPTIONNUMRANDOMFIXEDSEED);
        SCOTCH_contextRandomSeed(&context_, 1);
        SCOTCH_contextRandomReset(&context_);
        set_graph(graph);
        set_nodes(capacities, imbalance);
    }
    Scotch(const Scotch &) = delete;
    Scotch &operator=(const Scotch &) = delete;
    ~Scotch()
    {
        SCOTCH_archExit(&nodes_);
        SCOTCH_stratExit(&strategy_);
        SCOTCH_graphExit(&bound_);
        SCOTCH_graphExit(&graph_);
        SCOTCH_contextExit(&context_);
    }

    std::optional<Parts> map()
    {
        std::vector<SCOTCH_Num> parts(start_.size() - 1);
        if (!is_ready_ || SCOTCH_graphMap(&bound_, &nodes_, &strategy_, parts.data()))
            return {};
        return Parts(parts.begin(), parts.end());
    }

private:
    int option(int number) { return SCOTCH_contextOptionSetNum(&context_, number, 1); }

    void set_graph(const Graph &graph)
    {
        const double scale = kLargestSum / (2 * static_cast<double>(graph.total()) + 1);
        start_.push_back(0);
        for (int32_t v = 0; v < graph.vertices(); ++v) {
            for (const Arc &arc : graph.of(v)) {
                ends_.push_back(arc.to);
                const double weight = static_cast<double>(arc.weight) * (scale < 1 ? scale : 1);
                weights_.push_back(weight < 1 ? 1 : static_cast<SCOTCH_Num>(weight));
            }
            start_.push_back(static_cast<SCOTCH_Num>(ends_.size()));
        }
        is_ready_ =
            is_ready_ &&
            !SCOTCH_graphBuild(&graph_, 0, graph.vertices(), start_.data(), nullptr, nullptr,
                               nullptr, start_.back(), ends_.data(), weights_.data()) &&
            !SCOTCH_contextBindGraph(&context_, &graph_, &bound_);
    }

    void set_nodes(std::span<const int32_t> capacities, double imbalance)
    {
        const auto count = static_cast<SCOTCH_Num>(capacities.size());
        const std::vector<SCOTCH_Num> sizes(capacities.begin(), capacities.end());
        const bool equal = std::equal(sizes.begin() + 1, sizes.end(), sizes.begin());
        is_ready_ = is_ready_ &&
                    !(equal ? SCOTCH_archCmplt(&nodes_, count)
                            : SCOTCH_archCmpltw(&nodes_, count, sizes.data())) &&
                    !SCOTCH_stratGraphMapBuild(&strategy_, SCOTCH_STRATQUALITY, count, imbalance);
    }

    SCOTCH_Context context_;
    SCOTCH_Graph graph_, bound_;
    SCOTCH_Strat strategy_;
    SCOTCH_Arch nodes_;
    bool is_ready_;
    std::vector<SCOTCH_Num> start_, ends_, weights_; // the graph refers to them
};

} // namespace

bool has_multilevel() { return true; }

std::optional<Parts> multilevel(const Graph &graph, std::span<const int32_t> capacities,
                                double imbalance, Budget &budget)
{
    const auto bisections = static_cast<int64_t>(std::bit_width(capacities.size()));
    if (!budget.take(kSteps * static_cast<int64_t>(graph.arcs()) * bisections))
        return {};
    std::optional<Parts> parts = Scotch(graph, capacities, imbalance).map();
    if (parts)
        fit(graph, capacities, *parts);
    return parts;
}

#else

bool has_multilevel() { return false; }

std::optional<Parts> multilevel(const Graph &, std::span<const int32_t>, double, Budget &)
{
    return {};
}

#endif

} // namespace heddle::placement
