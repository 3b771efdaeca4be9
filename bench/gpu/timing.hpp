// SPDX-License-Identifier: BSD-3-Clause
// How long something takes: on the GPU, by events, and for the caller, by the clock.
#pragma once

#include "owner.hpp"

#include <functional>

namespace bench {

// Seconds: the median, and what a tenth of the samples lay below and above.
struct Time {
    double median = 0, low = 0, high = 0;
    int samples = 0;
};

Time time_of(std::vector<double> samples);

// GPU time between two events around what `enqueue(i, stream)` puts on the stream. Both events and the work
// are queued behind a kernel that waits, so that the time the CPU takes to queue them does not count. `i`
// numbers the calls. Each sample has `repeat` of them between the events and is divided by that: where a rate
// is asked for, what the events themselves cost shall not count. No more samples than `most`, and fewer where
// they take longer than `seconds` in all.
Time gpu_time(const std::function<void(int, cudaStream_t)> &enqueue, int most, double seconds,
              int repeat = 1);

// Time of a blocking call, each sample beside one of the launch of an empty kernel and a wait for its stream.
struct WallTime {
    Time call, launch;
};
WallTime wall_time(const std::function<void(int)> &call, int most, double seconds);

// The empty kernel.
void launch_empty(cudaStream_t stream);

} // namespace bench
