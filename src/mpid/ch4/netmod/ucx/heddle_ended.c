/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processes that were killed. UCX tells nobody of them (with its peer failure handling it would,
 * and not use shared memory then: UCX 1.13), so those of one node are looked after by the system's
 * means. What waits for one ends with MPIX_ERR_PROC_FAILED.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#if MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_HEDDLE
#include "heddle_leaving.h"
#include "heddle_moves.h"

#include <signal.h>
#include <time.h>

#define POLLS_BETWEEN 64              /* looks at the clock */
#define NS_BETWEEN INT64_C(100000000) /* looks at the processes */
#define MOST_EVENTS 4096 /* of UCX, more than it holds of one process in shared memory */

/* By rank in the job. */
static struct {
    heddle_process process;
    bool ended;
    bool drained[MPIDI_CH4_MAX_VCIS]; /* all that it sent has been seen there */
} * peers;
static bool anyone;

bool MPIDI_UCX_has_ended(int rank) { return peers != NULL && peers[rank].ended; }
bool MPIDI_UCX_anyone_ended(void) { return anyone; }

void MPIDI_UCX_note_ended(int rank)
{
    if (peers == NULL || rank == MPIR_Process.rank)
        return;
    peers[rank].ended = anyone = true;
    MPIDI_left_somebody = 1;
}

int MPIDI_UCX_ended_init(void)
{
    anyone = false;
    MPIDI_left_somebody = 0;
    peers = MPL_calloc(MPIR_Process.size, sizeof(*peers), MPL_MEM_OTHER);
    return peers == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
}

void MPIDI_UCX_ended_finalize(void)
{
    MPL_free(peers);
    peers = NULL;
}

static void look_at_processes(void)
{
    int ended;
    for (int rank = 0; rank < MPIR_Process.size; rank++)
        if (rank != MPIR_Process.rank && !peers[rank].ended &&
            heddle_process_ended(&peers[rank].process, &ended) == HEDDLE_SUCCESS && ended)
            MPIDI_UCX_note_ended(rank);
}

/* Where hydra does not end all for one (-disable-auto-cleanup), it tells the others by SIGUSR1,
 * which would end them, too. */
static void somebody_ended(int signal) { (void)signal; }

static void survive_signals(void)
{
    struct sigaction now;
    if (sigaction(SIGUSR1, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
        now.sa_handler == SIG_DFL) {
        now = (struct sigaction){.sa_handler = somebody_ended, .sa_flags = SA_RESTART};
        (void)sigaction(SIGUSR1, &now, NULL);
    }
}

int MPIDI_UCX_ended_post_init(bool watches)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    heddle_process *all = MPL_malloc(MPIR_Process.size * sizeof(*all), MPL_MEM_OTHER);
    MPIR_ERR_CHKANDJUMP(all == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    survive_signals();
    heddle_process_self(&all[MPIR_Process.rank]);
    mpi_errno = MPIR_Allgather_fallback(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, sizeof(*all),
                                        MPI_BYTE, MPIR_Process.comm_world, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    for (int rank = 0; rank < MPIR_Process.size; rank++)
        peers[rank].process = all[rank];
    if (watches)
        look_at_processes();
fn_exit:
    MPL_free(all);
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

/* What it sent before its end comes first; nothing of it can come later. */
static void drain(int vni)
{
    for (int events = 0, more = 1; more > 0 && events < MOST_EVENTS; events += more)
        more = (int)ucp_worker_progress(MPIDI_UCX_global.ctx[vni].worker);
}

static void lose(int vni, int rank)
{
    if (!peers[rank].drained[vni])
        drain(vni);
    peers[rank].drained[vni] = true;
    for (int to = 0; to < MPIDI_UCX_global.num_vnis; to++)
        heddle_port_lost(MPIDI_UCX_port(vni), MPIDI_UCX_AV(&MPIDIU_get_av(0, rank)).dest[vni][to],
                         HEDDLE_ERR_LOST);
    MPIDI_UCX_receives_lost(vni, rank);
}

void MPIDI_UCX_look(int vni)
{
    static int polls[MPIDI_CH4_MAX_VCIS];
    static int64_t next[MPIDI_CH4_MAX_VCIS];
    struct timespec time;
    if (++polls[vni] < POLLS_BETWEEN || peers == NULL)
        return;
    polls[vni] = 0;
    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    const int64_t now = time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
    if (now < next[vni])
        return;
    next[vni] = now + NS_BETWEEN;
    look_at_processes();
    for (int rank = 0; anyone && rank < MPIR_Process.size; rank++)
        if (peers[rank].ended) /* again each time: there may be new messages */
            lose(vni, rank);
}

void MPIDI_UCX_note_status(int vni, ucp_ep_h ep, int status)
{
    if (UCS_IS_ENDPOINT_ERROR(status) || status == UCS_ERR_CONNECTION_RESET)
        heddle_port_lost(MPIDI_UCX_port(vni), ep, HEDDLE_ERR_PEER);
}

#endif
