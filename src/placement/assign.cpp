// SPDX-License-Identifier: BSD-3-Clause
#include "placement/annealing.hpp"
#include "placement/slots.hpp"

#include <algorithm>
#include <utility>

namespace heddle::placement {

namespace {

constexpr size_t kMostExact = 8;
constexpr size_t kTrials = 5; // for each vertex, in each round

// The problem of one node: flow between its vertices, times between its slots.
class Node {
public:
    Node(const Graph &graph, const Machine &machine, std::span<const int32_t> vertices,
         std::span<const int32_t> slots)
        : n_(vertices.size()), flow_(n_ * n_, 0), time_(n_ * n_, 0)
    {
        for (size_t i = 0; i < n_; ++i)
            for (const Arc &arc : graph.of(vertices[i])) {
                const auto found = std::find(vertices.begin(), vertices.end(), arc.to);
                if (found != vertices.end())
                    flow_[i * n_ + static_cast<size_t>(found - vertices.begin())] =
                        static_cast<double>(arc.weight);
            }
        for (size_t i = 0; i < n_; ++i)
            for (size_t j = 0; j < n_; ++j)
                time_[i * n_ + j] = machine.time(slots[i], slots[j]);
    }

    // seat: of each vertex, its slot's number. The best of all ways, found depth first: what is
    // placed already costs no less than the best that is known.
    void exact(std::vector<size_t> &seat)
    {
        best_ = seat;
        least_ = cost(seat);
        seat_.assign(n_, 0);
        is_free_.assign(n_, true);
        descend(0, 0);
        seat = best_;
    }

    // Swaps two at a time, until no swap gains. Each gain is above rounding, so this ends.
    void improve(std::vector<size_t> &seat, Budget &budget) const
    {
        const auto steps = static_cast<int64_t>(n_ * n_ * n_);
        const double rounding = 1e-9 * cost(seat);
        bool is_better = true;
        while (is_better && budget.take(steps)) {
            is_better = false;
            for (size_t a = 0; a < n_; ++a)
                for (size_t b = a + 1; b < n_; ++b)
                    if (swap_gain(seat, a, b) > rounding)
                        std::swap(seat[a], seat[b]), is_better = true;
        }
    }

    // For larger nodes: swaps that cost are taken, too, fewer and fewer.
    void anneal(std::vector<size_t> &seat, Budget &budget) const
    {
        if (!budget.take(kRounds * static_cast<int64_t>(kTrials * n_ * n_)))
            return;
        const std::vector<size_t> before = seat;
        Random random;
        double temperature = cost(seat) / static_cast<double>(n_);
        for (int64_t round = 0; round < kRounds; ++round, temperature *= kCooling)
            for (size_t i = 0; i < kTrials * n_; ++i) {
                const size_t a = random.below(n_), b = random.below(n_);
                if (a != b && random.accepts(-swap_gain(seat, a, b), temperature))
                    std::swap(seat[a], seat[b]);
            }
        if (cost(seat) >= cost(before))
            seat = before;
    }

private:
    double cost(const std::vector<size_t> &seat) const
    {
        double sum = 0;
        for (size_t i = 0; i < n_; ++i)
            sum += added(seat, i, seat[i]);
        return sum;
    }

    // By vertex i on a slot, to those before it.
    double added(const std::vector<size_t> &seat, size_t i, size_t slot) const
    {
        double sum = 0;
        for (size_t j = 0; j < i; ++j)
            sum += flow_[i * n_ + j] * time_[slot * n_ + seat[j]];
        return sum;
    }

    void descend(size_t i, double so_far)
    {
        if (i == n_) {
            least_ = so_far;
            best_ = seat_;
            return;
        }
        for (size_t slot = 0; slot < n_; ++slot) {
            if (!is_free_[slot])
                continue;
            const double sum = so_far + added(seat_, i, slot);
            if (sum >= least_ * (1 - 1e-12))
                continue;
            seat_[i] = slot;
            is_free_[slot] = false;
            descend(i + 1, sum);
            is_free_[slot] = true;
        }
    }

    double swap_gain(const std::vector<size_t> &seat, size_t a, size_t b) const
    {
        double gain = 0;
        for (size_t k = 0; k < n_; ++k)
            if (k != a && k != b)
                gain += (flow_[a * n_ + k] - flow_[b * n_ + k]) *
                        (time_[seat[a] * n_ + seat[k]] - time_[seat[b] * n_ + seat[k]]);
        return gain;
    }

    size_t n_;
    std::vector<double> flow_, time_;
    double least_ = 0;
    std::vector<size_t> best_, seat_;
    std::vector<bool> is_free_;
};

int64_t ways(size_t n) { return n < 2 ? 1 : static_cast<int64_t>(n) * ways(n - 1); }

} // namespace

void assign(const Graph &graph, const Machine &machine, Slots &slots, Budget &budget)
{
    if (!machine.has_rates())
        return;
    std::vector<std::vector<int32_t>> vertices(static_cast<size_t>(machine.nodes()));
    for (size_t v = 0; v < slots.size(); ++v)
        vertices[static_cast<size_t>(machine.node_of(slots[v]))].push_back(static_cast<int32_t>(v));
    for (int32_t number = 0; number < machine.nodes(); ++number) {
        const auto of_node = machine.slots_of(number);
        const auto &members = vertices[static_cast<size_t>(number)];
        const size_t n = members.size();
        if (!budget.take(static_cast<int64_t>(n * n)))
            return;
        Node node(graph, machine, members, of_node);
        std::vector<size_t> seat;
        for (const int32_t v : members)
            seat.push_back(static_cast<size_t>(
                std::lower_bound(of_node.begin(), of_node.end(), slots[static_cast<size_t>(v)]) -
                of_node.begin()));
        if (n > kMostExact)
            node.anneal(seat, budget);
        node.improve(seat, budget);
        if (n <= kMostExact && budget.take(2 * ways(n)))
            node.exact(seat);
        for (size_t i = 0; i < n; ++i)
            slots[static_cast<size_t>(members[i])] = of_node[seat[i]];
    }
}

} // namespace heddle::placement
