// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/counters.hpp"

namespace heddle::pipeline {

namespace {

constexpr auto counters = static_cast<size_t>(Counter::count);
#define HEDDLE_NAME(name) #name,
constexpr const char *names[] = {HEDDLE_MESSAGE_COUNTERS(HEDDLE_NAME)};
#undef HEDDLE_NAME

std::array<std::atomic<int64_t>, counters> values;

const gpu::Source source([](gpu::Counts &counts) {
    for (size_t i = 0; i < counters; ++i)
        counts.push_back(
            {"messages", names[i],
             "messages of device buffers by the way they took; their chunks; bytes received",
             values[i].load(std::memory_order_relaxed), static_cast<Counter>(i) == Counter::kept});
});

} // namespace

void count(Counter counter, int64_t by)
{
    values[static_cast<size_t>(counter)].fetch_add(by, std::memory_order_relaxed);
}

int64_t counted(Counter counter)
{
    return values[static_cast<size_t>(counter)].load(std::memory_order_relaxed);
}

void WayCount::add(int64_t bytes_of_one)
{
    number.fetch_add(1, std::memory_order_relaxed);
    bytes.fetch_add(bytes_of_one, std::memory_order_relaxed);
}

void WayCount::tell(gpu::Counts &counts, const char *group, const char *description) const
{
    counts.push_back({group, number_is, description, number.load(std::memory_order_relaxed)});
    counts.push_back({group, bytes_are, description, bytes.load(std::memory_order_relaxed)});
}

} // namespace heddle::pipeline
