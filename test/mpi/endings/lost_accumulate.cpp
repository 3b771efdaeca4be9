/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank is killed that has an accumulate of a fence epoch to answer. One at a living rank, which
 * MPICH does not count apart, does not wait for it: it goes on, or is an error within five seconds.
 */
#include "survivor.hpp"

#include <csignal>
#include <unistd.h>

using namespace survivor;

namespace {

constexpr int elements = 100000, brief = 100, living_target = 1, victim = 2;

void run_test()
{
    const Layout layout = contiguous(elements);
    Buffer memory(gpu::Kind::device, layout), origin(gpu::Kind::device, layout);
    origin.fill(rank);
    MPI_Win win;
    MPI_Win_create(memory.at(), layout.bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_fence(0, win);
    const auto accumulate = [&](int n, int to) {
        return MPI_Accumulate(origin.at(), n, MPI_DOUBLE, to, 0, n, MPI_DOUBLE, MPI_SUM, win);
    };
    if (rank == victim) {
        usleep(500000); /* not in MPI: it answers nothing */
        kill(getpid(), SIGKILL);
    }
    if (rank == living_target) {
        MPI_Recv(nullptr, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    accumulate(brief, victim);
    answer_of("an accumulate", [&] { return accumulate(elements, living_target); });
    answer_of("a later accumulate", [&] { return accumulate(elements, living_target); });
    MPI_Send(nullptr, 0, MPI_INT, living_target, 1, MPI_COMM_WORLD);
}

} // namespace

int main(int argc, char **argv) { return survivor::run(argc, argv, run_test); }
