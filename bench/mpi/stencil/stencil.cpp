// SPDX-License-Identifier: BSD-3-Clause
// Stencil codes on device memory, a GPU for each process where there are enough. Everyone's data
// are checked. A line of JSON for each: medians of what the slowest process took, in microseconds.
// An argument: the edge of each process's cube, in Astaroth's pattern. One alone: memory that was
// freed may still be open in another process, and CUDA opens nothing else at its addresses then.
// Without an argument: the other patterns.
#include "parts.hpp"

#include <cstdlib>
#include <exception>

namespace {

void measure_others(bench::Job &job, stencil::Device &device)
{
    if (job.ranks > 1) {
        for (const int64_t edge : {512, 1024, 2048})
            bench::measure_stencil2d(job, device, edge);
        return;
    }
    for (const int64_t cells : {1024, 4096, 16384})
        bench::measure_hacc(job, device, cells);
    bench::measure_commit(job);
}

} // namespace

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
        if (argc > 1)
            bench::measure_astaroth(job, *device, std::atoll(argv[1]));
        else
            measure_others(job, *device);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "stencil: %s\n", error.what());
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Finalize();
    return job.wrong != 0;
}
