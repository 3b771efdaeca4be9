// SPDX-License-Identifier: BSD-3-Clause
// What all parts of this benchmark share: who takes part, and a line of JSON for each time.
#pragma once

#include "../turns.hpp"

#include <mpi.h>

#include <cstdint>
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
            print({{"what", what}, {"layout", layout}, {"ranks", job.ranks}, {"bytes", bytes}},
                  kind, right);
    }
}

} // namespace bench
