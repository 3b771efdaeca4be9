// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/core/affinity.hpp"

#include "gpu/core/log.hpp"
#include "gpu/core/settings.hpp"

#include <mutex>

namespace heddle::gpu {

std::string describe(const Locality &locality)
{
    if (locality.node < 0)
        return "NUMA node not known";
    std::string node = "NUMA node " + std::to_string(locality.node);
    if (locality.own_cpus.empty())
        return node;
    return node + (locality.is_far ? ", far from this process (bound to CPUs " + locality.own_cpus +
                                         "; near: " + locality.device_cpus + ")"
                                   : ", near this process");
}

void warn_if_far(const Backend &backend, int device)
{
    static std::once_flag once;
    std::call_once(once, [&] {
        if (!Settings::get().affinity)
            return;
        const Locality found = backend.locality(device);
        if (!found.is_far)
            return;
        const std::string text =
            "bound to CPUs " + found.own_cpus + ", but device " + std::to_string(device) +
            " hangs on NUMA node " + std::to_string(found.node) + " (CPUs " + found.device_cpus +
            "): data take a detour between the host and it. Bind this process to those CPUs, or "
            "give it a device near its own (README.gpu, \"Affinity\"; HEDDLE_AFFINITY=0 for no "
            "warning)";
        warn_process(text);
    });
}

int node_for_warnings(const Backend &backend, int device)
{
    return Settings::get().affinity ? backend.locality(device).node : -1;
}

void warn_of_far_nic(const Backend &backend, int device, const FarNic &nic)
{
    warn_process("device " + std::to_string(device) + " hangs on NUMA node " +
                 std::to_string(backend.locality(device).node) + ", but its messages go by NIC " +
                 nic.name + " on NUMA node " + std::to_string(nic.node) +
                 ": data cross from one to the other. Near the device: " + nic.near_ones +
                 ". Start this process with UCX_NET_DEVICES=" + nic.near_ones +
                 ", or give it a device near its NIC (README.gpu, \"Affinity\"; HEDDLE_AFFINITY=0 "
                 "for no warning)");
}

} // namespace heddle::gpu
