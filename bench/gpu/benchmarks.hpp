// SPDX-License-Identifier: BSD-3-Clause
// What main registers. Names: LAYOUT/SIZE/OPERATION/PLACE/WHO.
#pragma once

#include "rival.hpp"
#include "timing.hpp"

#include <benchmark/benchmark.h>

namespace bench {

void register_limits();                          // copy, launch, empty kernel
void register_moves(std::vector<Rival> &rivals); // every layout by everyone, on the device and to
                                                 // pinned memory
void register_batch();                           // 26 parts of a halo
void register_copies();                          // from layout to layout
void register_reductions();                      // into a strided target

// How many samples a measurement takes at most, and for how many seconds.
constexpr int most_samples = 40, most_calls = 200;
constexpr double enough_seconds = 0.06;

constexpr int in_a_row = 4; // calls between two events

void report(benchmark::State &state, const Time &time, const std::string &name);

// The GPU time and the wall time of someone, and of Heddle beside it where that is told too.
void report_gpu(benchmark::State &state, const std::vector<Enqueue> &who, int repeat = in_a_row);
void report_wall(benchmark::State &state, const std::vector<Call> &who);

// Registers `body(state)`, which reports times by itself; what it throws is the benchmark's error.
template <class Body> void add(const std::string &name, Body body)
{
    benchmark::RegisterBenchmark(name.c_str(),
                                 [body](benchmark::State &state) {
                                     for (auto _ : state) {
                                         try {
                                             body(state);
                                         } catch (const std::exception &error) {
                                             cudaGetLastError(); // clears what can be cleared
                                             state.SkipWithError(error.what());
                                             break;
                                         }
                                     }
                                 })
        ->Iterations(1)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
}

} // namespace bench
