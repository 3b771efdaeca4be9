// SPDX-License-Identifier: BSD-3-Clause
// How fast processes of a node reach each other: by their devices' links, or by their cores.
#include "gpu/core/devices.hpp"

#include <heddle_placement.h>

#include <algorithm>

using namespace heddle;

namespace {

// GB/s between nodes: a network card of 200 Gb/s for each device or so.
constexpr double kBetweenNodes = 25;

// Of processors, in the same unit: memory that both reach alike, of another part of the socket, of
// another socket. Where nobody knows more, a node's processes are ten times as near as others'.
constexpr double kSameMemory = 10, kOtherMemory = 8, kOtherSocket = 5;

bool is_one(const heddle_location *location)
{
    return location && location->bytes == sizeof *location;
}

bool differ(int32_t a, int32_t b) { return a >= 0 && b >= 0 && a != b; }

// Of this process: CUDA_VISIBLE_DEVICES may hide it.
int ordinal_of(const gpu::Devices &devices, const heddle_location &location)
{
    for (int device = 0; device < devices.count(); ++device) {
        const gpu::DeviceId id = devices.backend().id(device);
        if (std::equal(id.begin(), id.end(), location.device))
            return device;
    }
    return -1;
}

// 0: not known.
double rate_of_link(const heddle_location &from, const heddle_location &to)
{
    const gpu::Devices *const devices = gpu::Devices::if_open();
    if (!devices || !from.has_device || !to.has_device)
        return 0;
    const int here = ordinal_of(*devices, from), there = ordinal_of(*devices, to);
    return here < 0 || there < 0 ? 0 : devices->backend().link_rate(here, there);
}

} // namespace

int heddle_location_device(heddle_location *location)
{
    if (!is_one(location))
        return HEDDLE_ERR_ARG;
    const gpu::Devices *const devices = gpu::Devices::if_open();
    const int device = devices ? devices->backend().current_device() : -1;
    location->has_device = device >= 0;
    if (device >= 0) {
        const gpu::DeviceId id = devices->backend().id(device);
        std::copy(id.begin(), id.end(), location->device);
    }
    return HEDDLE_SUCCESS;
}

double heddle_location_rate(const heddle_location *from, const heddle_location *to)
{
    if (!is_one(from) || !is_one(to))
        return 0;
    if (const double gigabytes = rate_of_link(*from, *to); gigabytes > 0)
        return gigabytes / kBetweenNodes;
    return differ(from->socket, to->socket)   ? kOtherSocket
           : differ(from->memory, to->memory) ? kOtherMemory
                                              : kSameMemory;
}
