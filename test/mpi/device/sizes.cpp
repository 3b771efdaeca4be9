/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of 1 KiB to as many bytes as the argument says (default: 16 MiB), there and back, every
 * byte looked at. It prints how long each size took: what a link of a known rate and delay makes of
 * it is for the reader to judge.
 */
#include "device_test.hpp"

#include <cstdlib>

using namespace device_test;

static void there_and_back(MakeLayout make, int n)
{
    const Layout layout = make(n);
    Buffer buffer(gpu::Kind::device, layout);
    if (rank == 0)
        buffer.fill(n);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    if (rank == 0) {
        MPI_Send(buffer.at(), 1, buffer.type(), 1, 1, MPI_COMM_WORLD);
        MPI_Recv(buffer.at(), 1, buffer.type(), 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(buffer.at(), 1, buffer.type(), 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(buffer.at(), 1, buffer.type(), 0, 2, MPI_COMM_WORLD);
    }
    const double seconds = (MPI_Wtime() - start) / 2;
    buffer.expect(n, 0, n);
    buffer.verify(std::to_string(8 * MPI_Aint{n}) + " bytes");
    if (rank == 0) {
        std::printf("  %-10s %10lld bytes %12.0f us %9.1f MB/s\n", layout.name.c_str(), 8LL * n,
                    seconds * 1e6, 8.0 * n / seconds / 1e6);
        std::fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    const long long most = argc > 1 ? std::atoll(argv[1]) : 16 << 20;
    return run(argc, argv, [=] {
        if (rank < 2)
            for (long long bytes = 1024; bytes < 4 * most; bytes *= 4)
                for (const MakeLayout make : {contiguous, strided})
                    there_and_back(make, static_cast<int>(std::min(bytes, most) / 8));
    });
}
