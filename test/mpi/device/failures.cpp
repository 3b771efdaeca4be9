/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A device that fails while it packs or unpacks: an error, at one end at least, never a hang, never
 * wrong data; and what is sent afterwards comes. On simulated devices alone.
 */
#include "device_test.hpp"

using namespace device_test;

static void failing(MPI_Comm comm, int who, int n, const std::string &which)
{
    const std::string what = std::to_string(n) + " doubles, rank " + std::to_string(who) +
                             "'s device fails at launch " + which;
    const Layout layout = indexed(n);
    Buffer buffer(gpu::Kind::device, layout);
    buffer.fill(rank);
    MPI_Barrier(comm);
    if (rank == who)
        gpu::Machine::get().configure(("reset fail=launch:" + which).c_str());
    const int error = rank == 0
                          ? MPI_Send(buffer.at(), 1, buffer.type(), 1, 1, comm)
                          : MPI_Recv(buffer.at(), 1, buffer.type(), 0, 1, comm, MPI_STATUS_IGNORE);
    gpu::Machine::get().reset();
    int theirs = 0;
    MPI_Sendrecv(&error, 1, MPI_INT, 1 - rank, 2, &theirs, 1, MPI_INT, 1 - rank, 2, comm,
                 MPI_STATUS_IGNORE);
    /* A single failure may have no effect. Transfers are begun again one by one, or were packed
     * early, or all are one launch. */
    if (rank == who && which == "1+")
        check(error != MPI_SUCCESS, what + ": no error there");
    if (rank == 1 && who == 0)
        check((error != MPI_SUCCESS) == (theirs != MPI_SUCCESS),
              what + ": an error at one end only");
    if (rank == 1 && error == MPI_SUCCESS) {
        buffer.expect(0, 0, n);
        buffer.verify(what);
    }

    Buffer next(gpu::Kind::device, layout);
    next.fill(5 + rank);
    if (rank == 0) {
        MPI_Send(next.at(), 1, next.type(), 1, 1, comm);
    } else {
        check(MPI_Recv(next.at(), 1, next.type(), 0, 1, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS,
              what + ": the next message fails");
        next.expect(5, 0, n);
        next.verify(what + ", the next message");
    }
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
        MPI_Comm_free(&comm);
    });
}
