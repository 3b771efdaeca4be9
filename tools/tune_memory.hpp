// SPDX-License-Identifier: BSD-3-Clause
// Memory of the device that is open and pinned memory, for measurements: of the first GPU by the
// driver's own library, or of the simulated device by its plug-in's functions (src/gpu/sim/sim.h).
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

    virtual std::string device() const = 0; // its name
    // Null where there is not enough. It lives as long as this object.
    virtual void *on_device(size_t bytes) = 0;
    virtual void *pinned(size_t bytes) = 0;
};

} // namespace heddle::tools
