/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processes that were killed. UCX reports hardly any of them (with its peer failure handling it
 * would, and not use shared memory then: UCX 1.13), so those of one node are looked after by the
 * system's means. One of another node has ended when its connection fails. What waits for one ends
 * with MPIX_ERR_PROC_FAILED.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include "heddle_internal.h"

#include <signal.h>
#include <time.h>

#define POLLS_BETWEEN 64               /* looks at the clock */
#define NS_BETWEEN INT64_C(100000000)  /* looks at the processes */
#define NS_TO_END INT64_C(10000000000) /* of a process without connection: GPUs take some */
#define NS_TO_DIE INT64_C(100000000)   /* of one whose memory has gone */
#define MOST_EVENTS 4096 /* of UCX, more than it holds of one process in shared memory */

/* By rank in the job. */
static heddle_process *processes;
static struct peer {
    bool ended;
    bool is_cut_off;                  /* a connection to it has failed */
    bool drained[MPIDI_CH4_MAX_VCIS]; /* all that it sent has been seen there */
    uint32_t meeting;                 /* the last that it is known to have come to */
} * peers;

/* Connections that have failed, to processes of this node: those may end yet. UCX meets a process
 * that was killed where it reads from its memory (CMA), before the system says that it has ended.
 */
static struct failure {
    ucp_ep_h ep;
    int rank;
    int64_t since;
    struct failure *next;
} * failures[MPIDI_CH4_MAX_VCIS];

static int64_t now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

bool MPIDI_UCX_has_ended(int rank) { return peers != NULL && peers[rank].ended; }

bool MPIDI_UCX_is_silent(int rank, int vni)
{
    return MPIDI_UCX_has_ended(rank) && peers[rank].drained[vni];
}

/* In MPI_Finalize who cannot be reached is left behind, in a job without devices, too. When all
 * have come to its last meeting, connections close, and so may seem to fail. */
static enum { RUNNING, LEAVING, CLOSING } stage;

void MPIDI_UCX_begin_leaving(void) { stage = LEAVING; }
void MPIDI_UCX_begin_closing(void) { stage = CLOSING; }

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
        stage = RUNNING;
        processes = MPL_calloc(MPIR_Process.size, sizeof(*processes), MPL_MEM_OTHER);
        peers = MPL_calloc(MPIR_Process.size, sizeof(*peers), MPL_MEM_OTHER);
    }
    if (processes == NULL || peers == NULL)
        return MPI_ERR_NO_MEM;
    return MPIDI_UCX_take_am(vni, MPIDI_UCX_AM_LEAVING, arrived);
}

void MPIDI_UCX_ended_finalize(void)
{
    for (int vni = 0; vni < MPIDI_CH4_MAX_VCIS; vni++)
        for (struct failure *f; (f = failures[vni]) != NULL; MPL_free(f))
            failures[vni] = f->next;
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

static bool is_here(int rank) { return processes[rank].node == processes[MPIR_Process.rank].node; }

static bool is_of_connection(ucs_status_t status)
{
    return UCS_IS_ENDPOINT_ERROR(status) || status == UCS_ERR_CONNECTION_RESET;
}

static void note_failure(int vni, int rank, ucp_ep_h ep)
{
    struct failure *f = failures[vni];
    peers[rank].is_cut_off = true;
    while (f != NULL && f->ep != ep)
        f = f->next;
    if (f != NULL || (f = MPL_malloc(sizeof(*f), MPL_MEM_OTHER)) == NULL)
        return;
    *f = (struct failure){ep, rank, now(), failures[vni]};
    failures[vni] = f;
}

/* Who was killed may not have ended yet when UCX meets it: its connection tells. */
int MPIDI_UCX_error_of(int vni, ucp_ep_h ep, ucs_status_t status)
{
    int ended;
    if (status == UCS_OK)
        return HEDDLE_SUCCESS;
    const bool asks = peers != NULL && stage == RUNNING;
    const int rank = asks ? MPIDI_UCX_rank_of(ep, vni) : -1;
    if (rank < 0)
        return HEDDLE_ERR_PEER;
    const bool is_cut_off = is_of_connection(status);
    if ((is_cut_off && !is_here(rank)) ||
        (heddle_process_ended(&processes[rank], &ended) == HEDDLE_SUCCESS && ended))
        note_ended(rank);
    return is_cut_off || peers[rank].is_cut_off || peers[rank].ended ? HEDDLE_ERR_LOST
                                                                     : HEDDLE_ERR_PEER;
}

int MPIDI_UCX_read_error_of(int vni, ucp_ep_h ep, ucs_status_t status)
{
    const int64_t since = now();
    int error;
    while ((error = MPIDI_UCX_error_of(vni, ep, status)) == HEDDLE_ERR_PEER &&
           now() - since < NS_TO_DIE)
        MPL_sched_yield();
    return error;
}

/* Of a process of this job's the next look, or a later one, tells the others. */
void MPIDI_UCX_note_status(int vni, ucp_ep_h ep, ucs_status_t status)
{
    if (!is_of_connection(status))
        return;
    const int rank = peers != NULL ? MPIDI_UCX_rank_of(ep, vni) : -1;
    if (rank < 0)
        heddle_port_lost(MPIDI_UCX_port(vni), ep, HEDDLE_ERR_PEER);
    else if (!peers[rank].ended)
        note_failure(vni, rank, ep);
}

/* The messages of those that live all the same end; of the others, lose() ends all. */
static void see_failures(int vni)
{
    for (struct failure **at = &failures[vni]; *at != NULL;) {
        struct failure *f = *at;
        const bool ended = peers[f->rank].ended;
        if (!ended && now() - f->since < NS_TO_END) {
            at = &f->next;
            continue;
        }
        *at = f->next;
        if (!ended && MPIDI_UCX_vnis[vni].port != NULL)
            heddle_port_lost(MPIDI_UCX_vnis[vni].port, f->ep, HEDDLE_ERR_PEER);
        MPL_free(f);
    }
}

/* Where nobody looks after processes, all would wait for ever. */
static void end_job(int rank, ucs_status_t status)
{
    char text[100];
    MPL_snprintf(text, sizeof(text), "the connection to rank %d failed: %s", rank,
                 ucs_status_string(status));
    MPID_Abort(MPIR_Process.comm_world, MPI_SUCCESS, 1, text);
}

/* UCX may be amid a send, so what waits is told by the next look. */
static void connection_failed(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    (void)arg;
    if (peers == NULL || stage == CLOSING)
        return;
    for (int vni = 0; vni < MPIDI_UCX_global.num_vnis; vni++) {
        const int rank = MPIDI_UCX_rank_of(ep, vni);
        if (rank < 0)
            continue;
        if (stage == RUNNING && !(MPIDI_UCX_watch & MPIDI_UCX_WATCH_GPU))
            end_job(rank, status);
        if (is_here(rank))
            note_failure(vni, rank, ep);
        else
            note_ended(rank);
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
        MPIDI_UCX_rma_lost(vni, ep);
    }
    MPIDI_UCX_receives_lost(vni, rank);
    MPIDI_UCX_halves_lost(vni);
}

/* Whether so much time has passed since the last look. */
static bool is_due(int vni)
{
    static int polls[MPIDI_CH4_MAX_VCIS];
    static int64_t next[MPIDI_CH4_MAX_VCIS];
    if (++polls[vni] < POLLS_BETWEEN || peers == NULL)
        return false;
    polls[vni] = 0;
    const int64_t time = now();
    if (time < next[vni])
        return false;
    next[vni] = time + NS_BETWEEN;
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
    see_failures(vni);
}

bool MPIDI_UCX_somebody_has_ended(void)
{
    if (is_due(0))
        look_at_processes();
    return MPIDI_left_somebody;
}
