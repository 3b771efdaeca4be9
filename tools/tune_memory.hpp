// SPDX-License-Identifier: BSD-3-Clause
// Memory of the devices that are open and pinned memory, for measurements: of GPUs by the driver's
// own library, or of simulated devices by their plug-in's functions (src/gpu/sim/sim.h).
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace heddle::tools {

class TuneMemory {
public:
    // Null, with the reason, where no device is open or its library does not answer.
    static std::unique_ptr<TuneMemory> open(std::string &reason);
    virtual ~TuneMemory() = default;

    virtual std::string device() const = 0; // the first one's name
    virtual int devices() const = 0;
    // Null where there is not enough. It lives as long as this object, or until it is freed.
    virtual void *on_device(size_t bytes, int device) = 0;
    virtual void *pinned(size_t bytes) = 0;
    virtual void free(void *memory) = 0;
};

} // namespace heddle::tools
