// SPDX-License-Identifier: BSD-3-Clause
// Images in a device's memory: a general plan's image and the list of its runs, uploaded once for
// each device at first use, kept with the plan, and given back when the last type that has it goes
// and no stream can read it any more.
#pragma once

#include "../mpi/datatype/engine/plan.hpp"
#include "devices.hpp"

namespace heddle::gpu {

struct Resident {
    ~Resident();

    Slab memory; // counted while it is held
    ImageView image{nullptr, nullptr};
    RunList runs{}; // without displacements where the image has too many runs for a list, or too
                    // far apart, or there was no room
    std::atomic<bool> on_streams{false}; // callers' streams may read it
    std::unique_ptr<Resident> next;      // of those that are retired
};

// The plan's image on `device`; it lives as long as the plan. The first call uploads it, and waits
// for that. Errors: NO_MEMORY, DEVICE.
int resident(const Plan &plan, Device &device, const Resident *&found);

// Bytes that it takes there, if there is room for all of it.
int64_t resident_bytes(const Plan &plan);

// To be told before the image, which is there, is read on a stream of the caller's.
void read_on_stream(const Plan &plan, Device &device);

} // namespace heddle::gpu
