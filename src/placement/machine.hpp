// SPDX-License-Identifier: BSD-3-Clause
// Where processes run: slots on nodes. All nodes are equally far from each other; within a node
// each pair of slots may have a rate of its own (NVLink, PCIe, the sockets' link).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace heddle::placement {

class Machine {
public:
    // node_of_slot: any numbers, equal for the slots of one node. rates: of each node in the order
    // of its first slot, a row for each of its slots in order, in units of the rate between nodes;
    // empty where all slots of a node are equal. Each is above 0.
    Machine(std::span<const int32_t> node_of_slot, std::span<const double> rates = {});

    int32_t slots() const { return static_cast<int32_t>(node_.size()); }
    int32_t nodes() const { return static_cast<int32_t>(slots_.size()); }
    int32_t node_of(int32_t slot) const { return node_[static_cast<size_t>(slot)]; }
    std::span<const int32_t> slots_of(int32_t node) const
    {
        return slots_[static_cast<size_t>(node)];
    }
    int32_t capacity(int32_t node) const { return static_cast<int32_t>(slots_of(node).size()); }
    std::span<const int32_t> nodes_of_slots() const { return node_; }

    // Whether slots of a node differ in what they reach.
    bool has_rates() const { return !times_.empty(); }
    // Of a unit of data between two slots, the mean of both directions; between nodes it is 1.
    double time(int32_t a, int32_t b) const;

private:
    std::vector<int32_t> node_;  // of each slot, from 0 on
    std::vector<int32_t> index_; // of each slot within its node
    std::vector<std::vector<int32_t>> slots_;
    std::vector<std::vector<double>> times_; // a square for each node, or nothing
};

} // namespace heddle::placement
