// SPDX-License-Identifier: BSD-3-Clause
// How long a slow simulated device takes (sim.h: launch_ns and the like). What runs is carried out
// at once, and then waits for the clock.
#pragma once

#include "gpu/core/backend.hpp"
#include "gpu/sim/switches.hpp"

#include <array>
#include <chrono>
#include <mutex>

namespace heddle::gpu::sim {

// What an operation has to do, as far as that takes time.
struct Effort {
    int64_t begin_ns = 0;     // before its first byte
    int64_t memory_bytes = 0; // read or written in the device's memory
    int64_t to_link_bytes = 0;
    int64_t from_link_bytes = 0;
    int64_t pieces_ns = 0; // of rows or blocks
};

// Of a kernel that does the work: which ends are over the link the work says itself.
Effort effort_of(const Work &work, const Speeds &speeds);
// Of a copy. Whether its ends are the device's own memory, its caller knows.
Effort effort_of(const Layers &copy, bool own_from, bool own_to, const Speeds &speeds);
// Of both, in one launch.
void add(Effort &sum, const Effort &more);

// The clock of one device.
class Pace {
public:
    using Clock = std::chrono::steady_clock;

    // Waits until what began then has had its time. Nothing where the device is not slow.
    void wait(Clock::time_point begin, const Effort &effort, const Speeds &speeds);

private:
    // Until when the link is taken: to the device's memory, and away from it.
    std::mutex mutex_;
    std::array<Clock::time_point, 2> link_free_{};
};

} // namespace heddle::gpu::sim
