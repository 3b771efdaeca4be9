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
    int64_t to_peer_bytes = 0; // over links between devices
    int64_t from_peer_bytes = 0;
    int64_t pieces_ns = 0; // of rows or blocks
};

// The memory at the ends of an operation, as the device that carries it out sees it.
enum class Where : uint8_t { own, peer, elsewhere };
struct Ends {
    Where from, to;
};

// Of a kernel that does the work, and of a copy.
Effort effort_of(const Work &work, const Ends &ends, const Speeds &speeds);
Effort effort_of(const Layers &copy, const Ends &ends, const Speeds &speeds);
// Of both, in one launch.
void add(Effort &sum, const Effort &more);

// The clock of one device.
class Pace {
public:
    using Clock = std::chrono::steady_clock;

    // Waits until what began then has had its time. Nothing where the device is not slow.
    void wait(Clock::time_point begin, const Effort &effort, const Speeds &speeds);

    // Until so long after the begin.
    static void wait_for(Clock::time_point begin, int64_t ns);

private:
    // Until when each link is taken: with the host and with other devices, to the device's memory
    // and away from it.
    std::mutex mutex_;
    std::array<Clock::time_point, 4> link_free_{};
};

} // namespace heddle::gpu::sim
