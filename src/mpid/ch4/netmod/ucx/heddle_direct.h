/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of direct windows (heddle_win.h) tell each other: the window's shared segment, and
 * where an operation finds its target.
 */
#ifndef HEDDLE_DIRECT_H_INCLUDED
#define HEDDLE_DIRECT_H_INCLUDED

#include "heddle_internal.h"

/* ---- the segment ----------------------------------------------------------------------------- */

/* A window that is dynamic has so many regions of each member at most; what more is attached is
 * reached by active messages. */
#define MPIDI_UCX_DIRECT_REGIONS 256

/* A stretch of a member's memory that others can open. Its member alone writes it: `version` is odd
 * meanwhile. */
struct MPIDI_UCX_region {
    MPL_atomic_uint64_t version;
    uint64_t base;  /* the member's address of it */
    uint64_t bytes; /* 0: there is none */
    heddle_exported exported;
};

/* A member of the window. */
struct MPIDI_UCX_member {
    /* The lock of MPI_Win_lock: the exclusive holder's rank + 1, shifted by 32, or the number of
     * shared ones. */
    _Alignas(64) MPL_atomic_uint64_t lock;
    MPL_atomic_uint64_t next; /* rank + 1 of who waits and gets it next; others wait for that */
    /* The update lock: its holder's rank + 1. */
    _Alignas(64) MPL_atomic_uint64_t update;
    /* What stays as it is. */
    _Alignas(64) uint64_t base; /* of displacements */
    int64_t disp_unit;
    MPL_atomic_uint64_t regions; /* beyond so many there is none */
    struct MPIDI_UCX_region region[];
};

/* This process's end of a direct window. */
struct MPIDI_UCX_direct {
    heddle_shared *segment;
    char *members; /* the segment's beginning */
    size_t member_bytes;
    bool *is_held;    /* targets that this process has locked here */
    int *outstanding; /* puts and gets that are not over, by target */
};

static inline struct MPIDI_UCX_member *MPIDI_UCX_member(const MPIR_Win *win, int rank)
{
    const struct MPIDI_UCX_direct *direct = MPIDI_UCX_WIN(win).direct;
    return (struct MPIDI_UCX_member *)(direct->members + rank * direct->member_bytes);
}
/* Behind the members: not 0 while `rank` may be among those that share the lock of `target`. */
static inline MPL_atomic_uint64_t *MPIDI_UCX_shares(const MPIR_Win *win, int target, int rank)
{
    const struct MPIDI_UCX_direct *direct = MPIDI_UCX_WIN(win).direct;
    const int size = win->comm_ptr->local_size;
    return (MPL_atomic_uint64_t *)(direct->members + size * direct->member_bytes) + target * size +
           rank;
}

/* ---- targets --------------------------------------------------------------------------------- */

/* A stretch of a target's memory. */
struct MPIDI_UCX_target {
    struct MPIDI_UCX_region region; /* that it lies in */
    heddle_import *import;          /* null: it is this process's own */
    void *buf;                      /* in this process, for the type */
};
enum MPIDI_UCX_way {
    MPIDI_UCX_WAY_DIRECT,
    MPIDI_UCX_WAY_MESSAGES,
    MPIDI_UCX_WAY_FAILS /* with an error of MPI's */
};
/* How an operation reaches `count` of `type` at `disp` of `rank`, which exports memory, and where
 * they are. `near`: the buffer that they are moved from or to; null: none is known. If it is
 * direct, the caller releases the import. */
enum MPIDI_UCX_way MPIDI_UCX_direct_find(const struct MPIDI_UCX_access *a,
                                         const heddle_buffer *near, struct MPIDI_UCX_target *target,
                                         int *mpi_errno);
/* Whether others can open memory of `rank`. */
bool MPIDI_UCX_direct_exports(const MPIR_Win *win, int rank);

/* Whether there may be an operation at the target, as MPIDIG's own functions ask. */
static inline int MPIDI_UCX_check_epoch(MPIR_Win *win, int rank)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDIG_RMA_OP_CHECK_SYNC(rank, win);
fn_fail:
    return mpi_errno;
}
/* Counts an operation that goes by active messages, in a process with devices. */
static inline void MPIDI_UCX_count_by_message(MPI_Aint count, MPI_Datatype type)
{
    MPI_Aint size;
    if (!ENABLE_GPU)
        return;
    MPIR_Datatype_get_size_macro(type, size);
    heddle_access_count(HEDDLE_ACCESS_BY_MESSAGE, count * size);
}

/* ---- locks ----------------------------------------------------------------------------------- */

/* Waits for the update lock of `rank`, with all progress. An error: its holder has ended. */
int MPIDI_UCX_update_begin(MPIR_Win *win, int rank);
void MPIDI_UCX_update_end(MPIR_Win *win, int rank);

#endif /* HEDDLE_DIRECT_H_INCLUDED */
