// SPDX-License-Identifier: BSD-3-Clause
// Host memory near a device: binds the calling thread's allocations to the device's NUMA node.
#pragma once

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

} // namespace heddle::gpu::cuda
