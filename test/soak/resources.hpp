/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a process holds: memory, mappings, descriptors.
 */
#pragma once

#include "../mpi/device/device_test.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <malloc.h>
#include <string>
#include <sys/resource.h>

namespace soak {

/* How many descriptors the process may have open at most; those that it had stay open. */
inline rlim_t limit_descriptors(rlim_t most)
{
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = std::min(most, limit.rlim_max);
    setrlimit(RLIMIT_NOFILE, &limit);
    return before;
}

/* The process's address space grows by so many bytes at most. */
inline void limit_memory(int64_t more)
{
    int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = std::min(static_cast<rlim_t>(pages * 4096 + more), limit.rlim_max);
    setrlimit(RLIMIT_AS, &limit);
}

struct Resources {
    /* Bytes that malloc has given out, less what Heddle says that it keeps: pinned staging memory
     * (the simulated device's is of the heap), and idle pools. */
    int64_t heap = 0;
    int64_t resident = 0; /* bytes */
    int64_t mappings = 0;
    int64_t descriptors = 0;

    /* The least of two samples: what is on its way, or kept for a while, comes and goes. */
    void lower_to(const Resources &other)
    {
        heap = std::min(heap, other.heap);
        resident = std::min(resident, other.resident);
        mappings = std::min(mappings, other.mappings);
        descriptors = std::min(descriptors, other.descriptors);
    }

    static Resources now()
    {
        Resources r;
        const rlim_t limit = limit_descriptors(RLIM_INFINITY); /* looking takes some, too */
        const struct mallinfo2 info = mallinfo2();
        r.heap = static_cast<int64_t>(info.uordblks + info.hblkhd) -
                 device_test::counted("slabs_pinned") - device_test::counted("pools_idle");
        int64_t pages = 0;
        std::ifstream("/proc/self/statm") >> pages >> pages;
        r.resident = pages * 4096;
        std::ifstream maps("/proc/self/maps");
        for (std::string line; std::getline(maps, line);)
            ++r.mappings;
        const std::filesystem::directory_iterator open("/proc/self/fd");
        r.descriptors = std::distance(begin(open), end(open)) - 1; /* less its own */
        limit_descriptors(limit);
        return r;
    }
};

inline std::string to_text(const Resources &r)
{
    return std::to_string(r.heap >> 10) + " KiB of heap, " + std::to_string(r.resident >> 10) +
           " KiB resident, " + std::to_string(r.mappings) + " mappings, " +
           std::to_string(r.descriptors) + " descriptors";
}

} // namespace soak
