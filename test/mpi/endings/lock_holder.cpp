/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank is killed while it holds locks of a window. Who waits for them is told within five
 * seconds, and so is who accesses its device memory. The other locks serve as before.
 */
#include "survivor.hpp"

#include <csignal>
#include <unistd.h>

using namespace survivor;

namespace {

constexpr int elements = 1000, victim = 3;

MPI_Win win;
gpu::Kind kind = gpu::Kind::device;

/* The victim holds a lock of rank 0's memory, and shares one of rank 1's. */
void lose_holder()
{
    if (rank == victim) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == victim)
        kill(getpid(), SIGKILL);
    usleep(300000);
}

void use_locks(const Buffer &origin, MPI_Comm living)
{
    const auto lock = [](int type, int of) { return MPI_Win_lock(type, of, 0, win); };
    const auto unlock = [](int of) { return MPI_Win_unlock(of, win); };
    const auto put = [&](int to) {
        return MPI_Put(origin.at(), elements, MPI_DOUBLE, to, 0, elements, MPI_DOUBLE, win);
    };
    expect(true, "lock of what it held", [&] { return lock(MPI_LOCK_SHARED, 0); });
    expect(true, "lock of what it shared", [&] { return lock(MPI_LOCK_EXCLUSIVE, 1); });
    expect(true, "lock of all", [&] { return MPI_Win_lock_all(0, win); });
    expect(false, "sharing what it shared", [&] { return lock(MPI_LOCK_SHARED, 1); });
    expect(false, "unlock of that", [&] { return unlock(1); });
    MPI_Barrier(living);
    expect(false, "lock of another", [&] { return lock(MPI_LOCK_EXCLUSIVE, 2); });
    expect(false, "put to another", [&] { return put(2); });
    expect(false, "unlock of another", [&] { return unlock(2); });
    expect(false, "lock of its own", [&] { return lock(MPI_LOCK_SHARED, victim); });
    if (kind == gpu::Kind::device) /* UCX may write into what is left of host memory */
        expect(true, "put to it", [&] { return put(victim); });
    expect(false, "unlock of its own", [&] { return unlock(victim); });
    MPI_Barrier(living);
}

void run_test()
{
    MPI_Comm living;
    MPI_Comm_split(MPI_COMM_WORLD, rank == victim, rank, &living);
    const Layout layout = contiguous(elements);
    Buffer memory(kind, layout), origin(kind, layout);
    origin.fill(rank);
    MPI_Win_create(memory.at(), layout.bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    lose_holder();
    use_locks(origin, living);
    MPI_Comm_free(&living);
}

} // namespace

/* Argument: device or host memory. */
int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    kind = std::string(argv[1]) == "host" ? gpu::Kind::pageable : gpu::Kind::device;
    return survivor::run(argc, argv, run_test);
}
