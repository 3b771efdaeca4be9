// SPDX-License-Identifier: BSD-3-Clause
// The parts of the program, in the order of their sources.
#pragma once

#include "method.hpp"

namespace bench {

// Whether a GPU and the host may touch managed memory at the same time, which all of its
// measurements need.
bool shares_managed(int gpu);

// What the GPUs are, and what is not there.
void say_machine(int gpus);

// Between the host's memory and each GPU.
void measure_host(int gpus, const Limits &limits);

// Between every ordered pair of GPUs, and on each of them.
void measure_pairs(int gpus, const Limits &limits);

// Lets two GPUs reach into each other's memory; false: they cannot.
bool let_access(int one, int other);
// Data with gaps between the first two GPUs.
void measure_gaps(int gpus, Limits limits);

// Calls of CUDA's by 1 to 8 threads, and graphs of kernels, on the first GPU.
void measure_calls();
void measure_graphs(const Limits &limits);

} // namespace bench
