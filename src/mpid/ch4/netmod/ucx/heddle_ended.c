/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processes that were killed. UCX reports hardly any of them (with its peer failure handling it
 * would, and not use shared memory then: UCX 1.13), so those of one node are looked after by the
 * system's means. What waits for one ends with MPIX_ERR_PROC_FAILED.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include "heddle_internal.h"

#include <signal.h>
#include <time.h>

#define POLLS_BETWEEN 64              /* looks at the clock */
#define NS_BETWEEN INT64_C(100000000) /* looks at the processes */
#define MOST_EVENTS 4096 /* of UCX, more than it holds of one process in shared memory */

/* By rank in the job. */
static heddle_process *processes;
static struct peer {
    bool ended;
    bool drained[MPIDI_CH4_MAX_VCIS]; /* all that it sent has been seen there */
    uint32_t meeting;                 /* the last that it is known to have come to */
} * peers;

bool MPIDI_UCX_has_ended(int rank) { return peers != NULL && peers[rank].ended; }

static void note_ended(int rank)
{
    if (rank != MPIR_Process.rank)
        peers[rank].ended = MPIDI_left_somebody = 1;
}

/* ---- what processes tell each other on leaving ----------------------------------------------- */

struct word {
    uint32_t rank;
    uint32_t meeting; /* 0: it has ended */
};

static ucs_status_t arrived(void *arg, const void *header, size_t header_bytes, void *data,
                            size_t bytes, const ucp_am_recv_param_t *param)
{
    struct word it;
    (void)arg, (void)data, (void)bytes, (void)param;
    if (header_bytes != sizeof(it))
        return UCS_OK;
    memcpy(&it, header, sizeof(it));
    if (it.rank >= (uint32_t)MPIR_Process.size)
        return UCS_OK;
    if (it.meeting == 0)
        note_ended((int)it.rank);
    peers[it.rank].meeting = MPL_MAX(peers[it.rank].meeting, it.meeting);
    return UCS_OK;
}

void MPIDI_UCX_tell(int to, int rank, uint32_t meeting)
{
    const struct word it = {(uint32_t)rank, meeting};
    if (to == MPIR_Process.rank || peers[to].ended)
        return;
    ucp_ep_h ep = MPIDI_UCX_AV(&MPIDIU_get_av(0, to)).dest[0][0];
    if (MPIDI_UCX_send_am(MPIDI_UCX_AM_LEAVING, ep, &it, sizeof(it)) != HEDDLE_SUCCESS)
        note_ended(to);
}

bool MPIDI_UCX_has_come(int rank, uint32_t meeting) { return peers[rank].meeting >= meeting; }

/* ---- start and end --------------------------------------------------------------------------- */

int MPIDI_UCX_ended_init(int vni)
{
    if (vni == 0) {
        MPIDI_left_somebody = 0;
        processes = MPL_calloc(MPIR_Process.size, sizeof(*processes), MPL_MEM_OTHER);
        peers = MPL_calloc(MPIR_Process.size, sizeof(*peers), MPL_MEM_OTHER);
    }
    if (processes == NULL || peers == NULL)
        return MPI_ERR_NO_MEM;
    return MPIDI_UCX_take_am(vni, MPIDI_UCX_AM_LEAVING, arrived);
}

void MPIDI_UCX_ended_finalize(void)
{
    MPL_free(processes);
    MPL_free(peers);
    processes = NULL;
    peers = NULL;
}

static void look_at_processes(void)
{
    int ended;
    for (int rank = 0; rank < MPIR_Process.size; rank++)
        if (rank != MPIR_Process.rank && !peers[rank].ended &&
            heddle_process_ended(&processes[rank], &ended) == HEDDLE_SUCCESS && ended)
            note_ended(rank);
}

/* Where hydra does not end all for one (-disable-auto-cleanup), it informs the others by SIGUSR1,
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
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    survive_signals();
    heddle_process_self(&processes[MPIR_Process.rank]);
    const int mpi_errno =
        MPIR_Allgather_fallback(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, processes, sizeof(*processes),
                                MPI_BYTE, MPIR_Process.comm_world, &errflag);
    if (watches && mpi_errno == MPI_SUCCESS)
        look_at_processes();
    return mpi_errno;
}

/* ---- connections ----------------------------------------------------------------------------- */

int MPIDI_UCX_rank_of(const void *ep, int vni)
{
    for (int rank = 0; rank < MPIR_Process.size; rank++)
        for (int to = 0; to < MPIDI_UCX_global.num_vnis; to++)
            if (MPIDI_UCX_AV(&MPIDIU_get_av(0, rank)).dest[vni][to] == ep)
                return rank;
    return -1;
}

/* UCX meets a process that was killed where it reads from its memory (CMA). What waits for one that
 * has ended is told by the next look at the processes, once all is here that it sent. */
static void connection_failed(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    (void)arg, (void)status;
    if (peers == NULL)
        return;
    look_at_processes();
    for (int vni = 0; vni < MPIDI_UCX_global.num_vnis; vni++) {
        const int rank = MPIDI_UCX_rank_of(ep, vni);
        if (rank >= 0 && !peers[rank].ended && MPIDI_UCX_vnis[vni].port != NULL)
            heddle_port_lost(MPIDI_UCX_vnis[vni].port, ep, HEDDLE_ERR_PEER);
    }
}

/* UCX's own handling of failures is not asked for: it rules shared memory out (UCX 1.13). */
void MPIDI_UCX_watch_connection(ucp_ep_params_t *params)
{
    params->field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params->err_handler = (ucp_err_handler_t){.cb = connection_failed};
}

/* ---- looking after them ---------------------------------------------------------------------- */

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
    for (int to = 0; to < MPIDI_UCX_global.num_vnis; to++) {
        ucp_ep_h ep = MPIDI_UCX_AV(&MPIDIU_get_av(0, rank)).dest[vni][to];
        heddle_port_lost(MPIDI_UCX_port(vni), ep, HEDDLE_ERR_LOST);
        MPIDI_UCX_sends_lost(vni, ep);
        MPIDI_UCX_announced_lost(vni, ep);
    }
    MPIDI_UCX_receives_lost(vni, rank);
}

/* Whether so much time has passed since the last look. */
static bool is_due(int vni)
{
    static int polls[MPIDI_CH4_MAX_VCIS];
    static int64_t next[MPIDI_CH4_MAX_VCIS];
    struct timespec time;
    if (++polls[vni] < POLLS_BETWEEN || peers == NULL)
        return false;
    polls[vni] = 0;
    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    const int64_t now = time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
    if (now < next[vni])
        return false;
    next[vni] = now + NS_BETWEEN;
    return true;
}

void MPIDI_UCX_look(int vni)
{
    if (!is_due(vni))
        return;
    look_at_processes();
    for (int rank = 0; MPIDI_left_somebody && rank < MPIR_Process.size; rank++)
        if (peers[rank].ended) /* again each time: there may be new messages */
            lose(vni, rank);
}

bool MPIDI_UCX_somebody_has_ended(void)
{
    if (is_due(0))
        look_at_processes();
    return MPIDI_left_somebody;
}
