// SPDX-License-Identifier: BSD-3-Clause
// A halo exchange on GPUs, one for each process, by MPI's datatypes and by hand (exchanges.cuh), in
// turn. Every cell is checked after each kind's first exchange and after its last. A line of JSON
// for each: medians over the exchanges of what the slowest process took, in microseconds.
#include "exchanges.cuh"

#include "../row.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <functional>
#include <iostream>

namespace bench {
namespace {

struct Kind {
    const char *who;
    std::function<void()> exchange;
    std::vector<double> times;
    int64_t wrong = 0;
};

int64_t everywhere(int64_t value)
{
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    return value;
}

// True where every cell was right.
bool measure(int size, int radius, int quantities, int turns, int in_a_row)
{
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const Grid grid(size, radius, quantities);
    const ByMpi mpi(grid);
    HaloByHand hand(grid);
    Kind kinds[] = {{"isend", [&] { mpi.by_isend(); }, {}},
                    {"neighbour_alltoallw", [&] { mpi.by_neighbours(); }, {}},
                    {"hand", [&] { hand.exchange(); }, {}}};
    int exchange = 0;
    const auto check = [&](Kind &kind) {
        grid.fill(++exchange);
        MPI_Barrier(MPI_COMM_WORLD);
        kind.exchange();
        kind.wrong += grid.wrong(exchange);
    };
    for (Kind &kind : kinds)
        check(kind);
    for (int turn = 0; turn < turns; ++turn)
        for (Kind &kind : kinds) {
            kind.exchange();
            for (int i = 0; i < in_a_row; ++i) {
                MPI_Barrier(MPI_COMM_WORLD);
                const double begin = MPI_Wtime();
                kind.exchange();
                kind.times.push_back(1e6 * (MPI_Wtime() - begin));
            }
        }
    bool right = true;
    for (Kind &kind : kinds) {
        check(kind);
        kind.wrong = everywhere(kind.wrong);
        right = right && !kind.wrong;
        MPI_Allreduce(MPI_IN_PLACE, kind.times.data(), static_cast<int>(kind.times.size()),
                      MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        std::sort(kind.times.begin(), kind.times.end());
        const size_t n = kind.times.size();
        Row row =
            timed({{"ranks", ranks},
                   {"size", size},
                   {"radius", radius},
                   {"quantities", quantities},
                   {"bytes", 8 * grid.block().packed}},
                  kind.who, kind.times[n / 2], kind.times[n / 10], kind.times[n - 1 - n / 10]);
        row["samples"] = n;
        row["wrong"] = kind.wrong;
        if (rank == 0)
            print(row);
    }
    return right;
}

} // namespace
} // namespace bench

int main(int argc, char **argv)
{
    CLI::App app("A halo exchange on GPUs, one for each process, by MPI's datatypes and by hand: a "
                 "line of JSON for each");
    int size = 512, radius = 3, quantities = 8, turns = 4, in_a_row = 8;
    app.add_option("--size", size, "cells of each process along each axis")->capture_default_str();
    app.add_option("--radius", radius, "cells of the halo")->capture_default_str();
    app.add_option("--quantities", quantities, "doubles of each cell")->capture_default_str();
    app.add_option("--turns", turns, "of each kind")->capture_default_str();
    CLI11_PARSE(app, argc, argv);

    MPI_Init(nullptr, nullptr);
    MPI_Comm node;
    int turn, devices = 0;
    bool right = false;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &turn);
    MPI_Comm_free(&node);
    try {
        BENCH_CUDA(cudaGetDeviceCount(&devices));
        BENCH_CUDA(cudaSetDevice(turn % devices));
        right = bench::measure(size, radius, quantities, turns, in_a_row);
    } catch (const std::exception &error) {
        std::cerr << "halo: " << error.what() << std::endl;
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Finalize();
    return !right;
}
