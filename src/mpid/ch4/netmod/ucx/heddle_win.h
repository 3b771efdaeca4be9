/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Direct windows: one-sided operations on device memory within a node go straight to the target's
 * memory. The target's processor takes no part, and need not be in MPI.
 *
 * A window is direct if all of its members are in one node, and the job has devices. All members
 * agree on it when the window is made. They share a segment of host memory then: in it each tells
 * where its device memory is and how it is opened (heddle_win.c), and there are the window's locks
 * (heddle_win_lock.c), which need nothing of the target. An operation goes straight to memory of
 * its target's that its origin can open. All else goes the same way as in other windows: by UCX,
 * announced (heddle_announced.h), or by MPICH's active messages.
 *
 * - Put and get are moves from layout to layout (heddle_win_access.c). Who synchronizes waits for
 *   them first.
 * - The lock of a target is a word in the segment, whatever way operations take.
 * - Accumulates to a target that has exported memory hold the target's update lock, another word,
 *   from reading to writing, whatever way they take (heddle_win_update.c). So this lock alone
 *   makes them atomic. They are over when their call returns, which keeps them in order.
 */
#ifndef HEDDLE_WIN_H_INCLUDED
#define HEDDLE_WIN_H_INCLUDED

#if MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_HEDDLE

/* ---- for MPICH's files ----------------------------------------------------------------------- */

/* Collective over the window's processes. */
int MPIDI_UCX_direct_create(MPIR_Win *win);
void MPIDI_UCX_direct_free(MPIR_Win *win);
/* These and the following stand for MPIDIG's functions of the same names, for all windows. */
int MPIDI_UCX_direct_attach(MPIR_Win *win, void *base, MPI_Aint size);
int MPIDI_UCX_direct_detach(MPIR_Win *win, const void *base);
int MPIDI_UCX_direct_lock(int lock_type, int rank, int assert, MPIR_Win *win);
int MPIDI_UCX_direct_unlock(int rank, MPIR_Win *win);
int MPIDI_UCX_direct_lock_all(int assert, MPIR_Win *win);
int MPIDI_UCX_direct_unlock_all(MPIR_Win *win);
int MPIDI_UCX_direct_complete(MPIR_Win *win);

/* Waits for this process's puts and gets at ranks `first` to `end`. What failed is told by the
 * synchronization that waits (MPIDIG_win_result), which must go on for the others' sake. */
void MPIDI_UCX_direct_flush(MPIR_Win *win, int first, int end);
#define MPIDI_UCX_DIRECT_FLUSH(win, first, end)                                                    \
    do {                                                                                           \
        if (unlikely(MPIDI_UCX_WIN(win).direct != NULL))                                           \
            MPIDI_UCX_direct_flush((win), (first), (end));                                         \
    } while (0)

/* MPI_Rput and MPI_Rget that UCX carries out, in `*request`, which its callback reads: null once
 * the target has ended. Under the VCI's lock. */
void MPIDI_UCX_rma_begins(MPIR_Request **request, ucp_ep_h ep, int rank, int vni);
/* UCX is done with it. The caller completes the request. */
void MPIDI_UCX_rma_ends(MPIR_Request *request, ucs_status_t status);

/* What an operation was called with, in the order of MPI's arguments. */
struct MPIDI_UCX_access {
    const void *origin;
    MPI_Aint origin_count;
    MPI_Datatype origin_type;
    int rank;
    MPI_Aint disp;
    MPI_Aint count;
    MPI_Datatype type;
    MPIR_Win *win;
    MPIR_Request **request;
};
struct MPIDI_UCX_get_accumulate {
    const void *origin;
    MPI_Aint origin_count;
    MPI_Datatype origin_type;
    void *result;
    MPI_Aint result_count;
    MPI_Datatype result_type;
    int rank;
    MPI_Aint disp;
    MPI_Aint count;
    MPI_Datatype type;
    MPI_Op op;
    MPIR_Win *win;
    MPIR_Request **request;
};
struct MPIDI_UCX_fetch_and_op {
    const void *origin;
    void *result;
    MPI_Datatype type;
    int rank;
    MPI_Aint disp;
    MPI_Op op;
    MPIR_Win *win;
};
struct MPIDI_UCX_compare_and_swap {
    const void *origin;
    const void *compare;
    void *result;
    MPI_Datatype type;
    int rank;
    MPI_Aint disp;
    MPIR_Win *win;
};
int MPIDI_UCX_put(const struct MPIDI_UCX_access *put);
int MPIDI_UCX_get(const struct MPIDI_UCX_access *get);
int MPIDI_UCX_accumulate(const struct MPIDI_UCX_access *a, MPI_Op op);
int MPIDI_UCX_get_accumulate(const struct MPIDI_UCX_get_accumulate *a);
int MPIDI_UCX_fetch_and_op(const struct MPIDI_UCX_fetch_and_op *a);
int MPIDI_UCX_compare_and_swap(const struct MPIDI_UCX_compare_and_swap *a);

#define MPIDI_UCX_direct_put(...) MPIDI_UCX_put(&(struct MPIDI_UCX_access){__VA_ARGS__})
#define MPIDI_UCX_direct_rput MPIDI_UCX_direct_put
#define MPIDI_UCX_direct_get(...) MPIDI_UCX_get(&(struct MPIDI_UCX_access){__VA_ARGS__})
#define MPIDI_UCX_direct_rget MPIDI_UCX_direct_get
#define MPIDI_UCX_direct_accumulate(origin, origin_count, origin_type, rank, disp, count, type,    \
                                    op, ...)                                                       \
    MPIDI_UCX_accumulate(&(struct MPIDI_UCX_access){origin, origin_count, origin_type, rank, disp, \
                                                    count, type, __VA_ARGS__},                     \
                         op)
#define MPIDI_UCX_direct_raccumulate MPIDI_UCX_direct_accumulate
#define MPIDI_UCX_direct_get_accumulate(...)                                                       \
    MPIDI_UCX_get_accumulate(&(struct MPIDI_UCX_get_accumulate){__VA_ARGS__})
#define MPIDI_UCX_direct_rget_accumulate MPIDI_UCX_direct_get_accumulate
#define MPIDI_UCX_direct_fetch_and_op(...)                                                         \
    MPIDI_UCX_fetch_and_op(&(struct MPIDI_UCX_fetch_and_op){__VA_ARGS__})
#define MPIDI_UCX_direct_compare_and_swap(...)                                                     \
    MPIDI_UCX_compare_and_swap(&(struct MPIDI_UCX_compare_and_swap){__VA_ARGS__})

#else

#define MPIDI_UCX_direct_create(win) MPI_SUCCESS
#define MPIDI_UCX_direct_free(win)
#define MPIDI_UCX_direct_attach MPIDIG_mpi_win_attach
#define MPIDI_UCX_direct_detach MPIDIG_mpi_win_detach
#define MPIDI_UCX_direct_lock MPIDIG_mpi_win_lock
#define MPIDI_UCX_direct_unlock MPIDIG_mpi_win_unlock
#define MPIDI_UCX_direct_lock_all MPIDIG_mpi_win_lock_all
#define MPIDI_UCX_direct_unlock_all MPIDIG_mpi_win_unlock_all
#define MPIDI_UCX_direct_complete MPIDIG_mpi_win_complete
#define MPIDI_UCX_DIRECT_FLUSH(win, first, end)
#define MPIDI_UCX_rma_begins(request, ep, rank, vni)
#define MPIDI_UCX_rma_ends(request, status) MPIR_Assert((status) == UCS_OK)
#define MPIDI_UCX_direct_put MPIDIG_mpi_put
#define MPIDI_UCX_direct_rput MPIDIG_mpi_rput
#define MPIDI_UCX_direct_get MPIDIG_mpi_get
#define MPIDI_UCX_direct_rget MPIDIG_mpi_rget
#define MPIDI_UCX_direct_accumulate MPIDIG_mpi_accumulate
#define MPIDI_UCX_direct_raccumulate MPIDIG_mpi_raccumulate
#define MPIDI_UCX_direct_get_accumulate MPIDIG_mpi_get_accumulate
#define MPIDI_UCX_direct_rget_accumulate MPIDIG_mpi_rget_accumulate
#define MPIDI_UCX_direct_fetch_and_op MPIDIG_mpi_fetch_and_op
#define MPIDI_UCX_direct_compare_and_swap MPIDIG_mpi_compare_and_swap

#endif

#endif /* HEDDLE_WIN_H_INCLUDED */
