// SPDX-License-Identifier: BSD-3-Clause
// The log: HEDDLE_LOG names its topics, separated by commas. Each line goes to the standard error
// output, with the topic, the rank where the launcher tells one, and the process id. A topic that
// is off costs one relaxed load, as long as its arguments are made behind logs():
//
//     if (logs(Topic::policy))
//         log_line(Topic::policy, "%lld bytes by %s", bytes, method);
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace heddle::gpu {

enum class Topic : uint8_t {
    info,      // what was opened, and the settings that differ from their defaults
    policy,    // each choice of a method, a kernel or a message's path, and its reason
    memory,    // pools that grow, memory that is pinned, exported to other processes, or opened
    interpose, // what libheddle-mpi, which reads the word itself, did with calls
    count
};

const char *topic_name(Topic topic);

// A bit for each topic that is on. Until HEDDLE_LOG was read, all bits are set.
extern std::atomic<uint32_t> logged_topics;

// Whether a topic is on, once its bit was seen. The first call reads the settings.
bool is_logged(Topic topic);

inline bool logs(Topic topic)
{
    const uint32_t bit = uint32_t{1} << static_cast<unsigned>(topic);
    return (logged_topics.load(std::memory_order_relaxed) & bit) != 0 && is_logged(topic);
}

// Writes one line, without asking whether the topic is on. What is longer than 1000 characters is
// cut. Fails silently where the output does.
[[gnu::format(printf, 2, 3)]] void log_line(Topic topic, const char *format, ...);

// A warning of this process alone. Each process prints its own, with its rank. Those of warn()
// (warnings.hpp) are the same in all processes of a node, and MPI prints them once.
void warn_process(const std::string &text);

} // namespace heddle::gpu
