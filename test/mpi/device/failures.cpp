/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A device that fails while it packs or unpacks: an error, at one end at least, never a hang, never wrong data; and what
 * is sent afterwards comes. On simulated devices alone.
 */
#include "device_test.hpp"

using namespace device_test;

static void failing(MPI_Comm comm, int who, int n, const std::string &which)
{
    const std::string what = std::to_string(n) + " doubles, rank " + std::to_string(who) + "'s device fails at launch " + which;
    const Layout layout = indexed(n);
    Buffer buffer(gpu::Kind::device, layout);
    buffer.fill(rank);
    MPI_Barrier(comm);
    if (rank == who)
        gpu::Machine::get().configure(("reset fail=launch:" + which).c_str());
    const int error = rank == 0 ? MPI_Send(buffer.at(), 1, buffer.type(), 1, 1, comm)
                                : MPI_Recv(buffer.at(), 1, buffer.type(), 0, 1, comm, MPI_STATUS_IGNORE);
    gpu::Machine::get().reset();
    int theirs = 0;
    MPI_Sendrecv(&error, 1, MPI_INT, 1 - rank, 2, &theirs, 1, MPI_INT, 1 - rank, 2, comm, MPI_STATUS_IGNORE);
    /* What fails once is begun again, one by one, or where it was packed before it was asked for; and all may be one launch. */
    if (rank == who && which == "1+")
        check(error != MPI_SUCCESS, what + ": no error there");
    if (rank == 1 && who == 0)
        check((error != MPI_SUCCESS) == (theirs != MPI_SUCCESS), what + ": an error at one end only");
    if (rank == 1 && error == MPI_SUCCESS) {
        buffer.expect(0, 0, n);
        buffer.verify(what);
    }

    Buffer next(gpu::Kind::device, layout);
    next.fill(5 + rank);
    if (rank == 0) {
        MPI_Send(next.at(), 1, next.type(), 1, 1, comm);
    } else {
        check(MPI_Recv(next.at(), 1, next.type(), 0, 1, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS, what + ": the next message fails");
        next.expect(5, 0, n);
        next.verify(what + ", the next message");
    }
}

enum class Access { put, accumulate, get_accumulate };
enum class Sync { fence, lock, lock_all, start };

/* Operations on a window of the host's memory, of which rank 0's device packs nothing: an error of the call, and the epoch ends. */
static void failing_access(MPI_Comm comm, Access access, Sync sync)
{
    constexpr int n = 3000;
    const std::string what = "operation " + std::to_string(static_cast<int>(access)) + " under synchronization " +
                             std::to_string(static_cast<int>(sync)) + " of a device that fails";
    const Layout layout = indexed(n), dense = contiguous(n);
    Buffer origin(gpu::Kind::device, layout), result(gpu::Kind::device, layout), target(gpu::Kind::pageable, dense);
    origin.fill(1);
    target.fill(2);
    MPI_Win window;
    MPI_Win_create(target.at(), n * MPI_Aint{sizeof(double)}, 1, MPI_INFO_NULL, comm, &window);
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    const auto begin = [&] {
        return access == Access::put ? MPI_Put(origin.at(), 1, layout.type, 1, 0, n, MPI_DOUBLE, window)
               : access == Access::accumulate
                   ? MPI_Accumulate(origin.at(), 1, layout.type, 1, 0, n, MPI_DOUBLE, MPI_REPLACE, window)
                   : MPI_Get_accumulate(origin.at(), 1, layout.type, result.at(), 1, layout.type, 1, 0, n, MPI_DOUBLE,
                                        MPI_REPLACE, window);
    };
    const auto epoch = [&](bool fails) {
        MPI_Group all, others;
        const int their_rank = other();
        MPI_Comm_group(comm, &all);
        MPI_Group_incl(all, 1, &their_rank, &others);
        if (sync == Sync::fence)
            MPI_Win_fence(0, window);
        else if (sync == Sync::start && rank == 1)
            MPI_Win_post(others, 0, window);
        if (rank == 0) {
            if (sync == Sync::lock)
                MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
            else if (sync == Sync::lock_all)
                MPI_Win_lock_all(0, window);
            else if (sync == Sync::start)
                MPI_Win_start(others, 0, window);
            if (fails)
                gpu::Machine::get().configure("reset fail=launch:1+");
            const int error = begin();
            gpu::Machine::get().reset();
            check((error != MPI_SUCCESS) == fails, what + (fails ? ": no error" : ": the next one fails"));
            if (sync == Sync::lock)
                MPI_Win_unlock(1, window);
            else if (sync == Sync::lock_all)
                MPI_Win_unlock_all(window);
            else if (sync == Sync::start)
                MPI_Win_complete(window);
        } else if (sync == Sync::start) {
            MPI_Win_wait(window);
        }
        if (sync == Sync::fence)
            MPI_Win_fence(0, window);
        MPI_Group_free(&others);
        MPI_Group_free(&all);
        MPI_Barrier(comm);
    };
    epoch(true);
    target.verify(what);
    MPI_Barrier(comm);
    epoch(false);
    if (rank == 1)
        target.expect(1, 0, n);
    target.verify(what + ", the next one");
    MPI_Win_free(&window);
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        if (!gpu::Machine::get().is_simulated())
            return;
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        for (const int who : {0, 1})
            for (const int n : {30, 300, 200000})
                for (const char *which : {"1+", "2", "3", "2+", "3+"})
                    failing(comm, who, n, which);
        for (const Access access : {Access::put, Access::accumulate, Access::get_accumulate})
            for (const Sync sync : {Sync::fence, Sync::lock, Sync::lock_all, Sync::start})
                failing_access(comm, access, sync);
        MPI_Comm_free(&comm);
    });
}
