// SPDX-License-Identifier: BSD-3-Clause
// Ways to do the same, which take turns: times of the slowest process, until each has enough of
// them.
#pragma once

#include "row.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace bench {

struct Kind {
    const char *who;
    std::function<void()> once; // collective
    std::vector<double> times;  // microseconds, the same in all processes
    bool right = true;

    // A quantile of the times, which are sorted.
    double at(double part) const
    {
        return times[static_cast<size_t>(part * static_cast<double>(times.size() - 1) + 0.5)];
    }
};

// A line of JSON: which case it is, and what was measured of one kind.
inline void print(const Row &of, const Kind &kind, bool right)
{
    Row row = timed(of, kind.who, kind.at(0.5), kind.at(0.1), kind.at(0.9));
    row["samples"] = kind.times.size();
    row["right"] = right;
    print(row);
}

inline void sample(Kind &kind)
{
    constexpr int in_a_row = 5;
    kind.once();
    for (int i = 0; i < in_a_row; ++i) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = MPI_Wtime();
        kind.once();
        double us = 1e6 * (MPI_Wtime() - begin);
        MPI_Allreduce(MPI_IN_PLACE, &us, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        kind.times.push_back(us);
    }
}

inline bool is_enough(const Kind &kind)
{
    constexpr size_t most = 50, fewest = 10;
    constexpr double most_us = 0.4e6; // for each
    double all = 0;
    for (const double us : kind.times)
        all += us;
    return kind.times.size() >= most || (kind.times.size() >= fewest && all > most_us);
}

// Their times are sorted then.
inline void take_turns(std::vector<Kind> &kinds)
{
    while (!std::all_of(kinds.begin(), kinds.end(), is_enough))
        for (Kind &kind : kinds)
            if (!is_enough(kind))
                sample(kind);
    for (Kind &kind : kinds)
        std::sort(kind.times.begin(), kind.times.end());
}

// A line of JSON for each, of rank 0. Counts in `wrong` whose data were not right everywhere.
inline void print_kinds(const std::string &what, int64_t bytes, std::vector<Kind> &kinds,
                        int &wrong)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (const Kind &kind : kinds) {
        int right = kind.right;
        MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        wrong += !right;
        if (rank == 0)
            print({{"what", what}, {"bytes", bytes}}, kind, right != 0);
    }
}

} // namespace bench
