// SPDX-License-Identifier: BSD-3-Clause
// The host's NUMA nodes: which one a GPU hangs on, and memory of one of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace bench {

// The nodes that have memory, by the operating system's numbers; empty where hwloc knows nothing.
std::vector<int> memory_nodes();

// The node that a PCI device hangs on, by its bus id.
std::optional<int> node_of_device(const std::string &bus_id);

// From its construction to its end the calling thread runs on a node's processors, and its new
// pages are that node's.
class OnNode {
public:
    explicit OnNode(int node);
    OnNode(const OnNode &) = delete;
    ~OnNode();

    // False where the system refused it.
    bool bound() const { return bound_; }

private:
    bool bound_ = false;
};

// Whether all of the pages lie on a node; nothing where the system does not say.
std::optional<bool> lies_on(const void *at, size_t bytes, int node);

} // namespace bench
