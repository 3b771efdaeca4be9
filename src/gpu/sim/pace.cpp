// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/sim/pace.hpp"

#include <algorithm>
#include <thread>

namespace heddle::gpu::sim {
namespace {

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

// A sleep ends some 50 us late. So the last of it is spent awake.
void sleep_until(Pace::Clock::time_point end)
{
    constexpr auto awake = std::chrono::microseconds(100);
    if (end - Pace::Clock::now() > awake)
        std::this_thread::sleep_until(end - awake);
    while (Pace::Clock::now() < end)
        std::this_thread::yield();
}

} // namespace

Effort effort_of(const Work &work, const Speeds &speeds)
{
    const int64_t own = (work.far ? 0 : work.bytes) + (work.remote ? 0 : work.bytes);
    return {speeds.launch_ns, own, work.far ? work.bytes : 0, work.remote ? work.bytes : 0,
            speeds.block_ns * (blocks_of(work.from, work.bytes) + blocks_of(work.to, work.bytes))};
}

Effort effort_of(const Layers &copy, bool own_from, bool own_to, const Speeds &speeds)
{
    const auto rows = static_cast<int64_t>(copy.rows * copy.layers);
    const int64_t bytes = static_cast<int64_t>(copy.width) * rows;
    return {speeds.copy_ns, (own_from ? bytes : 0) + (own_to ? bytes : 0), own_from ? 0 : bytes,
            own_to ? 0 : bytes, rows > 1 ? rows * speeds.row_ns : 0};
}

void add(Effort &sum, const Effort &more)
{
    sum.begin_ns = std::max(sum.begin_ns, more.begin_ns);
    sum.memory_bytes += more.memory_bytes;
    sum.to_link_bytes += more.to_link_bytes;
    sum.from_link_bytes += more.from_link_bytes;
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
        const int64_t bytes[] = {effort.to_link_bytes, effort.from_link_bytes};
        for (size_t i = 0; i < link_free_.size(); ++i) {
            if (bytes[i] == 0)
                continue;
            link_free_[i] =
                std::max(first, link_free_[i]) + pieces + time_of(bytes[i], speeds.link_mb);
            end = std::max(end, link_free_[i]);
        }
    }
    sleep_until(end);
}

} // namespace heddle::gpu::sim
