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
    return comm->local_size > 1 &&
           (MPIR_DIRECT_IS_PART(comm) ||
            (comm->node_comm != NULL && comm->node_comm->local_size == comm->local_size));
}

static struct told tell(bool mine, bool refuses)
{
    heddle_process self;
    heddle_process_self(&self);
    return (struct told){mine, refuses, self.node, ~self.node};
}

static bool may_share(const MPIR_Comm *comm, const struct told *told)
{
    return MPIDI_UCX_is_in_one_node(comm) && told->node != 0 && told->node == ~told->not_node;
}

int MPIDI_UCX_agree(MPIR_Comm *comm, bool mine, bool refuses, bool *some, bool *shares)
{
    struct told told = tell(mine, refuses);
    const int mpi_errno =
        agree_on(comm, &told, sizeof(told) / sizeof(uint64_t), MPI_UINT64_T, MPI_MAX);
    *some = mpi_errno == MPI_SUCCESS && told.some && !told.refuses;
    *shares = mpi_errno == MPI_SUCCESS && may_share(comm, &told);
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

/* ---- the same as one schedule ---------------------------------------------------------------- */

struct MPIDI_UCX_sharing {
    int64_t bytes;
    struct told told;
    heddle_shared_name name; /* all zeros: nothing is shared */
    int has_it;
    heddle_shared *segment;
    MPIR_Request *request;
};

static int make_segment(MPIR_Comm *comm, int tag, void *state)
{
    struct MPIDI_UCX_sharing *s = state;
    const bool is_wanted = s->told.some && !s->told.refuses && may_share(comm, &s->told);
    (void)tag;
    s->has_it = is_wanted && (comm->rank != 0 || heddle_shared_make(s->bytes, &s->name,
                                                                    &s->segment) == HEDDLE_SUCCESS);
    return MPI_SUCCESS;
}

static int open_segment(MPIR_Comm *comm, int tag, void *state)
{
    struct MPIDI_UCX_sharing *s = state;
    (void)tag;
    if (s->has_it && comm->rank != 0)
        s->has_it = heddle_shared_open(&s->name, &s->segment) == HEDDLE_SUCCESS;
    return MPI_SUCCESS;
}

/* A step that each member does by itself (null: none), and what they tell each other then. */
static int add_step(MPIR_Sched_t schedule, MPIR_Comm *comm, MPIR_Sched_cb_t *does, void *state,
                    void *numbers, int n, MPI_Datatype type, MPI_Op op)
{
    int mpi_errno = MPI_SUCCESS;
    if (does != NULL) {
        mpi_errno = MPIR_Sched_cb(does, state, schedule);
        MPIR_ERR_CHECK(mpi_errno);
        MPIR_SCHED_BARRIER(schedule);
    }
    mpi_errno = MPIR_Iallreduce_intra_sched_recursive_doubling(MPI_IN_PLACE, numbers, n, type, op,
                                                               comm, schedule);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_SCHED_BARRIER(schedule);
fn_fail:
    return mpi_errno;
}

/* On a node's part of a communicator MPICH's schedules have tags of the whole, which that part does
 * not count. So this one has a tag that none has there. */
static int next_tag(MPIR_Comm *comm, int *tag)
{
    if (!MPIR_DIRECT_IS_PART(comm))
        return MPIR_Sched_next_tag(comm, tag);
    *tag = MPIR_TOPO_A_TAG;
    return MPI_SUCCESS;
}

static int start(MPIR_Comm *comm, struct MPIDI_UCX_sharing *s)
{
    int tag;
    MPIR_Sched_t schedule = MPIR_SCHED_NULL;
    int mpi_errno = MPIR_Sched_create(&schedule, MPIR_SCHED_KIND_REGULAR);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = next_tag(comm, &tag);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Sched_set_tag(schedule, tag);
    mpi_errno = add_step(schedule, comm, NULL, NULL, &s->told, sizeof(s->told) / sizeof(uint64_t),
                         MPI_UINT64_T, MPI_MAX);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = add_step(schedule, comm, make_segment, s, &s->name,
                         sizeof(s->name) / sizeof(uint64_t), MPI_UINT64_T, MPI_BOR);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = add_step(schedule, comm, open_segment, s, &s->has_it, 1, MPI_INT, MPI_MIN);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Sched_start(schedule, comm, &s->request);
fn_fail:
    return mpi_errno;
}

int MPIDI_UCX_share_begin(MPIR_Comm *comm, bool mine, bool refuses, int64_t bytes,
                          struct MPIDI_UCX_sharing **sharing)
{
    struct MPIDI_UCX_sharing *s = MPL_calloc(1, sizeof(*s), MPL_MEM_COMM);
    *sharing = NULL;
    if (s == NULL)
        return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                    MPI_ERR_NO_MEM, "**nomem", 0);
    s->told = tell(mine, refuses);
    s->bytes = bytes;
    const int mpi_errno = start(comm, s);
    if (mpi_errno == MPI_SUCCESS)
        *sharing = s;
    else
        MPL_free(s);
    return mpi_errno;
}

bool MPIDI_UCX_share_test(struct MPIDI_UCX_sharing **sharing, heddle_shared **segment,
                          int *mpi_errno)
{
    struct MPIDI_UCX_sharing *s = *sharing;
    if (!MPIR_Request_is_complete(s->request))
        return false;
    *mpi_errno = s->request->status.MPI_ERROR;
    heddle_shared_opened(s->segment);
    if (*mpi_errno != MPI_SUCCESS || !s->has_it) {
        heddle_shared_close(s->segment);
        s->segment = NULL;
    }
    *segment = s->segment;
    MPIR_Request_free(s->request);
    MPL_free(s);
    *sharing = NULL;
    return true;
}

/* ---- who has ended --------------------------------------------------------------------------- */

/* Its rank in the job; -1: it is of another job. */
static int rank_in_job(MPIR_Comm *comm, int rank)
{
    int in_job, table;
    MPIDIU_comm_rank_to_pid(comm, rank, &in_job, &table);
    return table == 0 ? in_job : -1;
}

bool MPIDI_UCX_member_has_ended(MPIR_Comm *comm, int rank)
{
    const int in_job = MPIDI_left_somebody ? rank_in_job(comm, rank) : -1;
    return in_job >= 0 && MPIDI_UCX_has_ended(in_job);
}

bool MPIDI_UCX_member_is_silent(const MPIR_Win *win, int rank)
{
    const int in_job = MPIDI_left_somebody ? rank_in_job(win->comm_ptr, rank) : -1;
    return in_job >= 0 && MPIDI_UCX_is_silent(in_job, MPIDI_UCX_get_win_vni((MPIR_Win *)win));
}

int MPIDI_UCX_member_error(int rank) { return MPIDI_UCX_message_error(HEDDLE_ERR_LOST, rank); }
