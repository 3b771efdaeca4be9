// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/sim/pace.hpp"

#include "gpu/sim/sim.h"

#include <dlfcn.h>

#include <algorithm>
#include <numeric>
#include <thread>

namespace heddle::gpu::sim {
namespace {

constexpr int64_t line_bytes = 64; // of host memory

std::chrono::nanoseconds time_of(int64_t bytes, int64_t mb_per_second)
{
    const double ns = mb_per_second > 0
                          ? 1e3 * static_cast<double>(bytes) / static_cast<double>(mb_per_second)
                          : 0;
    return std::chrono::nanoseconds(static_cast<int64_t>(ns));
}

int64_t blocks_of(const Side &side, int64_t bytes)
{
    if (side.shape == Shape::strided)
        return bytes / side.block;
    if (side.shape == Shape::image && side.listed())
        return bytes * side.runs.count / std::max<int64_t>(side.runs.bytes, 1);
    return 0;
}

// By a clock of its own the device only says how late it is (sim.h).
void sleep_until(Pace::Clock::time_point end)
{
    using Reach = decltype(heddle_sim_clock_reach);
    static Reach *const reach =
        reinterpret_cast<Reach *>(dlsym(RTLD_DEFAULT, "heddle_sim_clock_reach"));
    if (reach) {
        reach(std::chrono::nanoseconds(end.time_since_epoch()).count());
        return;
    }
    // A sleep ends some 50 us late. So the last of it is spent awake.
    constexpr auto awake = std::chrono::microseconds(100);
    if (end - Pace::Clock::now() > awake)
        std::this_thread::sleep_until(end - awake);
    while (Pace::Clock::now() < end)
        std::this_thread::yield();
}

// What it takes to move the bytes. Where peers have no rate of their own, that of the link counts.
Effort to_move(int64_t bytes, const Ends &ends, int64_t begin_ns, const Speeds &speeds)
{
    Effort effort{.begin_ns = begin_ns};
    if (ends.from == Where::peer || ends.to == Where::peer)
        effort.begin_ns += speeds.peer_ns;
    const auto take = [&](Where where, int64_t &link, int64_t &peer) {
        (where == Where::own                      ? effort.memory_bytes
         : where == Where::peer && speeds.peer_mb ? peer
                                                  : link) += bytes;
    };
    take(ends.from, effort.to_link_bytes, effort.to_peer_bytes);
    take(ends.to, effort.from_link_bytes, effort.from_peer_bytes);
    return effort;
}

} // namespace

Effort effort_of(const Work &work, const Ends &ends, const Speeds &speeds)
{
    Effort effort = to_move(work.bytes, ends, speeds.launch_ns, speeds);
    effort.pieces_ns =
        speeds.block_ns * (blocks_of(work.from, work.bytes) + blocks_of(work.to, work.bytes));
    return effort;
}

Effort effort_of(const Layers &copy, const Ends &ends, const Speeds &speeds)
{
    const auto rows = static_cast<int64_t>(copy.rows * copy.layers),
               width = static_cast<int64_t>(copy.width);
    Effort effort = to_move(width * rows, ends, speeds.copy_ns, speeds);
    const bool reads_packed = ends.from == Where::elsewhere && copy.from_pitch == copy.width;
    const int64_t touched = // bytes in lines, those before and behind a row included
        reads_packed ? width + line_bytes - std::gcd(width, line_bytes) : line_bytes;
    effort.pieces_ns = rows > 1 ? rows * touched * speeds.row_ns / line_bytes : 0;
    return effort;
}

void add(Effort &sum, const Effort &more)
{
    sum.begin_ns = std::max(sum.begin_ns, more.begin_ns);
    sum.memory_bytes += more.memory_bytes;
    sum.to_link_bytes += more.to_link_bytes;
    sum.from_link_bytes += more.from_link_bytes;
    sum.to_peer_bytes += more.to_peer_bytes;
    sum.from_peer_bytes += more.from_peer_bytes;
    sum.pieces_ns += more.pieces_ns;
}

void Pace::wait(Clock::time_point begin, const Effort &effort, const Speeds &speeds)
{
    if (speeds == Speeds{})
        return;
    const auto first = begin + std::chrono::nanoseconds(effort.begin_ns);
    const auto pieces = std::chrono::nanoseconds(effort.pieces_ns);
    auto end = first + pieces + time_of(effort.memory_bytes, speeds.memory_mb);
    {
        const std::lock_guard lock(mutex_);
        const auto pass = [&](Clock::time_point &free, int64_t bytes, int64_t rate) {
            if (bytes == 0)
                return;
            free = std::max(first, free) + pieces + time_of(bytes, rate);
            end = std::max(end, free);
        };
        pass(link_free_[0], effort.to_link_bytes, speeds.link_mb);
        pass(link_free_[1], effort.from_link_bytes, speeds.link_mb);
        pass(link_free_[2], effort.to_peer_bytes, speeds.peer_mb);
        pass(link_free_[3], effort.from_peer_bytes, speeds.peer_mb);
    }
    sleep_until(end);
}

void Pace::wait_for(Clock::time_point begin, int64_t ns)
{
    if (ns > 0)
        sleep_until(begin + std::chrono::nanoseconds(ns));
}

} // namespace heddle::gpu::sim
