// SPDX-License-Identifier: BSD-3-Clause
// Images in a device's memory: a general plan's image and the list of its runs. They are uploaded
// once for each device, at first use, and kept with the plan. They are given back when the plan's
// last type is gone and no stream can read them any more.
#pragma once

#include "engine/plan.hpp"
#include "gpu/core/devices.hpp"
#include "gpu/image/repeated.hpp"

namespace heddle::gpu {

struct DeviceImage : Deferred {
    ~DeviceImage() override; // its memory is counted while it is held

    ImageView image{nullptr, nullptr};
    RunList runs{}; // without displacements where the image has too many runs for a list, or too
                    // far apart, or there was no room
    std::atomic<bool> on_streams{false}; // callers' streams may read it
};

// The image on `device` of what is repeated of the plan; it lives as long as the plan. The first
// call uploads it, and waits for that. Errors: NO_MEMORY, DEVICE.
Error device_image(const Plan &plan, const Repeated &of, Device &device, const DeviceImage *&found);

// Bytes that it takes there, if there is room for all of it.
int64_t device_image_bytes(const Plan &plan, const Repeated &of);

// To be called before a plan's images, which are there, are read on a stream of the caller's.
void read_on_stream(const Plan &plan, Device &device);

} // namespace heddle::gpu
