// SPDX-License-Identifier: BSD-3-Clause
// The C API of affinity. What transports know of their NICs meets here what plug-ins know of their
// devices.
#include "gpu/core/affinity.hpp"

#include "gpu/core/devices.hpp"
#include "gpu/core/error_detail.hpp"

#include <heddle_message.h>

using namespace heddle;

namespace {

// The open plug-in if it has that device, else null.
const gpu::Backend *backend_with(int device)
{
    const gpu::Devices *const devices = gpu::Devices::if_open();
    return devices && device >= 0 && device < devices->count() ? &devices->backend() : nullptr;
}

} // namespace

int heddle_affinity_node(int device)
{
    int node = -1;
    guard([&] {
        if (const gpu::Backend *const backend = backend_with(device))
            node = gpu::node_for_warnings(*backend, device);
    });
    return node;
}

void heddle_affinity_far_nic(int device, const char *nic, int node, const char *near_ones)
{
    guard([&] {
        const gpu::Backend *const backend = backend_with(device);
        if (backend && nic && near_ones)
            gpu::warn_of_far_nic(*backend, device, {nic, node, near_ones});
    });
}
