/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Windows of ranks that live, after another was killed: what UCX still has for the dead one, of
 * which nothing will ever be taken, holds up no synchronization.
 */
#include <mpi.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <unistd.h>
#include <vector>

namespace {

constexpr int victim = 2, messages = 1000, elements = 100;

/* More than UCX's queue of the victim holds. */
void send_to_the_dead()
{
    for (int i = 0; i < messages; ++i) {
        MPI_Request request;
        MPI_Isend(&i, 1, MPI_INT, victim, 0, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    }
}

/* Each puts to the other, by each synchronization. */
bool put_around(MPI_Comm living, int rank)
{
    const int other = 1 - rank;
    std::vector<double> memory(elements), source(elements, 1 + rank);
    MPI_Win window;
    MPI_Win_create(memory.data(), elements * sizeof(double), sizeof(double), MPI_INFO_NULL, living,
                   &window);
    const auto put = [&] {
        MPI_Put(source.data(), elements, MPI_DOUBLE, other, 0, elements, MPI_DOUBLE, window);
    };
    const auto came = [&] {
        MPI_Barrier(living);
        const bool right = std::count(memory.begin(), memory.end(), 1 + other) == elements;
        MPI_Barrier(living);
        std::fill(memory.begin(), memory.end(), 0);
        MPI_Barrier(living);
        return right;
    };
    MPI_Win_fence(0, window);
    put();
    MPI_Win_fence(0, window);
    const bool fenced = came();
    MPI_Win_lock(MPI_LOCK_SHARED, other, 0, window);
    put();
    MPI_Win_unlock(other, window);
    const bool locked = came();
    MPI_Win_lock_all(0, window);
    put();
    MPI_Win_flush(other, window);
    put();
    MPI_Win_unlock_all(window);
    const bool all_locked = came();
    MPI_Win_free(&window);
    return fenced && locked && all_locked;
}

} // namespace

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm living;
    MPI_Comm_split(MPI_COMM_WORLD, rank == victim, rank, &living);
    if (rank == victim)
        kill(getpid(), SIGKILL);
    usleep(300000);
    send_to_the_dead();
    const bool right = put_around(living, rank);
    MPI_Comm_free(&living);
    MPI_Finalize();
    if (right)
        std::printf("survived\n");
    return !right;
}
