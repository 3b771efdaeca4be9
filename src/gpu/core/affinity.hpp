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

} // namespace heddle::gpu
