// SPDX-License-Identifier: BSD-3-Clause
// The patterns of pattern.cuh between GPUs, one for each process: by MPI's datatypes and by hand,
// in turn; every element is checked after each kind's first exchange. A line of JSON for each:
// medians of what the slowest process took, in microseconds.
#include "pattern.cuh"

#include "../turns.hpp"

#include <CLI/CLI.hpp>

#include <iostream>

namespace bench {
namespace {

// True where everyone was right.
bool measure(Pattern &pattern)
{
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    std::vector<Kind> kinds{{"heddle", [&] { pattern.by_mpi(); }, {}},
                            {"hand", [&] { pattern.by_hand(); }, {}}};
    bool right = true;
    for (Kind &kind : kinds) {
        pattern.fill();
        MPI_Barrier(MPI_COMM_WORLD);
        kind.once();
        int64_t wrong = pattern.wrong();
        MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        kind.right = wrong == 0;
        right = right && kind.right;
    }
    take_turns(kinds);
    for (const Kind &kind : kinds)
        if (rank == 0)
            print({{"ranks", ranks}, {"pattern", pattern.name}, {"bytes", pattern.bytes}}, kind,
                  kind.right);
    return right;
}

} // namespace
} // namespace bench

int main(int argc, char **argv)
{
    CLI::App app("What users reported as slow or wrong on GPUs in other MPIs, by MPI's datatypes "
                 "and by hand, an even number of "
                 "processes with a GPU each: a line of JSON for each");
    CLI11_PARSE(app, argc, argv);

    MPI_Init(nullptr, nullptr);
    int rank, ranks, devices = 0;
    bool right = true;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    try {
        if (ranks % 2)
            throw std::runtime_error("it takes an even number of processes");
        BENCH_CUDA(cudaGetDeviceCount(&devices));
        BENCH_CUDA(cudaSetDevice(rank % devices));
        for (const int n : {1024, 4096})
            right = bench::measure(*bench::make_columns(n, n)) && right;
        for (const int cells : {10000, 1000000})
            right = bench::measure(*bench::make_ghosts(cells, 10 * cells)) && right;
        for (const int n : {1000, 1000000})
            right = bench::measure(*bench::make_bottom(n)) && right;
    } catch (const std::exception &error) {
        std::cerr << "reported: " << error.what() << std::endl;
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Finalize();
    return !right;
}
