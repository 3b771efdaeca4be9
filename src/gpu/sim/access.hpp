// SPDX-License-Identifier: BSD-3-Clause
// A device's view of memory: where an address really lies, if the device can reach it at all.
#pragma once

#include "gpu/sim/memory.hpp"

namespace heddle::gpu::sim {

// Rights that copies have and kernels do not, and rights that a launch gives up.
struct Limits {
    bool peers = false;    // reach the memory of any device
    bool pageable = false; // and the host's
    bool own = false; // reach the device's own memory only: for others' a kernel takes fences that
                      // this one was not asked for
};

class Access {
public:
    // `what` runs, for messages.
    Access(const Memories &memories, int device, std::string what, Limits limits = {})
        : memories_(memories), device_(device), what_(std::move(what)), limits_(limits)
    {
    }

    // The real place of `bytes` bytes, aligned to `alignment`; null after an error.
    std::byte *reach(uintptr_t address, size_t bytes, size_t alignment = 1)
    {
        if (range_.holds(address, bytes) && address % alignment == 0)
            return range_.at(address);
        return look_up(address, bytes, alignment);
    }
    template <class T> const T *reach_array(const T *array, int64_t count)
    {
        if (count < 0)
            return static_cast<const T *>(
                refuse(reinterpret_cast<uintptr_t>(array), 0, "a negative count"));
        return reinterpret_cast<const T *>(reach(reinterpret_cast<uintptr_t>(array),
                                                 static_cast<size_t>(count) * sizeof(T),
                                                 alignof(T)));
    }

    const Fault &error() const { return error_; }

private:
    std::byte *look_up(uintptr_t address, size_t bytes, size_t alignment);
    void *refuse(uintptr_t address, size_t bytes, const char *why);

    const Memories &memories_;
    const int device_;
    const std::string what_;
    const Limits limits_;
    Range range_; // the last one that was met
    Fault error_; // the first one
};

} // namespace heddle::gpu::sim
