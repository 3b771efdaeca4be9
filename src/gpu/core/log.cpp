// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/core/log.hpp"

#include "gpu/core/settings.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <unistd.h>

namespace heddle::gpu {

namespace {

constexpr const char *topic_names[] = {"info", "policy", "memory", "interpose"};
static_assert(std::size(topic_names) == static_cast<size_t>(Topic::count));

// "rank 3, pid 1234". Launchers of MPI programs tell the rank by one of these variables.
std::string this_process()
{
    std::string process = "pid " + std::to_string(getpid());
    for (const char *name : {"PMI_RANK", "PMIX_RANK", "SLURM_PROCID"})
        if (const char *const rank = std::getenv(name); rank && *rank)
            return std::string("rank ") + rank + ", " + process;
    return process;
}

void print(const char *kind, const std::string &text)
{
    // one write: lines of several processes do not mix
    const std::string line =
        std::string("heddle ") + kind + " [" + this_process() + "]: " + text + "\n";
    std::fwrite(line.data(), 1, line.size(), stderr);
}

} // namespace

std::atomic<uint32_t> logged_topics{~uint32_t{0}};

const char *topic_name(Topic topic) { return topic_names[static_cast<size_t>(topic)]; }

bool is_logged(Topic topic)
{
    const uint32_t on = Settings::get().log_topics;
    logged_topics.store(on, std::memory_order_relaxed);
    return (on >> static_cast<unsigned>(topic) & 1) != 0;
}

void log_line(Topic topic, const char *format, ...)
{
    char text[1000];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    print(topic_name(topic), text);
}

void warn_process(const std::string &text) { print("warning", text); }

} // namespace heddle::gpu
