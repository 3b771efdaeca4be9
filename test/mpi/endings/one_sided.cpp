/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Finalize right after large one-sided transfers: over TCP a process may still need the other's
 * progress when it ends.
 */
#include <mpi.h>

#include <cstdio>
#include <vector>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    constexpr int bytes = 16 << 20;
    std::vector<char> from(bytes, static_cast<char>(1 + rank));
    char *at = nullptr;
    MPI_Win window;
    MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &at, &window);
    bool right = true;
    for (int turn = 0; turn < 4; ++turn) {
        MPI_Win_fence(0, window);
        MPI_Put(from.data(), bytes, MPI_BYTE, 1 - rank, 0, bytes, MPI_BYTE, window);
        MPI_Win_fence(0, window);
        for (int i = 0; i < bytes; ++i)
            right = right && at[i] == 2 - rank;
    }
    MPI_Win_free(&window);
    MPI_Finalize();
    if (right)
        std::printf("survived\n");
    return !right;
}
