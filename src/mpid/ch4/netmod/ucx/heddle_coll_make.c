/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Direct collectives (heddle_coll_direct.h): how a communicator, or a persistent call, gets its
 * segment.
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
        1: collectives on device memory go straight between the
        buffers of processes of one node. 0: by messages; one process that says
        so is enough. A communicator looks at it once, in its third call.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

#if MPIR_TYPEREP_SENDS_DEVICE

/* The first calls go the usual way: many communicators, as those of windows, see no more of them.
 * One over several nodes may have two parts within a node. */
#define CALLS_BEFORE 2
#define PARTS_BEFORE (2 * CALLS_BEFORE)
#define NEVER (-1)
/* So many calls of a communicator are under way at once; more of them wait. */
#define SLOTS 4
/* Who comes to a start has seen all others leave the last but one. */
#define SLOTS_OF_PERSISTENT 2

int MPIR_Direct_is_on = 0;

static struct MPIDI_UCX_coll *begin_to_make(MPIR_Comm *comm, unsigned slots)
{
    const size_t size = comm->local_size;
    struct MPIDI_UCX_coll *coll =
        MPL_calloc(1, sizeof(*coll) + size * sizeof(struct MPIDI_UCX_known_type), MPL_MEM_COMM);
    MPIR_Assertp(coll != NULL);
    coll->members = (unsigned)size;
    coll->slots = slots;
    coll->slot_bytes =
        MPL_ROUND_UP_ALIGN(sizeof(struct MPIDI_UCX_slot) + sizeof(struct MPIDI_UCX_record) +
                               size * sizeof(struct MPIDI_UCX_block),
                           64);
    coll->part_bytes = slots * coll->slot_bytes;
    coll->mpi_errno = MPIDI_UCX_share_begin(comm, ENABLE_GPU, MPIR_CVAR_CH4_UCX_DIRECT_COLL == 0,
                                            (int64_t)(size * coll->part_bytes), &coll->sharing);
    return coll;
}

bool MPIDI_UCX_coll_is_made(struct MPIDI_UCX_coll *coll)
{
    if (coll->sharing == NULL)
        return true;
    if (!MPIDI_UCX_share_test(&coll->sharing, &coll->segment, &coll->mpi_errno))
        return false;
    if (coll->segment != NULL)
        coll->parts = heddle_shared_address(coll->segment);
    return true;
}

void MPIDI_UCX_coll_forget_types(struct MPIDI_UCX_coll *coll)
{
    for (unsigned rank = 0; rank < coll->members; rank++) {
        heddle_type_release(coll->known[rank].type);
        coll->known[rank].type = NULL;
    }
}

void MPIDI_UCX_coll_close(struct MPIDI_UCX_coll *coll)
{
    MPIDI_UCX_coll_forget_types(coll);
    heddle_shared_close(coll->segment);
    MPL_free(coll);
}

static bool is_candidate(const MPIR_Comm *comm)
{
    return comm->comm_kind == MPIR_COMM_KIND__INTRACOMM &&
           comm->hierarchy_kind != MPIR_COMM_HIERARCHY_KIND__NODE_ROOTS &&
           comm->local_size <= MPIDI_UCX_COLL_MOST && MPIDI_UCX_is_in_one_node(comm);
}

static int calls_before(const MPIR_Comm *comm)
{
    return MPIR_DIRECT_IS_PART(comm) ? PARTS_BEFORE : CALLS_BEFORE;
}

/* It has a segment, or will have one for all that is known yet. */
static bool is_of_use(const struct MPIDI_UCX_coll *coll)
{
    return coll != NULL && (coll->sharing != NULL || coll->segment != NULL);
}

struct MPIDI_UCX_coll *MPIDI_UCX_coll_of(MPIR_Comm *comm)
{
    if (MPIDI_UCX_COMM(comm).coll_calls != NEVER) {
        if (!is_candidate(comm)) {
            MPIDI_UCX_COMM(comm).coll_calls = NEVER;
            return NULL;
        }
        /* If it goes the usual way, MPICH cuts it, though there is one node. */
        if (!MPIR_DIRECT_IS_PART(comm))
            MPIDI_UCX_COMM(comm->node_comm).coll_calls = NEVER;
        if (MPIDI_UCX_COMM(comm).coll_calls++ == calls_before(comm)) {
            MPIDI_UCX_COMM(comm).coll_calls = NEVER;
            MPIDI_UCX_COMM(comm).coll = begin_to_make(comm, SLOTS);
        }
    }
    return is_of_use(MPIDI_UCX_COMM(comm).coll) ? MPIDI_UCX_COMM(comm).coll : NULL;
}

struct MPIDI_UCX_coll *MPIDI_UCX_coll_of_persistent(MPIR_Comm *comm)
{
    if (!is_candidate(comm))
        return NULL;
    struct MPIDI_UCX_coll *coll = begin_to_make(comm, SLOTS_OF_PERSISTENT);
    while (!MPIDI_UCX_coll_is_made(coll) && MPID_Progress_test(NULL) == MPI_SUCCESS)
        MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    if (coll->segment != NULL)
        return coll;
    MPIDI_UCX_coll_close(coll);
    return NULL;
}

bool MPIR_Direct_begins(MPIR_Comm *comm) { return MPIDI_UCX_coll_of(comm) != NULL; }

/* If not, MPICH makes copies in host memory of what is short, and reduces these. So it does where
 * memory was closed to others the last time. That is this member's affair: it sends host memory
 * then, and all decline. */
bool MPIR_Direct_may_begin(MPIR_Comm *comm)
{
    const struct MPIDI_UCX_coll *coll = MPIDI_UCX_COMM(comm).coll;
    return (is_of_use(coll) && !coll->is_closed) ||
           (MPIDI_UCX_COMM(comm).coll_calls == calls_before(comm) && is_candidate(comm));
}

void MPIDI_UCX_coll_free(MPIR_Comm *comm)
{
    if (MPIDI_UCX_COMM(comm).coll != NULL)
        MPIDI_UCX_coll_close(MPIDI_UCX_COMM(comm).coll);
    MPIDI_UCX_COMM(comm).coll = NULL;
}

#else

void MPIDI_UCX_coll_free(MPIR_Comm *comm) { (void)comm; }

#endif
