// SPDX-License-Identifier: BSD-3-Clause
// What the program finds: a line of JSON each on standard output, as soon as it is found.
#pragma once

#include "timing.hpp"

#include <string>
#include <vector>

namespace bench {

// What is not there or was refused, and what failed.
void say_note(const std::string &text);
void say_error(const std::string &text);
bool said_error();

// A copy of each length: `ways` is 2 where as many bytes go back at the same time.
struct Point {
    int64_t bytes;
    Time time;
};
struct Series {
    std::string method, from, to;
    int ways;
};
void say_series(const Series &series, const std::vector<Point> &points);

void say_gpu(int gpu, const std::string &name, const std::string &bus_id, int near_node,
             bool managed);

// A call of CUDA's: how long one takes each of so many threads that make it at once.
void say_call(const std::string &call, int threads, const Time &time);

// What so many kernels cost, one after the other.
void say_graph(const std::string &what, int kernels, const Time &time);

} // namespace bench
