/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A process of another node ends amid its messages: the connection to it fails, and nothing else
 * tells of it. What waits for it ends with MPIX_ERR_PROC_FAILED within five seconds. In a job
 * without devices nothing can, so the job ends.
 *
 * The other node is a PID namespace (run-endings), and UCX talks TCP.
 */
#include "survivor.hpp"

#include <csignal>
#include <unistd.h>

using namespace survivor;

namespace {

constexpr int victim = 1, elements = 100000;

void run_test()
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* of requests, too */
    const gpu::Kind kind =
        gpu::Machine::get().devices() > 0 ? gpu::Kind::device : gpu::Kind::pageable;
    const Layout layout = contiguous(elements);
    Buffer memory(kind, layout), in(kind, layout), out(kind, layout);
    MPI_Win win;
    MPI_Win_create(memory.at(), layout.bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == victim) {
        usleep(500000);
        _exit(1); /* who is first in a PID namespace cannot kill itself */
    }
    MPI_Request receive, send, put;
    MPI_Irecv(in.at(), 1, in.type(), victim, 1, MPI_COMM_WORLD, &receive);
    MPI_Isend(out.at(), 1, out.type(), victim, 2, MPI_COMM_WORLD, &send);
    MPI_Rput(out.at(), elements, MPI_DOUBLE, victim, 0, elements, MPI_DOUBLE, win, &put);
    expect(true, "a receive", [&] { return MPI_Wait(&receive, MPI_STATUS_IGNORE); });
    expect(true, "a send", [&] { return MPI_Wait(&send, MPI_STATUS_IGNORE); });
    check(answer_of("a put", [&] { return MPI_Wait(&put, MPI_STATUS_IGNORE); }) != MPI_SUCCESS,
          "a put: no error");
    answer_of("unlock", [&] { return MPI_Win_unlock_all(win); });
    expect(true, "a lock", [&] { return MPI_Win_lock(MPI_LOCK_SHARED, victim, 0, win); });
    expect(true, "a lock of all", [&] { return MPI_Win_lock_all(0, win); });
    expect(false, "a lock of its own", [&] { return MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win); });
    expect(false, "an unlock", [&] { return MPI_Win_unlock(rank, win); });
}

/* What ends the epoch of one target that has ended, ends it. */
void lose_locked()
{
    const gpu::Kind kind = gpu::Kind::device;
    const Layout layout = contiguous(elements);
    Buffer memory(kind, layout), origin(kind, layout);
    MPI_Win win;
    MPI_Win_create(memory.at(), layout.bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    if (rank != victim)
        MPI_Win_lock(MPI_LOCK_SHARED, victim, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == victim) {
        usleep(200000);
        _exit(1);
    }
    usleep(400000);
    MPI_Put(origin.at(), 100, MPI_DOUBLE, victim, 0, 100, MPI_DOUBLE, win);
    check(answer_of("unlock", [&] { return MPI_Win_unlock(victim, win); }) != MPI_SUCCESS,
          "unlock: no error");
    expect(false, "a lock of all", [&] { return MPI_Win_lock_all(MPI_MODE_NOCHECK, win); });
    expect(false, "an unlock of all", [&] { return MPI_Win_unlock_all(win); });
}

} // namespace

/* Argument: locked, or none. */
int main(int argc, char **argv)
{
    return survivor::run(argc, argv, argc > 1 ? lose_locked : run_test);
}
