/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocking collectives that go straight between device buffers of one node. MPIR_Bcast and its kin
 * ask these first (maint/mpich-4.0.2.fork). Each answers false if the collective goes its usual
 * way, at all members alike. Otherwise it is over, and the result is in `*mpi_errno` and
 * `*errflag`. The UCX netmod carries them out (src/mpid/ch4/netmod/ucx/heddle_coll_direct.h).
 */
#ifndef HEDDLE_DIRECT_COLL_H_INCLUDED
#define HEDDLE_DIRECT_COLL_H_INCLUDED

#if MPIR_TYPEREP_SENDS_DEVICE

/* Somebody in this job has a device, and MPIR_CVAR_CH4_UCX_DIRECT_COLL allows it. */
extern int MPIR_Direct_is_on ATTRIBUTE((visibility("hidden")));
#define MPIR_DIRECT_IS_ON unlikely(MPIR_Direct_is_on)

/* What a collective was called with, in the order of MPI's arguments. A root of -1: it has none. */
struct MPIR_Direct_bcast {
    void *buf;
    MPI_Aint count;
    MPI_Datatype type;
    int root;
    MPIR_Comm *comm;
    MPIR_Errflag_t *errflag;
    int *mpi_errno;
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
    MPIR_Errflag_t *errflag;
    int *mpi_errno;
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
    MPIR_Errflag_t *errflag;
    int *mpi_errno;
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
    MPIR_Errflag_t *errflag;
    int *mpi_errno;
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
    MPIR_Errflag_t *errflag;
    int *mpi_errno;
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
    MPIR_Errflag_t *errflag;
    int *mpi_errno;
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
    MPIR_Errflag_t *errflag;
    int *mpi_errno;
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
