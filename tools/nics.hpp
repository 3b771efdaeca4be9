// SPDX-License-Identifier: BSD-3-Clause
// The NICs of this node, and where they hang, as Linux tells (sysfs).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace heddle::tools {

struct Nic {
    std::string name;
    bool is_infiniband; // or RoCE; otherwise a network interface
    int node;           // its NUMA node; -1: unknown, as where there is but one
};

// By name, InfiniBand's first. Interfaces without hardware behind them are left out. `classes`:
// /sys/class, but for tests.
std::vector<Nic> find_nics(const std::filesystem::path &classes = "/sys/class");

// "mlx5_0 (InfiniBand), NUMA node 1"
std::string described(const Nic &nic);

} // namespace heddle::tools
