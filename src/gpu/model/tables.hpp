// SPDX-License-Identifier: BSD-3-Clause
// The performance model (papers 002 and 004, section 5.5): the expected time of each method, from
// tables that were measured, and the method that is expected to be the soonest. Pure functions.
#pragma once

#include "gpu/model/grid.hpp"
#include "gpu/model/links.hpp"
#include "gpu/model/question.hpp"

#include <array>
#include <string>

namespace heddle::gpu::model {

// Whether staged data from the host are unpacked by a kernel that is launched when their copy has
// ended, if the caller waits for them (transfer/staged.cpp). Shorter copies mostly have by then.
// Behind longer ones a wrong guess costs more than a right one gains.
constexpr bool has_timed_steps(Path path, int64_t bytes)
{
    constexpr int64_t least = 48 << 10, end = 320 << 10; // where amounts remembered as one begin
    return path == Path::from_host && bytes >= least && bytes < end;
}

// What was measured of one device and its link with the host.
class Tables {
public:
    std::string device;   // its name, as the driver has it
    std::string origin;   // where the tables come from, for people
    double link_rate = 0; // GB/s to the host, as the driver has it; 0: not known

    // Several contiguous copies of one call share a kernel up to this size, for each copy costs the
    // engine a start of its own: within a device, and over its link with the host.
    int64_t together_most_bytes = int64_t{1} << 20;
    int64_t together_link_most_bytes = int64_t{1} << 20;

    Links links; // none in the tables that are built in

    const Grid &grid(Method method, Pattern pattern, Path path) const
    {
        return grids_[index(method, pattern, path)];
    }
    Grid &grid(Method method, Pattern pattern, Path path)
    {
        return grids_[index(method, pattern, path)];
    }

    // Seconds; infinity where nothing is known of it.
    double expected(Method method, const Question &question) const;
    // The soonest of `among`, with what some lose amid other transfers. Method::count where nothing
    // is known of any.
    Method best(const Question &question, Methods among) const;

private:
    static size_t index(Method method, Pattern pattern, Path path)
    {
        return (static_cast<size_t>(method) * static_cast<size_t>(Pattern::count) +
                static_cast<size_t>(pattern)) *
                   static_cast<size_t>(Path::count) +
               static_cast<size_t>(path);
    }

    std::array<Grid, static_cast<size_t>(Method::count) * static_cast<size_t>(Pattern::count) *
                         static_cast<size_t>(Path::count)>
        grids_;
};

} // namespace heddle::gpu::model
