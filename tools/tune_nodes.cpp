// SPDX-License-Identifier: BSD-3-Clause
#include "tune_nodes.hpp"

#include <fstream>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace heddle::tools {
namespace {

constexpr int most_nodes = 64; // bits of one word

} // namespace

std::vector<int> memory_nodes()
{
    std::ifstream in("/sys/devices/system/node/has_memory"); // "0-1,4"
    std::vector<int> nodes;
    int first = 0;
    while (in >> first) {
        int last = first;
        if (in.peek() == '-')
            in.ignore() >> last;
        for (int node = first; node <= last && node < most_nodes; ++node)
            nodes.push_back(node);
        in.ignore(); // a comma
    }
    return nodes;
}

int node_of(const void *at)
{
    int node = -1;
    return syscall(SYS_get_mempolicy, &node, nullptr, 0, at, MPOL_F_NODE | MPOL_F_ADDR) == 0 ? node
                                                                                             : -1;
}

OnNode::OnNode(int node)
{
    const unsigned long mask = 1UL << node;
    syscall(SYS_set_mempolicy, MPOL_BIND, &mask, most_nodes + 1); // the kernel counts one less
}

OnNode::~OnNode() { syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0); }

} // namespace heddle::tools
