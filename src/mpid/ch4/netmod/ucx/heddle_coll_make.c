/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Direct collectives (heddle_coll_direct.h): how a communicator gets its segment, how its members
 * meet, and how they decide.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include "heddle_coll_direct.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_CH4_UCX_DIRECT_COLL
      category    : CH4_UCX
      type        : int
      default     : 1
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        1: blocking collectives on device memory go straight between the
        buffers of processes of one node. 0: by messages; one process that says
        so is enough. A communicator looks at it once, in its third call.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

#if MPIR_TYPEREP_SENDS_DEVICE

/* The first calls go the usual way: many communicators, as those of windows, see no more of them.
 */
#define CALLS_BEFORE 2
#define NEVER (-1)
#define LOOKS_BETWEEN 50 /* at what the others have come to, before progress is made */

int MPIR_Direct_is_on = 0;

struct part {
    _Alignas(64) MPL_atomic_uint64_t met;
    _Alignas(64) char records[]; /* two */
};

/* ---- making ---------------------------------------------------------------------------------- */

/* Once in a communicator's life, by all members at the same call. Where there is no segment, there
 * never is one. */
static int make(MPIR_Comm *comm)
{
    bool is_wanted, shares;
    const size_t size = comm->local_size;
    struct MPIDI_UCX_coll *coll =
        MPL_calloc(1, sizeof(*coll) + size * sizeof(struct MPIDI_UCX_known_type), MPL_MEM_COMM);
    MPIDI_UCX_COMM(comm).coll_calls = NEVER;
    int mpi_errno = MPIDI_UCX_agree(
        comm, ENABLE_GPU, coll == NULL || MPIR_CVAR_CH4_UCX_DIRECT_COLL == 0, &is_wanted, &shares);
    is_wanted = is_wanted && shares;
    if (mpi_errno == MPI_SUCCESS && is_wanted) {
        coll->record_bytes = MPL_ROUND_UP_ALIGN(
            sizeof(struct MPIDI_UCX_record) + size * sizeof(struct MPIDI_UCX_block), 64);
        coll->part_bytes = sizeof(struct part) + 2 * coll->record_bytes;
        mpi_errno = MPIDI_UCX_share_segment(comm, size * coll->part_bytes, &coll->segment);
    }
    if (mpi_errno != MPI_SUCCESS || !is_wanted || coll->segment == NULL) {
        MPL_free(coll);
        return mpi_errno;
    }
    coll->parts = heddle_shared_address(coll->segment);
    MPIDI_UCX_COMM(comm).coll = coll;
    return MPI_SUCCESS;
}

/* Devices have images of them. */
static void forget_types(struct MPIDI_UCX_coll *coll, int members)
{
    for (int rank = 0; rank < members; rank++) {
        heddle_type_release(coll->known[rank].type);
        coll->known[rank].type = NULL;
    }
}

static void free_coll(MPIR_Comm *comm)
{
    struct MPIDI_UCX_coll *coll = MPIDI_UCX_COMM(comm).coll;
    if (coll == NULL)
        return;
    forget_types(coll, comm->local_size);
    heddle_shared_close(coll->segment);
    MPL_free(coll);
    MPIDI_UCX_COMM(comm).coll = NULL;
}

static bool is_candidate(const MPIR_Comm *comm)
{
    return comm->comm_kind == MPIR_COMM_KIND__INTRACOMM &&
           (comm->hierarchy_kind == MPIR_COMM_HIERARCHY_KIND__FLAT ||
            comm->hierarchy_kind == MPIR_COMM_HIERARCHY_KIND__PARENT) &&
           comm->local_size <= MPIDI_UCX_COLL_MOST && MPIDI_UCX_is_in_one_node(comm);
}

/* The communicator's segment; null: none. */
static struct MPIDI_UCX_coll *get(MPIR_Comm *comm, int *mpi_errno)
{
    *mpi_errno = MPI_SUCCESS;
    if (MPIDI_UCX_COMM(comm).coll_calls == NEVER)
        return MPIDI_UCX_COMM(comm).coll;
    if (!is_candidate(comm))
        MPIDI_UCX_COMM(comm).coll_calls = NEVER;
    else if (MPIDI_UCX_COMM(comm).coll_calls++ == CALLS_BEFORE)
        *mpi_errno = make(comm);
    return MPIDI_UCX_COMM(comm).coll;
}

/* ---- meeting --------------------------------------------------------------------------------- */

static struct part *part_of(const struct MPIDI_UCX_coll *coll, int rank)
{
    return (struct part *)(coll->parts + rank * coll->part_bytes);
}

struct MPIDI_UCX_record *MPIDI_UCX_coll_record(const struct MPIDI_UCX_coll_call *call, int rank)
{
    const struct MPIDI_UCX_coll *coll = call->coll;
    return (struct MPIDI_UCX_record *)(part_of(coll, rank)->records +
                                       coll->calls % 2 * coll->record_bytes);
}

/* A wait for all members. */
struct meeting {
    MPIR_Comm *comm;
    const struct MPIDI_UCX_coll *coll;
    int next; /* all before this one have come */
};

static bool have_come(struct meeting *m)
{
    while (m->next < m->comm->local_size &&
           MPL_atomic_load_uint64(&part_of(m->coll, m->next)->met) >= m->coll->met)
        m->next++;
    return m->next == m->comm->local_size;
}

/* Who has ended and will not come; -1: nobody. */
static int find_lost(const struct meeting *m)
{
    if (MPIDI_left_somebody)
        for (int rank = m->next; rank < m->comm->local_size; rank++)
            if (MPL_atomic_load_uint64(&part_of(m->coll, rank)->met) < m->coll->met &&
                MPIDI_UCX_member_has_ended(m->comm, rank))
                return rank;
    return -1;
}

static bool look(struct meeting *m)
{
    const int looks = MPIDI_UCX_watch & MPIDI_UCX_WATCH_YIELD ? 1 : LOOKS_BETWEEN;
    for (int i = 0; i < looks; i++)
        if (have_come(m))
            return true;
    return false;
}

/* Schedules of nonblocking collectives go on, too, for others may wait for those before they come.
 */
static int wait_for_all(struct meeting *m)
{
    while (!look(m)) {
        const int mpi_errno = MPID_Progress_test(NULL);
        if (mpi_errno != MPI_SUCCESS)
            return mpi_errno;
        const int lost = find_lost(m);
        if (lost >= 0)
            return MPIDI_UCX_member_error(lost);
        MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    }
    return MPI_SUCCESS;
}

/* False: the call is over. */
static bool meet(struct MPIDI_UCX_coll_call *call)
{
    struct meeting m = {call->comm, call->coll, 0};
    call->coll->met++;
    MPL_atomic_store_uint64(&part_of(call->coll, call->comm->rank)->met, call->coll->met);
    *call->mpi_errno = wait_for_all(&m);
    call->is_over = *call->mpi_errno != MPI_SUCCESS;
    if (call->is_over)
        forget_types(call->coll, call->comm->local_size); /* there is no other call */
    return !call->is_over;
}

/* ---- deciding -------------------------------------------------------------------------------- */

bool MPIDI_UCX_coll_begin(struct MPIDI_UCX_coll_call *call)
{
    call->coll = get(call->comm, call->mpi_errno);
    call->is_over = *call->mpi_errno != MPI_SUCCESS;
    if (call->coll == NULL)
        return false;
    call->coll->calls++;
    call->own = MPIDI_UCX_coll_record(call, call->comm->rank);
    call->own->why_not = call->why_not;
    call->own->on_device = call->own->is_in_place = false;
    call->own->is_flagged = *call->errflag != MPIR_ERR_NONE;
    call->own->blocks = 0;
    return true;
}

static const char *reason_of(uint32_t why_not)
{
    switch (why_not) {
    case MPIDI_UCX_COLL_CAN:
        return "all buffers can be opened";
    case MPIDI_UCX_COLL_HOST:
        return "what a member sends is in host memory";
    case MPIDI_UCX_COLL_CLOSED:
        return "a member's memory cannot be opened by others";
    case MPIDI_UCX_COLL_LONG:
        return "a type takes too many bytes to be told";
    case MPIDI_UCX_COLL_OPERATOR:
        return "no device combines these";
    case MPIDI_UCX_COLL_IN_PLACE:
        return "in place";
    default:
        return "a result is not in device memory";
    }
}

bool MPIDI_UCX_coll_decide(struct MPIDI_UCX_coll_call *call, int64_t bytes)
{
    uint32_t why_not = MPIDI_UCX_COLL_CAN;
    bool on_device = false, any = false;
    if (!meet(call))
        return false;
    for (int rank = 0; rank < call->comm->local_size; rank++) {
        const struct MPIDI_UCX_record *record = MPIDI_UCX_coll_record(call, rank);
        if (why_not == MPIDI_UCX_COLL_CAN)
            why_not = record->why_not;
        on_device |= record->on_device;
        any |= record->blocks > 0;
        call->is_flagged |= record->is_flagged;
        call->is_in_place |= record->is_in_place;
    }
    const bool is_direct = why_not == MPIDI_UCX_COLL_CAN && on_device && any;
    call->bytes = bytes;
    if (on_device && !is_direct)
        heddle_collective_count(call->name, false, bytes, reason_of(why_not));
    return is_direct;
}

void MPIDI_UCX_coll_fail(struct MPIDI_UCX_coll_call *call, int error)
{
    if (error != HEDDLE_SUCCESS && call->error == MPI_SUCCESS)
        call->error = MPIDI_UCX_message_error(error, call->comm->rank);
}

/* Each step has a word of its own: a member may be in the next one while others read it. */
enum MPIDI_UCX_outcome MPIDI_UCX_coll_agree(struct MPIDI_UCX_coll_call *call)
{
    int worst = MPIDI_UCX_COLL_DONE;
    const int step = call->step++;
    const int own = call->is_unopened            ? MPIDI_UCX_COLL_UNOPENED
                    : call->error != MPI_SUCCESS ? MPIDI_UCX_COLL_FAILED
                                                 : MPIDI_UCX_COLL_DONE;
    MPIR_Assert(step < MPIDI_UCX_COLL_STEPS);
    MPL_atomic_store_int(&call->own->outcome[step], own);
    if (!meet(call))
        return MPIDI_UCX_COLL_LOST;
    for (int rank = 0; rank < call->comm->local_size; rank++)
        worst =
            MPL_MAX(worst, MPL_atomic_load_int(&MPIDI_UCX_coll_record(call, rank)->outcome[step]));
    return (enum MPIDI_UCX_outcome)worst;
}

void MPIDI_UCX_coll_end(struct MPIDI_UCX_coll_call *call, enum MPIDI_UCX_outcome worst, bool shared)
{
    if (worst == MPIDI_UCX_COLL_LOST)
        return;
    if (worst == MPIDI_UCX_COLL_UNOPENED) {
        heddle_collective_count(call->name, false, call->bytes, "a member could not open memory");
        free_coll(call->comm); /* as all members do; MPIDI_UCX_coll_begin finds none any more */
        return;
    }
    heddle_collective_count(call->name, true, call->bytes, reason_of(MPIDI_UCX_COLL_CAN));
    call->is_over = true;
    *call->mpi_errno = call->error;
    if (call->is_flagged || (shared && worst == MPIDI_UCX_COLL_FAILED))
        MPIR_Coll_note(call->errflag, MPI_ERR_OTHER);
}

void MPIDI_UCX_coll_free(MPIR_Comm *comm) { free_coll(comm); }

#else

void MPIDI_UCX_coll_free(MPIR_Comm *comm) { (void)comm; }

#endif
