/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Finalize. A process that has closed its connections makes no more progress, which others may
 * need for theirs (seen over TCP after chunks of 1 MiB, and after large one-sided transfers). So
 * all meet twice: once all are here nobody posts receives any more, and what nobody takes is
 * dropped, with a word on stderr; once all that was sent is through, they close.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include "heddle_internal.h"

#include <pthread.h>
#include <sched.h>

#define SECONDS_FOR_RECEIVERS 2
#define SECONDS_FOR_BARRIER 1

static void progress_all(void)
{
    for (int vni = 0; vni < MPIDI_UCX_global.num_vnis; vni++) {
        MPIDI_UCX_watch_progress(vni);
        if (!(MPIDI_UCX_watch & MPIDI_UCX_WATCH_GPU))
            MPIDI_UCX_look(vni);
    }
}

/* ---- meetings -------------------------------------------------------------------------------- */

/* Where somebody has ended, each asks each, and tells what it knows first. */
static void meet_the_others(uint32_t meeting)
{
    const int size = MPIR_Process.size, self = MPIR_Process.rank;
    for (int rank = 0; rank < size; rank++) {
        for (int gone = 0; gone < size; gone++)
            if (MPIDI_UCX_has_ended(gone))
                MPIDI_UCX_tell(rank, gone, 0);
        MPIDI_UCX_tell(rank, self, meeting);
    }
    for (int rank = 0; rank < size; rank++)
        while (rank != self && !MPIDI_UCX_has_ended(rank) && !MPIDI_UCX_has_come(rank, meeting))
            progress_all();
}

/* A barrier in which everybody makes progress (by dissemination: Hensgen, Finkel, Manber 1988): who
 * tells says by its distance, which round that is. There is no MPI_COMM_WORLD any more. */
static void meet(uint32_t meeting)
{
    const int64_t size = MPIR_Process.size, self = MPIR_Process.rank;
    for (int64_t round = 1; round < size && !MPIDI_left_somebody; round *= 2) {
        MPIDI_UCX_tell((int)((self + round) % size), (int)self, meeting);
        while (!MPIDI_UCX_has_come((int)((self + size - round) % size), meeting) &&
               !MPIDI_left_somebody)
            progress_all();
    }
    if (MPIDI_left_somebody)
        meet_the_others(meeting);
}

/* ---- messages -------------------------------------------------------------------------------- */

static int envelopes(void)
{
    int all = 0;
    for (int vni = 0; vni < MPIDI_UCX_global.num_vnis; vni++)
        all += MPIDI_UCX_vnis[vni].envelopes;
    return all;
}

static void drop_unmatched(int vni)
{
    heddle_unmatched it = {.size = sizeof(it)};
    while (heddle_port_unmatched(MPIDI_UCX_port(vni), &it) == HEDDLE_SUCCESS) {
        fprintf(stderr,
                "MPI_Finalize, rank %d: nobody receives the message of %lld bytes that was sent to "
                "rank %d with tag %d\n",
                MPIR_Process.rank, (long long)it.bytes, MPIDI_UCX_rank_of(it.peer, vni),
                MPIDI_UCX_get_tag(it.key));
        (void)heddle_message_abandon(MPIDI_UCX_port(vni), it.message, HEDDLE_ERR_PEER);
    }
}

/* Requests may have been freed. All are here: who is to receive something does so by now. */
static void wait_for_receivers(void)
{
    int left = envelopes();
    double since = PMPI_Wtime();
    while (left > 0) {
        progress_all();
        if (envelopes() != left) {
            left = envelopes();
            since = PMPI_Wtime();
        } else if (PMPI_Wtime() - since > SECONDS_FOR_RECEIVERS) {
            for (int vni = 0; vni < MPIDI_UCX_global.num_vnis; vni++)
                drop_unmatched(vni);
            since = PMPI_Wtime();
        }
    }
}

/* ---- connections ----------------------------------------------------------------------------- */

static void progress_of_all(int vni) { (void)vni, progress_all(); }

/* Waits until UCX needs nothing more for what was sent. Connection by connection, as they are
 * closed: over TCP a worker's flush does not ask the other end whether it has what was written
 * there, and a connection's does. */
static void flush_all(void)
{
    const int n = MPIDI_UCX_global.num_vnis;
    for (int rank = 0; rank < MPIR_Process.size; rank++)
        for (int i = 0; i < n * n && !MPIDI_UCX_has_ended(rank); i++) {
            ucp_ep_h ep = MPIDI_UCX_AV(&MPIDIU_get_av(0, rank)).dest[i / n][i % n];
            (void)MPIDI_UCX_end_flush(MPIDI_UCX_begin_flush(ep), rank, progress_of_all, 0);
        }
}

void MPIDI_UCX_gpu_drain(void)
{
    MPIDI_UCX_begin_leaving();
    for (int vni = 0; vni < MPIDI_UCX_global.num_vnis; vni++)
        MPIDI_UCX_wait_turn(vni);
    meet(1);
    wait_for_receivers();
    flush_all();
    MPIDI_UCX_begin_closing();
    meet(2);
    MPIDI_UCX_watch &= ~MPIDI_UCX_WATCH_GPU;
}

/* ---- the last barrier ------------------------------------------------------------------------ */

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

/* Whether it is over. Who has ended may have come to it, and so have finished: then it is over
 * soon. */
static bool wait_for_barrier(struct barrier *b)
{
    double ended = 0; /* since when somebody has */
    while (!MPL_atomic_acquire_load_int(&b->over)) {
        if (ended == 0 && MPIDI_UCX_somebody_has_ended())
            ended = PMPI_Wtime();
        if (ended != 0 && PMPI_Wtime() - ended > SECONDS_FOR_BARRIER)
            return false;
        for (int vni = 0; vni < MPIDI_UCX_global.num_vnis; vni++)
            ucp_worker_progress(MPIDI_UCX_global.ctx[vni].worker);
        sched_yield();
    }
    return true;
}

/* The process manager's, which blocks: so another thread stands in it. Over TCP a connection closes
 * once its other end has answered, which may stand here already. Where somebody has ended before,
 * the barrier never does. */
int MPIDI_UCX_last_barrier(void)
{
    struct barrier b = {.mpi_errno = MPI_SUCCESS};
    pthread_t thread;
    if (MPIDI_left_somebody)
        return MPI_SUCCESS;
    MPL_atomic_relaxed_store_int(&b.over, 0);
    if (pthread_create(&thread, NULL, stand_in, &b) != 0)
        return MPIR_pmi_barrier();
    if (wait_for_barrier(&b))
        MPIDI_left_somebody = 0;
    else
        (void)pthread_cancel(thread);
    (void)pthread_join(thread, NULL);
    return b.mpi_errno;
}
