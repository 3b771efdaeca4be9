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

// What puts work on a stream, and what makes a blocking call; the number says which call it is.
using Enqueue = std::function<void(int, cudaStream_t)>;
using Call = std::function<void(int)>;

// GPU time between two events around what `enqueue(i, stream)` puts on the stream. Both events and
// the work are queued behind a kernel that waits until all of it is there. So the CPU's time to
// queue it does not count. Each sample has `repeat` of them between the events and is divided by
// that, so that the events' own cost counts little. No more samples than `most`, and fewer where
// they take longer than `seconds` in all.
Time gpu_time(const Enqueue &enqueue, int most, double seconds, int repeat);

// Several side by side: a sample of each in turn,
// for the GPU's clock changes from minute to minute.
std::vector<Time> gpu_times(const std::vector<Enqueue> &all, int most, double seconds, int repeat);

// Time of blocking calls side by side, and of the launch of an empty kernel and a wait for its
// stream, which goes before each. `before(i)` comes first, and is not timed.
struct WallTimes {
    std::vector<Time> calls;
    Time launch;
};
WallTimes wall_times(const std::vector<Call> &all, int most, double seconds,
                     const Call &before = nullptr);

// The empty kernel.
void launch_empty(cudaStream_t stream);

} // namespace bench
