// SPDX-License-Identifier: BSD-3-Clause
// What hwloc knows of a device: the NUMA node of its memory on the host, and the processors near
// it.
#pragma once

#include "gpu/core/backend.hpp"

#include <memory>
#include <string>

namespace heddle::gpu::cuda {

// From its construction to its end, the thread's new pages come from the NUMA node that the PCI
// device hangs on. Does nothing where hwloc does not know, as on a machine of one node: that is a
// loss of speed only.
class NearDevice {
public:
    explicit NearDevice(const std::string &bus_id);
    ~NearDevice();
    NearDevice(const NearDevice &) = delete;
    NearDevice &operator=(const NearDevice &) = delete;

private:
    struct Before;
    std::unique_ptr<Before> before_;
};

// Nothing is known of a device that hwloc does not find, or puts on all of several nodes at once.
Locality locality_of(const std::string &bus_id);

} // namespace heddle::gpu::cuda
