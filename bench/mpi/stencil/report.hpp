// SPDX-License-Identifier: BSD-3-Clause
// What all parts of this benchmark share: who takes part, and a line of JSON for each time.
#pragma once

#include "../turns.hpp"

#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace bench {

struct Job {
    int rank, ranks;
    int wrong = 0; // kinds whose data were not right
};

// True where it is so in all processes.
inline bool everywhere(bool right)
{
    int all = right;
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all != 0;
}

// Their times are there, and sorted.
inline void print(Job &job, const std::string &what, const std::string &layout, int64_t bytes,
                  const std::vector<Kind> &kinds)
{
    for (const Kind &kind : kinds) {
        const bool right = everywhere(kind.right);
        job.wrong += !right;
        if (job.rank == 0)
            std::printf("{\"what\": \"%s\", \"layout\": \"%s\", \"ranks\": %d, \"bytes\": %lld, "
                        "\"who\": \"%s\", \"median\": %.2f, \"low\": %.2f, \"high\": %.2f, "
                        "\"right\": %s}\n",
                        what.c_str(), layout.c_str(), job.ranks, static_cast<long long>(bytes),
                        kind.who, kind.at(0.5), kind.at(0.1), kind.at(0.9),
                        right ? "true" : "false");
    }
    std::fflush(stdout);
}

} // namespace bench
