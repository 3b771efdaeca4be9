/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Finalize. A process that has closed its connections makes no more progress, which others may
 * need for theirs (seen over TCP after chunks of 1 MiB, and after large one-sided transfers). So
 * all meet twice: once all are here nobody posts receives any more, and what nobody takes is
 * dropped, with a word on stderr; once all that was sent is through, they close.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#if MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_HEDDLE
#include "heddle_leaving.h"
#include "heddle_moves.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#define SECONDS_FOR_RECEIVERS 2

/* What processes tell each other on leaving. */
enum { ROUND, HERE, ENDED };
struct leaving {
    uint32_t kind;
    uint32_t meeting; /* ROUND, HERE: the first or the second */
    uint64_t round;   /* ROUND */
    uint32_t rank;    /* HERE: the sender's; ENDED: who has */
};

static uint64_t rounds[2];  /* in which this process was told */
static unsigned char *here; /* by rank: the last meeting that it is known to have come to; null:
                               nobody told */

void MPIDI_UCX_leaving_init(void)
{
    rounds[0] = rounds[1] = 0;
    MPL_free(here);
    here = MPL_calloc(MPIR_Process.size, 1, MPL_MEM_OTHER);
}

void MPIDI_UCX_leaving_arrived(const void *header, size_t header_bytes)
{
    struct leaving it;
    if (header_bytes != sizeof(it))
        return;
    memcpy(&it, header, sizeof(it));
    if (it.rank >= (uint32_t)MPIR_Process.size || it.kind > ENDED ||
        (it.kind != ENDED && it.meeting - 1 > 1))
        return;
    if (it.kind == ROUND)
        rounds[it.meeting - 1] |= it.round;
    else if (it.kind == HERE)
        here[it.rank] = MPL_MAX(here[it.rank], (unsigned char)it.meeting);
    else
        MPIDI_UCX_note_ended((int)it.rank);
}

static void progress_all(void)
{
    for (int vni = 0; vni < MPIDI_UCX_global.num_vnis; vni++) {
        MPIDI_UCX_watch_progress(vni);
        if (!(MPIDI_UCX_watch & MPIDI_UCX_WATCH_GPU))
            MPIDI_UCX_look(vni);
    }
}

/* ---- meetings -----------------------------------------------------------------------------------
 */

/* Who cannot be reached is not waited for. */
static void tell(int rank, struct leaving it)
{
    if (rank == MPIR_Process.rank || MPIDI_UCX_has_ended(rank))
        return;
    if (!MPIDI_UCX_leaving_send(MPIDI_UCX_AV(&MPIDIU_get_av(0, rank)).dest[0][0], &it, sizeof(it)))
        MPIDI_UCX_note_ended(rank);
}

/* Where somebody has ended, each asks each, and tells what it knows first. */
static void meet_the_others(uint32_t meeting)
{
    const int size = MPIR_Process.size;
    for (int rank = 0; rank < size; rank++) {
        for (int gone = 0; gone < size; gone++)
            if (MPIDI_UCX_has_ended(gone))
                tell(rank, (struct leaving){.kind = ENDED, .rank = (uint32_t)gone});
        tell(rank, (struct leaving){
                       .kind = HERE, .meeting = meeting, .rank = (uint32_t)MPIR_Process.rank});
    }
    for (int rank = 0; rank < size; rank++)
        while (rank != MPIR_Process.rank && !MPIDI_UCX_has_ended(rank) && here[rank] < meeting)
            progress_all();
}

/* A barrier in which everybody makes progress (by dissemination: Hensgen, Finkel, Manber 1988).
 * There is no MPI_COMM_WORLD any more. */
static void meet(uint32_t meeting)
{
    const uint64_t size = (uint64_t)MPIR_Process.size, rank = (uint64_t)MPIR_Process.rank;
    for (uint64_t round = 1; round < size && !MPIDI_UCX_anyone_ended(); round *= 2) {
        tell((int)((rank + round) % size),
             (struct leaving){.kind = ROUND, .meeting = meeting, .round = round});
        while (!(rounds[meeting - 1] & round) && !MPIDI_UCX_anyone_ended())
            progress_all();
    }
    if (MPIDI_UCX_anyone_ended() && here != NULL)
        meet_the_others(meeting);
}

/* ---- messages -----------------------------------------------------------------------------------
 */

static int envelopes(void)
{
    int all = 0;
    for (int vni = 0; vni < MPIDI_UCX_global.num_vnis; vni++)
        all += MPIDI_UCX_vni_gpu[vni].envelopes;
    return all;
}

static int rank_of(const void *ep, int vni)
{
    for (int rank = 0; rank < MPIR_Process.size; rank++)
        for (int to = 0; to < MPIDI_UCX_global.num_vnis; to++)
            if (MPIDI_UCX_AV(&MPIDIU_get_av(0, rank)).dest[vni][to] == ep)
                return rank;
    return -1;
}

static void drop_unmatched(int vni)
{
    heddle_unmatched it;
    while (heddle_port_unmatched(MPIDI_UCX_port(vni), &it) == HEDDLE_SUCCESS) {
        fprintf(stderr,
                "MPI_Finalize, rank %d: nobody receives the message of %lld bytes that was sent to "
                "rank %d with tag %d\n",
                MPIR_Process.rank, (long long)it.bytes, rank_of(it.peer, vni),
                MPIDI_UCX_get_tag(it.key));
        (void)heddle_message_abandon(MPIDI_UCX_port(vni), it.message, HEDDLE_ERR_PEER);
    }
}

static int64_t seconds(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

/* Requests may have been freed. All are here: who is to receive something does so by now. */
static void wait_for_receivers(void)
{
    int left = envelopes();
    int64_t since = seconds();
    while (left > 0) {
        progress_all();
        if (envelopes() != left) {
            left = envelopes();
            since = seconds();
        } else if (seconds() - since > SECONDS_FOR_RECEIVERS) {
            for (int vni = 0; vni < MPIDI_UCX_global.num_vnis; vni++)
                drop_unmatched(vni);
            since = seconds();
        }
    }
}

/* ---- connections --------------------------------------------------------------------------------
 */

static void flushed(void *request, ucs_status_t status) { (void)request, (void)status; }

static void flush(int rank, ucp_ep_h ep)
{
    void *request = MPIDI_UCX_has_ended(rank) ? NULL : ucp_ep_flush_nb(ep, 0, flushed);
    if (request == NULL || UCS_PTR_IS_ERR(request))
        return;
    while (ucp_request_check_status(request) == UCS_INPROGRESS && !MPIDI_UCX_has_ended(rank))
        progress_all();
    ucp_request_free(request);
}

/* Waits until UCX needs nothing more for what was sent. Connection by connection, as they are
 * closed: over TCP a worker's flush does not ask the other end whether it has what was written
 * there, and a connection's does. */
static void flush_all(void)
{
    const int n = MPIDI_UCX_global.num_vnis;
    for (int rank = 0; rank < MPIR_Process.size; rank++)
        for (int from = 0; from < n; from++)
            for (int to = 0; to < n; to++)
                flush(rank, MPIDI_UCX_AV(&MPIDIU_get_av(0, rank)).dest[from][to]);
}

void MPIDI_UCX_gpu_drain(void)
{
    for (int vni = 0; vni < MPIDI_UCX_global.num_vnis; vni++)
        MPIDI_UCX_wait_turn(vni);
    meet(1);
    wait_for_receivers();
    flush_all();
    meet(2);
}

/* ---- the last barrier ---------------------------------------------------------------------------
 */

struct barrier {
    int mpi_errno;
    MPL_atomic_int_t over;
};

static void *stand_in(void *argument)
{
    struct barrier *b = argument;
    b->mpi_errno = MPIR_pmi_barrier();
    MPL_atomic_release_store_int(&b->over, 1);
    return NULL;
}

/* The process manager's, which blocks: so another thread stands in it. Over TCP a connection closes
 * once its other end has answered, which may stand here already. */
int MPIDI_UCX_last_barrier(void)
{
    struct barrier b = {.mpi_errno = MPI_SUCCESS};
    pthread_t thread;
    if (MPIDI_UCX_anyone_ended())
        return MPI_SUCCESS;
    MPL_atomic_relaxed_store_int(&b.over, 0);
    if (pthread_create(&thread, NULL, stand_in, &b) != 0)
        return MPIR_pmi_barrier();
    while (!MPL_atomic_acquire_load_int(&b.over)) {
        for (int vni = 0; vni < MPIDI_UCX_global.num_vnis; vni++)
            ucp_worker_progress(MPIDI_UCX_global.ctx[vni].worker);
        sched_yield();
    }
    (void)pthread_join(thread, NULL);
    return b.mpi_errno;
}

#endif
