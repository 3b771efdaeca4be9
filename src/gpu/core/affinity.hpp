// SPDX-License-Identifier: BSD-3-Clause
// Whether the process may run near its devices.
#pragma once

#include "gpu/core/backend.hpp"

namespace heddle::gpu {

// "NUMA node 1, near this process", or that it is not known.
std::string describe(const Locality &locality);

// Warns of the first device that the process uses, where its processors are far from that. Later
// devices are not looked at: a process that uses several is near some of them at best.
void warn_if_far(const Backend &backend, int device);

// The NIC by which the data of a device leave the node, and better ones.
struct FarNic {
    std::string name;
    int node = -1;
    std::string near_ones; // on the device's NUMA node, separated by commas; UCX knows them so
};

// The NUMA node of a device; -1: not known, or the user wants no warnings.
int node_for_warnings(const Backend &backend, int device);
// Warns of that NIC. Its caller asks node_for_warnings before, and calls once in a process.
void warn_of_far_nic(const Backend &backend, int device, const FarNic &nic);

} // namespace heddle::gpu
