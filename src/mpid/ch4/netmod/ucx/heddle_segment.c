/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Segments of host memory that the members of a communicator share, for direct windows
 * (heddle_win.h) and direct collectives (heddle_coll_direct.h); and who of them has ended. The
 * collectives that make a segment are MPICH's fallbacks, which none of ours takes the place of.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include "heddle_internal.h"

/* What the members tell each other: the greatest of each counts. */
struct told {
    uint64_t some, refuses;
    uint64_t node, not_node; /* one is the other's complement where all are in one node */
};

static int agree_on(MPIR_Comm *comm, void *numbers, int n, MPI_Datatype type, MPI_Op op)
{
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    const int mpi_errno =
        MPIR_Allreduce_fallback(MPI_IN_PLACE, numbers, n, type, op, comm, &errflag);
    return MPIR_Coll_result(mpi_errno, &errflag);
}

bool MPIDI_UCX_is_in_one_node(const MPIR_Comm *comm)
{
    return comm->local_size > 1 && comm->node_comm != NULL &&
           comm->node_comm->local_size == comm->local_size;
}

int MPIDI_UCX_agree(MPIR_Comm *comm, bool mine, bool refuses, bool *some, bool *shares)
{
    heddle_process self;
    heddle_process_self(&self);
    struct told told = {mine, refuses, self.node, ~self.node};
    const int mpi_errno =
        agree_on(comm, &told, sizeof(told) / sizeof(uint64_t), MPI_UINT64_T, MPI_MAX);
    *some = mpi_errno == MPI_SUCCESS && told.some && !told.refuses;
    *shares = mpi_errno == MPI_SUCCESS && MPIDI_UCX_is_in_one_node(comm) && told.node != 0 &&
              told.node == ~told.not_node;
    return mpi_errno;
}

/* The name goes as numbers of which all others give zeros. */
int MPIDI_UCX_share_segment(MPIR_Comm *comm, int64_t bytes, heddle_shared **segment)
{
    heddle_shared_name name = {{0}};
    *segment = NULL;
    int has_it = comm->rank == 0 && heddle_shared_make(bytes, &name, segment) == HEDDLE_SUCCESS;
    int mpi_errno = agree_on(comm, &name, sizeof(name) / sizeof(uint64_t), MPI_UINT64_T, MPI_BOR);
    if (mpi_errno == MPI_SUCCESS && comm->rank != 0)
        has_it = heddle_shared_open(&name, segment) == HEDDLE_SUCCESS;
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = agree_on(comm, &has_it, 1, MPI_INT, MPI_MIN);
    heddle_shared_opened(*segment);
    if (mpi_errno != MPI_SUCCESS || !has_it) {
        heddle_shared_close(*segment);
        *segment = NULL;
    }
    return mpi_errno;
}

bool MPIDI_UCX_member_has_ended(MPIR_Comm *comm, int rank)
{
    int in_job, table;
    if (!MPIDI_left_somebody)
        return false;
    MPIDIU_comm_rank_to_pid(comm, rank, &in_job, &table);
    return table == 0 && MPIDI_UCX_has_ended(in_job);
}

int MPIDI_UCX_member_error(int rank) { return MPIDI_UCX_message_error(HEDDLE_ERR_LOST, rank); }
