/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks without the interposer, or with host memory, are the other end: test/interpose/run gives
 * the interposer to rank 0 alone. What rank 0 sends and receives in device memory of any type is,
 * to the others, what the program says.
 */
#include "device_test.hpp"

using namespace device_test;

static gpu::Kind own_kind() { return rank == 0 ? gpu::Kind::device : gpu::Kind::pageable; }

static void messages(const Layout &layout)
{
    Buffer buffer(own_kind(), layout);
    MPI_Status status;
    int count = 0;
    buffer.fill(rank);
    for (int other = 1; other < size; ++other) {
        if (rank == 0) {
            MPI_Send(buffer.at(), 1, buffer.type(), other, 1, MPI_COMM_WORLD);
            Buffer back(own_kind(), layout);
            MPI_Recv(back.at(), 1, back.type(), other, 2, MPI_COMM_WORLD, &status);
            back.expect(other, 0, layout.elements());
            back.verify("from a rank without the interposer");
        } else if (rank == other) {
            Buffer to(own_kind(), layout);
            MPI_Probe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_DOUBLE, &count);
            check(count == layout.elements(), "a probe tells of " + std::to_string(count));
            MPI_Recv(to.at(), 1, to.type(), 0, 1, MPI_COMM_WORLD, &status);
            to.expect(0, 0, layout.elements());
            to.verify("from a rank with the interposer");
            MPI_Send(buffer.at(), 1, buffer.type(), 0, 2, MPI_COMM_WORLD);
        }
    }
}

static void collectives(const Layout &layout)
{
    Buffer buffer(own_kind(), layout), all(own_kind(), layout, size);
    const int n = static_cast<int>(layout.elements());
    buffer.fill(rank);
    MPI_Allgather(buffer.at(), 1, buffer.type(), all.at(), 1, all.type(), MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r)
        all.expect(r, int64_t{r} * n, int64_t{r + 1} * n);
    all.verify("Allgather");
    MPI_Bcast(buffer.at(), 1, buffer.type(), size - 1, MPI_COMM_WORLD);
    buffer.expect(size - 1, 0, n);
    buffer.verify("Bcast");
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        for (const int n : {1, 300, 60000})
            for (const MakeLayout make : every_layout) {
                const Layout layout = make(n);
                messages(layout);
                collectives(layout);
            }
    });
}
