/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Included before each program that test/interpose/run compiles: what the programs of
 * test/mpi/device need beyond the MPIs that Debian 12 has.
 */
#pragma once

#include <mpi.h>

/* MPICH 4.0.2 and Open MPI 4.1 tell MPI_COMM_WORLD's error handler of requests of any communicator,
 * on host memory, too. The programs check the codes that calls return, and the data. */
inline int init_thread_and_return_errors(int *argc, char ***argv, int required, int *provided)
{
    const int error = MPI_Init_thread(argc, argv, required, provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    return error;
}
#define MPI_Init_thread init_thread_and_return_errors

#if MPI_VERSION < 4 && !(defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5) /* 5 has them */
/* It has no nonblocking exchanges: a blocking one shows as much. */
inline int MPI_Isendrecv(const void *out, int outs, MPI_Datatype out_type, int to, int out_tag,
                         void *in, int ins, MPI_Datatype in_type, int from, int in_tag,
                         MPI_Comm comm, MPI_Request *request)
{
    *request = MPI_REQUEST_NULL;
    return MPI_Sendrecv(out, outs, out_type, to, out_tag, in, ins, in_type, from, in_tag, comm,
                        MPI_STATUS_IGNORE);
}
inline int MPI_Isendrecv_replace(void *buffer, int n, MPI_Datatype type, int to, int out_tag,
                                 int from, int in_tag, MPI_Comm comm, MPI_Request *request)
{
    *request = MPI_REQUEST_NULL;
    return MPI_Sendrecv_replace(buffer, n, type, to, out_tag, from, in_tag, comm,
                                MPI_STATUS_IGNORE);
}

/* Nor partitions: the whole is sent. The programs fill all before they start. */
inline int MPI_Psend_init(const void *buffer, int parts, MPI_Count n, MPI_Datatype type, int to,
                          int tag, MPI_Comm comm, MPI_Info, MPI_Request *request)
{
    return MPI_Send_init(buffer, parts * static_cast<int>(n), type, to, tag, comm, request);
}
inline int MPI_Precv_init(void *buffer, int parts, MPI_Count n, MPI_Datatype type, int from,
                          int tag, MPI_Comm comm, MPI_Info, MPI_Request *request)
{
    return MPI_Recv_init(buffer, parts * static_cast<int>(n), type, from, tag, comm, request);
}
inline int MPI_Pready(int, MPI_Request) { return MPI_SUCCESS; }

/* Nor persistent collectives, which test/mpi/device/collective_table.hpp names: none is called. */
#define HEDDLE_LACKING(Name)                                                                       \
    template <class... Arguments> int MPI_##Name##_init(Arguments...) { return MPI_ERR_OTHER; }
HEDDLE_LACKING(Bcast)
HEDDLE_LACKING(Gather)
HEDDLE_LACKING(Gatherv)
HEDDLE_LACKING(Scatter)
HEDDLE_LACKING(Scatterv)
HEDDLE_LACKING(Allgather)
HEDDLE_LACKING(Allgatherv)
HEDDLE_LACKING(Alltoall)
HEDDLE_LACKING(Alltoallv)
HEDDLE_LACKING(Alltoallw)
HEDDLE_LACKING(Reduce)
HEDDLE_LACKING(Allreduce)
HEDDLE_LACKING(Reduce_scatter)
HEDDLE_LACKING(Reduce_scatter_block)
HEDDLE_LACKING(Scan)
HEDDLE_LACKING(Exscan)
HEDDLE_LACKING(Neighbor_allgather)
HEDDLE_LACKING(Neighbor_allgatherv)
HEDDLE_LACKING(Neighbor_alltoall)
HEDDLE_LACKING(Neighbor_alltoallv)
HEDDLE_LACKING(Neighbor_alltoallw)
#undef HEDDLE_LACKING
#endif
