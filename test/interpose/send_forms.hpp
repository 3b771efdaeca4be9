/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sends by requests, to rank 1, and programs on a communicator of ranks 0 and 1 for them.
 */
#pragma once

#include "device_test.hpp"

namespace send_forms {

using Hear = void(MPI_Comm *, int *, ...);

/* Its errors are told to `hear`. MPI_COMM_NULL at other ranks. */
inline MPI_Comm comm_of_two(Hear *hear)
{
    MPI_Comm comm;
    MPI_Errhandler handler;
    MPI_Comm_split(MPI_COMM_WORLD, device_test::rank < 2 ? 0 : MPI_UNDEFINED, device_test::rank,
                   &comm);
    if (comm == MPI_COMM_NULL)
        return comm;
    MPI_Comm_create_errhandler(hear, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    return comm;
}

/* A program that calls `body` in ranks 0 and 1, with `comm` their communicator. */
template <class Body> int run_of_two(int argc, char **argv, MPI_Comm &comm, Hear *hear, Body body)
{
    return device_test::run(argc, argv, [&] {
        comm = comm_of_two(hear);
        if (comm == MPI_COMM_NULL)
            return;
        body();
        MPI_Comm_free(&comm);
    });
}

/* Doubles that have come. */
inline int count_of(const MPI_Status &status)
{
    int count = -1;
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    return count;
}

/* From now on, in a simulated device. */
inline void fail_launches() { gpu::Machine::get().configure("reset fail=any:1+"); }

/* These return the first error. */

inline int by_isend(device_test::Buffer &b, int tag, MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const int begun = MPI_Isend(b.at(), 1, b.type(), 1, tag, comm, &request);
    return begun != MPI_SUCCESS ? begun : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

inline int by_start(device_test::Buffer &b, int tag, MPI_Comm comm)
{
    MPI_Request request;
    MPI_Send_init(b.at(), 1, b.type(), 1, tag, comm, &request);
    int error = MPI_Start(&request);
    if (error == MPI_SUCCESS)
        error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    return error;
}

/* An exchange that receives nothing. */
inline int by_exchange(device_test::Buffer &b, int tag, MPI_Comm comm)
{
    return MPI_Sendrecv(b.at(), 1, b.type(), 1, tag, nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, comm,
                        MPI_STATUS_IGNORE);
}

} // namespace send_forms
