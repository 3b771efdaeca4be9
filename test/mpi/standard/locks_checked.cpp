/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A lock that is asked for is given back, also where the one before it was taken with
 * MPI_MODE_NOCHECK. processes: 1 2
 */
#include "standard_test.hpp"

using namespace standard_test;

namespace {

void lock(MPI_Win win, int target, int assert, int value)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, assert, win);
    MPI_Put(&value, 1, MPI_INT, target, 0, 1, MPI_INT, win);
    MPI_Win_unlock(target, win);
}

void test()
{
    int memory = -1;
    MPI_Win win;
    MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    /* One after the other: who locks with MPI_MODE_NOCHECK says that nobody else does. */
    for (int turn = 0; turn < size; ++turn) {
        if (turn == rank) {
            lock(win, 0, MPI_MODE_NOCHECK, 1);
            lock(win, 0, 0, 2);
            lock(win, 0, 0, 3);
            lock(win, 0, MPI_MODE_NOCHECK, 4);
            lock(win, 0, 0, 5 + rank);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    int found = -1;
    MPI_Get(&found, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_unlock(0, win);
    check_equal(found, 4 + size, "the last value that was put");
    MPI_Win_free(&win);
}

} // namespace

int main(int argc, char **argv) { return run(argc, argv, test); }
