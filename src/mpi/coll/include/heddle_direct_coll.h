/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives that go straight between device buffers of one node. MPIR_Bcast and its kin ask these
 * first (maint/mpich-4.0.2.fork), and of one over several nodes MPIDI_NM_mpi_bcast and
 * MPIDI_NM_mpi_reduce. Each answers false if the collective goes its usual way, at all
 * members alike. Otherwise it is over, and the result is in `*mpi_errno` and `*errflag`; or it has
 * begun, and a request tells its end. The UCX netmod carries them out
 * (src/mpid/ch4/netmod/ucx/heddle_coll_direct.h).
 */
#ifndef HEDDLE_DIRECT_COLL_H_INCLUDED
#define HEDDLE_DIRECT_COLL_H_INCLUDED

#if MPIR_TYPEREP_SENDS_DEVICE

/* Somebody in this job has a device, and MPIR_CVAR_CH4_UCX_DIRECT_COLL allows it. */
extern int MPIR_Direct_is_on ATTRIBUTE((visibility("hidden")));
#define MPIR_DIRECT_IS_ON unlikely(MPIR_Direct_is_on)
/* One over several nodes is cut (MPIDI_Allreduce_intra_composition_alpha and its kin). */
#define MPIR_DIRECT_HAS_PARTS(comm)                                                                \
    ((comm)->hierarchy_kind == MPIR_COMM_HIERARCHY_KIND__PARENT &&                                 \
     ((comm)->node_comm == NULL || (comm)->node_comm->local_size < (comm)->local_size))
/* This is its part within a node. */
#define MPIR_DIRECT_IS_PART(comm) ((comm)->hierarchy_kind == MPIR_COMM_HIERARCHY_KIND__NODE)

/* The usual way of one that does not block: a schedule made as for a persistent one. So it may be
 * started later, or not at all. */
struct MPIR_Direct_usual {
    int type; /* enum MPIR_sched_type */
    void *sched;
    struct MPIR_Request **request;   /* which it has begun; the schedule is freed with it */
    struct MPIR_Request *persistent; /* or which starts it each time, and keeps the schedule */
};
/* How it ends. */
struct MPIR_Direct_ends {
    MPIR_Errflag_t *errflag; /* of one that blocks */
    int *mpi_errno;
    const struct MPIR_Direct_usual *usual; /* null: it blocks */
};

/* Whether one that does not block is to be begun so; each such call of a communicator asks once. */
bool MPIR_Direct_begins(MPIR_Comm *comm);
/* Whether one that does not block will go so, as far as this process knows. */
bool MPIR_Direct_may_begin(MPIR_Comm *comm);
/* A persistent request with `direct` starts, and goes. */
int MPIR_Direct_start(struct MPIR_Request *persistent);
void MPIR_Direct_free(struct MPIR_Request *persistent);

/* A persistent collective of neighbours, whose schedule is made: if a member has device memory in
 * it, each edge becomes a channel. Collective, and blocks. */
int MPIR_Direct_channels(struct MPIR_Request *persistent, const char *name);
/* One that is not persistent: what its schedule packs at first takes one launch. */
int MPIR_Direct_start_together(int sched_type, void *sched, MPIR_Comm *comm,
                               struct MPIR_Request **request);

/* What a collective was called with, in the order of MPI's arguments. A root of -1: it has none. */
struct MPIR_Direct_bcast {
    void *buf;
    MPI_Aint count;
    MPI_Datatype type;
    int root;
    MPIR_Comm *comm;
    struct MPIR_Direct_ends ends;
};
struct MPIR_Direct_equal { /* blocks of one size */
    const void *sendbuf;
    MPI_Aint sendcount;
    MPI_Datatype sendtype;
    void *recvbuf;
    MPI_Aint recvcount;
    MPI_Datatype recvtype;
    int root;
    MPIR_Comm *comm;
    struct MPIR_Direct_ends ends;
};
struct MPIR_Direct_gatherv {
    const void *sendbuf;
    MPI_Aint sendcount;
    MPI_Datatype sendtype;
    void *recvbuf;
    const MPI_Aint *recvcounts;
    const MPI_Aint *displs;
    MPI_Datatype recvtype;
    int root;
    MPIR_Comm *comm;
    struct MPIR_Direct_ends ends;
};
struct MPIR_Direct_scatterv {
    const void *sendbuf;
    const MPI_Aint *sendcounts;
    const MPI_Aint *displs;
    MPI_Datatype sendtype;
    void *recvbuf;
    MPI_Aint recvcount;
    MPI_Datatype recvtype;
    int root;
    MPIR_Comm *comm;
    struct MPIR_Direct_ends ends;
};
struct MPIR_Direct_alltoallv {
    const void *sendbuf;
    const MPI_Aint *sendcounts;
    const MPI_Aint *sdispls;
    MPI_Datatype sendtype;
    void *recvbuf;
    const MPI_Aint *recvcounts;
    const MPI_Aint *rdispls;
    MPI_Datatype recvtype;
    MPIR_Comm *comm;
    struct MPIR_Direct_ends ends;
};
struct MPIR_Direct_alltoallw {
    const void *sendbuf;
    const MPI_Aint *sendcounts;
    const MPI_Aint *sdispls;
    const MPI_Datatype *sendtypes;
    void *recvbuf;
    const MPI_Aint *recvcounts;
    const MPI_Aint *rdispls;
    const MPI_Datatype *recvtypes;
    MPIR_Comm *comm;
    struct MPIR_Direct_ends ends;
};
struct MPIR_Direct_reduce {
    const void *sendbuf;
    void *recvbuf;
    MPI_Aint count;         /* of reduce_scatter_block: of each block */
    const MPI_Aint *counts; /* of reduce_scatter; null elsewhere */
    MPI_Datatype type;
    MPI_Op op;
    int root;
    MPIR_Comm *comm;
    struct MPIR_Direct_ends ends;
};

int MPIDI_UCX_coll_bcast(const struct MPIR_Direct_bcast *call);
int MPIDI_UCX_coll_gather(const struct MPIR_Direct_equal *call);
int MPIDI_UCX_coll_scatter(const struct MPIR_Direct_equal *call);
int MPIDI_UCX_coll_alltoall(const struct MPIR_Direct_equal *call);
int MPIDI_UCX_coll_gatherv(const struct MPIR_Direct_gatherv *call);
int MPIDI_UCX_coll_scatterv(const struct MPIR_Direct_scatterv *call);
int MPIDI_UCX_coll_alltoallv(const struct MPIR_Direct_alltoallv *call);
int MPIDI_UCX_coll_alltoallw(const struct MPIR_Direct_alltoallw *call);
int MPIDI_UCX_coll_reduce(const struct MPIR_Direct_reduce *call);
int MPIDI_UCX_coll_reduce_scatter(const struct MPIR_Direct_reduce *call);

#define MPIR_Direct_bcast(...) MPIDI_UCX_coll_bcast(&(struct MPIR_Direct_bcast){__VA_ARGS__})
#define MPIR_Direct_gather(...) MPIDI_UCX_coll_gather(&(struct MPIR_Direct_equal){__VA_ARGS__})
#define MPIR_Direct_allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, ...)     \
    MPIR_Direct_gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, -1, __VA_ARGS__)
#define MPIR_Direct_scatter(...) MPIDI_UCX_coll_scatter(&(struct MPIR_Direct_equal){__VA_ARGS__})
#define MPIR_Direct_alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, ...)      \
    MPIDI_UCX_coll_alltoall(&(struct MPIR_Direct_equal){sendbuf, sendcount, sendtype, recvbuf,     \
                                                        recvcount, recvtype, -1, __VA_ARGS__})
#define MPIR_Direct_gatherv(...) MPIDI_UCX_coll_gatherv(&(struct MPIR_Direct_gatherv){__VA_ARGS__})
#define MPIR_Direct_allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,          \
                               recvtype, ...)                                                      \
    MPIR_Direct_gatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, -1,   \
                        __VA_ARGS__)
#define MPIR_Direct_scatterv(...)                                                                  \
    MPIDI_UCX_coll_scatterv(&(struct MPIR_Direct_scatterv){__VA_ARGS__})
#define MPIR_Direct_alltoallv(...)                                                                 \
    MPIDI_UCX_coll_alltoallv(&(struct MPIR_Direct_alltoallv){__VA_ARGS__})
#define MPIR_Direct_alltoallw(...)                                                                 \
    MPIDI_UCX_coll_alltoallw(&(struct MPIR_Direct_alltoallw){__VA_ARGS__})
#define MPIR_Direct_reduce(sendbuf, recvbuf, count, ...)                                           \
    MPIDI_UCX_coll_reduce(&(struct MPIR_Direct_reduce){sendbuf, recvbuf, count, NULL, __VA_ARGS__})
#define MPIR_Direct_allreduce(sendbuf, recvbuf, count, type, op, ...)                              \
    MPIR_Direct_reduce(sendbuf, recvbuf, count, type, op, -1, __VA_ARGS__)
#define MPIR_Direct_reduce_scatter(sendbuf, recvbuf, counts, type, op, ...)                        \
    MPIDI_UCX_coll_reduce_scatter(                                                                 \
        &(struct MPIR_Direct_reduce){sendbuf, recvbuf, 0, counts, type, op, -1, __VA_ARGS__})
#define MPIR_Direct_reduce_scatter_block(sendbuf, recvbuf, count, type, op, ...)                   \
    MPIDI_UCX_coll_reduce_scatter(                                                                 \
        &(struct MPIR_Direct_reduce){sendbuf, recvbuf, count, NULL, type, op, -1, __VA_ARGS__})

#else

#define MPIR_DIRECT_IS_ON 0
#define MPIR_DIRECT_HAS_PARTS(comm) false
#define MPIR_DIRECT_IS_PART(comm) false
#define MPIR_Direct_begins(comm) false
#define MPIR_Direct_may_begin(comm) false
#define MPIR_Direct_start(persistent) MPI_SUCCESS
#define MPIR_Direct_free(persistent)
#define MPIR_Direct_channels(persistent, name) MPI_SUCCESS
#define MPIR_Direct_start_together(sched_type, sched, comm, request) MPI_SUCCESS
#define MPIR_Direct_bcast(...) 0
#define MPIR_Direct_gather(...) 0
#define MPIR_Direct_allgather(...) 0
#define MPIR_Direct_scatter(...) 0
#define MPIR_Direct_alltoall(...) 0
#define MPIR_Direct_gatherv(...) 0
#define MPIR_Direct_allgatherv(...) 0
#define MPIR_Direct_scatterv(...) 0
#define MPIR_Direct_alltoallv(...) 0
#define MPIR_Direct_alltoallw(...) 0
#define MPIR_Direct_reduce(...) 0
#define MPIR_Direct_allreduce(...) 0
#define MPIR_Direct_reduce_scatter(...) 0
#define MPIR_Direct_reduce_scatter_block(...) 0

#endif

#endif /* HEDDLE_DIRECT_COLL_H_INCLUDED */
