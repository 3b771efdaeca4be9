// SPDX-License-Identifier: BSD-3-Clause
// NUMA nodes of the host, by the kernel's own calls: the tools link to no hwloc.
#pragma once

#include <vector>

namespace heddle::tools {

// The nodes that have memory. Empty where the kernel does not say.
std::vector<int> memory_nodes();

// The node of the page at `at`; -1: the kernel does not say.
int node_of(const void *at);

// For as long as it lives, the thread's new pages come from that node, where the kernel lets them:
// containers often forbid it. So look at node_of afterwards.
class OnNode {
public:
    explicit OnNode(int node);
    ~OnNode();
    OnNode(const OnNode &) = delete;
    OnNode &operator=(const OnNode &) = delete;
};

} // namespace heddle::tools
