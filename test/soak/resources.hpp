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

namespace soak {

struct Resources {
    int64_t heap = 0; /* bytes that malloc has given out, less pinned staging memory: the simulated
                         device's is of it */
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
        const struct mallinfo2 info = mallinfo2();
        r.heap = static_cast<int64_t>(info.uordblks + info.hblkhd) -
                 device_test::counted("slabs_pinned");
        int64_t pages = 0;
        std::ifstream("/proc/self/statm") >> pages >> pages;
        r.resident = pages * 4096;
        std::ifstream maps("/proc/self/maps");
        for (std::string line; std::getline(maps, line);)
            ++r.mappings;
        const std::filesystem::directory_iterator open("/proc/self/fd");
        r.descriptors = std::distance(begin(open), end(open));
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
