// SPDX-License-Identifier: BSD-3-Clause
// Stencil codes on device memory, a GPU for each process where there are enough. Everyone's data
// are checked. A line of JSON for each: medians of what the slowest process took, in microseconds.
// Arguments: the edges of the cubes that each process has.
#include "parts.hpp"

#include <cstdlib>
#include <exception>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    bench::Job job{};
    MPI_Comm node;
    int turn;
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &turn);
    MPI_Comm_free(&node);
    try {
        auto device = stencil::cuda_device(turn);
        if (!device)
            device = stencil::memory_device(turn);
        for (int i = 1; i < argc; ++i)
            bench::measure_astaroth(job, *device, std::atoll(argv[i]));
        if (job.ranks > 1)
            for (const int64_t edge : {512, 1024, 2048})
                bench::measure_stencil2d(job, *device, edge);
        if (job.ranks == 1) {
            for (const int64_t cells : {1024, 4096, 16384})
                bench::measure_hacc(job, *device, cells);
            bench::measure_commit(job);
        }
    } catch (const std::exception &error) {
        std::fprintf(stderr, "stencil: %s\n", error.what());
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Finalize();
    return job.wrong != 0;
}
