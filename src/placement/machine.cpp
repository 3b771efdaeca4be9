// SPDX-License-Identifier: BSD-3-Clause
#include "placement/machine.hpp"

#include <map>

namespace heddle::placement {

namespace {

// Within a node where nobody says more: an order of magnitude is the difference that matters.
constexpr double kTimeWithinNode = 0.1;

} // namespace

Machine::Machine(std::span<const int32_t> node_of_slot, std::span<const double> rates)
{
    std::map<int32_t, int32_t> numbers;
    for (size_t slot = 0; slot < node_of_slot.size(); ++slot) {
        const auto [found, is_new] =
            numbers.try_emplace(node_of_slot[slot], static_cast<int32_t>(slots_.size()));
        if (is_new)
            slots_.emplace_back();
        auto &members = slots_[static_cast<size_t>(found->second)];
        node_.push_back(found->second);
        index_.push_back(static_cast<int32_t>(members.size()));
        members.push_back(static_cast<int32_t>(slot));
    }
    if (rates.empty())
        return;
    for (const auto &members : slots_) {
        const size_t n = members.size();
        std::vector<double> &times = times_.emplace_back();
        for (size_t i = 0; i < n; ++i)
            for (size_t j = 0; j < n; ++j)
                times.push_back((1 / rates[i * n + j] + 1 / rates[j * n + i]) / 2);
        rates = rates.subspan(n * n);
    }
}

double Machine::time(int32_t a, int32_t b) const
{
    if (a == b)
        return 0;
    const int32_t node = node_of(a);
    if (node != node_of(b))
        return 1;
    if (!has_rates())
        return kTimeWithinNode;
    const auto row = static_cast<size_t>(index_[static_cast<size_t>(a)]);
    const auto column = static_cast<size_t>(index_[static_cast<size_t>(b)]);
    return times_[static_cast<size_t>(node)][row * slots_of(node).size() + column];
}

} // namespace heddle::placement
