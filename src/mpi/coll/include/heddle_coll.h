/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What MPICH's collectives ask, by our hooks (maint/mpich-4.0.2.fork): whether there is anything to
 * move, and in which order messages of neighbours come.
 */
#ifndef HEDDLE_COLL_H_INCLUDED
#define HEDDLE_COLL_H_INCLUDED

/* Bytes of data in one instance. A null type has none. */
static inline MPI_Aint MPIR_Coll_size(MPI_Datatype datatype)
{
    MPI_Aint size;
    MPIR_Datatype_get_size_macro(datatype, size);
    return size;
}

/* A zero count and a type without data are one signature:
 * who sends and who receives must ask for bytes. */
static inline bool MPIR_Coll_has_data(MPI_Aint count, MPI_Datatype datatype)
{
    return count > 0 && MPIR_Coll_size(datatype) > 0;
}

/* The type of a block of MPI_Alltoallw and its kin, which may be null where the count is zero. */
static inline MPI_Datatype MPIR_Coll_block_type(MPI_Aint count, MPI_Datatype datatype)
{
    return count > 0 ? datatype : MPI_BYTE;
}

/* Where a block lies, `displ` extents from the buffer. */
static inline void *MPIR_Coll_displaced(void *buf, MPI_Aint displ, MPI_Datatype datatype)
{
    MPI_Aint extent;
    MPIR_Datatype_get_extent_macro(datatype, extent);
    return (char *)buf + displ * extent;
}

/* Whether any of the counts is not zero; they may be of any integer type. */
static inline bool MPIR_Coll_any(const void *counts, size_t bytes)
{
    const char *const byte = (const char *)counts;
    for (size_t i = 0; i < bytes; i++)
        if (byte[i] != 0)
            return true;
    return false;
}

static inline bool MPIR_Coll_all_equal(const MPI_Aint *counts, int n)
{
    for (int i = 1; i < n; i++)
        if (counts[i] != counts[0])
            return false;
    return true;
}

/* Whether any of the types has data. */
static inline bool MPIR_Coll_any_data(const MPI_Datatype *types, int n)
{
    for (int i = 0; i < n; i++)
        if (MPIR_Coll_size(types[i]) > 0)
            return true;
    return false;
}

/*
 * Messages between the same two processes come in the order in which they were sent. This says
 * which source's message a rank has to receive n-th. On a grid, what a neighbour sent in one
 * direction comes from the other one. In a dimension of one or two processes the two messages are
 * taken in reverse (MPI 4.0, 8.6). On a graph parallel edges have one order.
 */
static inline int MPIR_Coll_nth_source(MPIR_Comm *comm, int n)
{
    return MPIR_Topology_get(comm)->kind == MPI_CART ? n ^ 1 : n;
}

/* What a transport algorithm wrote as bytes, and where it belongs (heddle_bytes.c). */
struct MPIR_Coll_bytes {
    void *user, *packed; /* packed: null where there is nothing to do */
    MPI_Datatype type;
    int blocks;
    MPI_Aint count, stride;      /* of each block, */
    const MPI_Aint *counts, *at; /* or of one after the other; `at` in bytes */
};

/* Before a transport algorithm: its arguments become bytes. */
int MPIR_Coll_bytes_bcast(void **buffer, MPI_Aint *count, MPI_Datatype *datatype, int *root,
                          MPIR_Comm *comm, MPIR_TSP_sched_t sched, struct MPIR_Coll_bytes *end);
int MPIR_Coll_bytes_gather(const void **sendbuf, MPI_Aint *sendcount, MPI_Datatype *sendtype,
                           void **recvbuf, MPI_Aint *recvcount, MPI_Datatype *recvtype, int *root,
                           MPIR_Comm *comm, MPIR_TSP_sched_t sched, struct MPIR_Coll_bytes *end);
int MPIR_Coll_bytes_scatter(const void **sendbuf, MPI_Aint *sendcount, MPI_Datatype *sendtype,
                            void **recvbuf, MPI_Aint *recvcount, MPI_Datatype *recvtype, int *root,
                            MPIR_Comm *comm, MPIR_TSP_sched_t sched, struct MPIR_Coll_bytes *end);
int MPIR_Coll_bytes_allgather(const void **sendbuf, MPI_Aint *sendcount, MPI_Datatype *sendtype,
                              void **recvbuf, MPI_Aint *recvcount, MPI_Datatype *recvtype,
                              MPIR_Comm *comm, MPIR_TSP_sched_t sched, struct MPIR_Coll_bytes *end);
int MPIR_Coll_bytes_allgatherv(const void **sendbuf, MPI_Aint *sendcount, MPI_Datatype *sendtype,
                               void **recvbuf, const MPI_Aint **recvcounts, const MPI_Aint **displs,
                               MPI_Datatype *recvtype, MPIR_Comm *comm, MPIR_TSP_sched_t sched,
                               struct MPIR_Coll_bytes *end);
int MPIR_Coll_bytes_alltoall(const void **sendbuf, MPI_Aint *sendcount, MPI_Datatype *sendtype,
                             void **recvbuf, MPI_Aint *recvcount, MPI_Datatype *recvtype,
                             MPIR_Comm *comm, MPIR_TSP_sched_t sched, struct MPIR_Coll_bytes *end);
/* Schedules the unpacking behind the algorithm. */
int MPIR_Coll_bytes_end(const struct MPIR_Coll_bytes *end, MPIR_TSP_sched_t sched);

/* Memory of a schedule for `count` instances, addressed as a buffer of them is. */
void *MPIR_Coll_rows(MPI_Aint count, MPI_Datatype datatype, MPIR_TSP_sched_t sched);

#include "heddle_direct_coll.h"

#endif
