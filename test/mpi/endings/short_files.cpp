/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files may not be long (ulimit -f): messages in memory that both processes map take another way,
 * and nobody is ended by SIGXFSZ.
 */
#include "../device/device_test.hpp"

#include <sys/resource.h>

using namespace device_test;

namespace {

void exchange()
{
    const Layout any = contiguous(1);
    const Buffer first(gpu::Kind::device, any); /* a simulated device's memory is a long file */
    const rlimit most{rlim_t{1} << 20, rlim_t{1} << 20};
    setrlimit(RLIMIT_FSIZE, &most);
    for (const MakeLayout &make : every_layout) {
        const Layout layout = make(400000);
        Buffer buffer(gpu::Kind::device, layout);
        if (rank == 0)
            buffer.fill(1);
        if (rank == 0)
            MPI_Send(buffer.at(), 1, buffer.type(), 1, 1, MPI_COMM_WORLD);
        else
            MPI_Recv(buffer.at(), 1, buffer.type(), 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        buffer.expect(1, 0, buffer.elements());
        buffer.verify("with short files");
    }
}

} // namespace

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    exchange();
    MPI_Finalize();
    if (failures == 0)
        std::printf("survived\n");
    return failures != 0;
}
