/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Progress of a VNI with what is watched, whatever the engine; and the wait of a window for its
 * operations, which needs all of that.
 *
 * Ranks beyond cores. A rank that waits polls; where there are more ranks than cores, it thereby
 * keeps a core from the rank that it waits for until its time slice ends. So after a number of
 * polls in a row that found nothing, it gives the core away.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include <sched.h>
#include <unistd.h>
#ifdef HAVE_HWLOC
#include "hwloc.h"
hwloc_topology_t MPIR_hwtopo_topology(void);
#endif

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_CH4_UCX_YIELD
      category    : CH4_UCX
      type        : int
      default     : -1
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        After how many progress polls in a row that found nothing a process
        gives its core to another. 0 means never; -1 (the default) means 100
        where the node has more ranks than cores (under MPI_THREAD_MULTIPLE,
        more than half as many), and never elsewhere.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

#define YIELD_AFTER_DEFAULT 100

int MPIDI_UCX_watch = 0;
static int yield_after; /* fruitless polls before a yield; 0: never */

/* Cores of this node that the job may use: hwloc leaves out what the job's cpuset does not allow.
 */
static int count_cores(void)
{
    int cores = 0;
#ifdef HAVE_HWLOC
    if (MPIR_hwtopo_is_initialized()) {
        cores = hwloc_get_nbobjs_by_type(MPIR_hwtopo_topology(), HWLOC_OBJ_CORE);
        if (cores <= 0)
            cores = hwloc_get_nbobjs_by_type(MPIR_hwtopo_topology(), HWLOC_OBJ_PU);
    }
#endif
    return cores > 0 ? cores : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

void MPIDI_UCX_yield_init(void)
{
    /* Two threads that wait in MPI are two that poll. How many there will be, nobody knows yet. */
    const int threads = MPIR_ThreadInfo.thread_provided == MPI_THREAD_MULTIPLE ? 2 : 1;
    yield_after = MPIR_CVAR_CH4_UCX_YIELD;
    if (yield_after < 0)
        yield_after = MPIR_Process.local_size * threads > count_cores() ? YIELD_AFTER_DEFAULT : 0;
    if (yield_after)
        MPIDI_UCX_watch |= MPIDI_UCX_WATCH_YIELD;
}

/* Counts a poll that found nothing, and yields when it is one too many; or starts over. */
static void count_poll(unsigned events)
{
    /* Of each thread: a thread waits for itself, and the count needs no lock. */
    static MPL_TLS int fruitless = 0;
    fruitless = events > 0 ? 0 : fruitless + 1;
    if (fruitless >= yield_after) {
        fruitless = 0;
        sched_yield();
    }
}

void MPIDI_UCX_watched(int vni, unsigned events)
{
    if (MPIDI_UCX_watch & MPIDI_UCX_WATCH_YIELD)
        count_poll(events);
    if (MPIDI_UCX_MEETS_ENVELOPES)
        MPIDI_UCX_gpu_progress(vni);
}

/* ---- windows --------------------------------------------------------------------------------- */

#define FLUSHED_TOGETHER 64

static void flushed(void *request, ucs_status_t status) { (void)request, (void)status; }

void *MPIDI_UCX_begin_flush(ucp_ep_h ep) { return ucp_ep_flush_nb(ep, 0, flushed); }

ucs_status_t MPIDI_UCX_end_flush(void *request, int rank, void (*progress)(int vni), int vni)
{
    ucs_status_t status;
    if (request == NULL || UCS_PTR_IS_ERR(request))
        return UCS_PTR_STATUS(request);
    while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS &&
           !(MPIDI_UCX_HAS_GPU && rank >= 0 && MPIDI_UCX_has_ended(rank)))
        progress(vni);
    ucp_request_free(request);
    return status;
}

static int end_flush(MPIR_Win *win, int vni, int rank, void *request)
{
    int mpi_errno = MPI_SUCCESS, in_job, table;
    MPIDIU_comm_rank_to_pid(win->comm_ptr, rank, &in_job, &table);
    const ucs_status_t status =
        MPIDI_UCX_end_flush(request, table == 0 ? in_job : -1, MPIDI_UCX_watch_progress, vni);
    MPIR_ERR_CHKANDJUMP1(status == UCS_INPROGRESS, mpi_errno, MPIX_ERR_PROC_FAILED, "**comm_fail",
                         "**comm_fail %d", in_job);
    MPIDI_UCX_CHK_STATUS(status);
fn_fail:
    return mpi_errno;
}

int MPIDI_UCX_flush_targets(MPIR_Win *win, int vni, int first, int end)
{
    int mpi_errno = MPI_SUCCESS;
    void *requests[FLUSHED_TOGETHER];
    for (int rank = first; rank < end; rank += FLUSHED_TOGETHER) {
        const int n = MPL_MIN(FLUSHED_TOGETHER, end - rank);
        for (int i = 0; i < n; i++)
            requests[i] =
                MPIDI_UCX_WIN(win).target_sync[rank + i].need_sync == MPIDI_UCX_WIN_SYNC_UNSET
                    ? NULL
                    : MPIDI_UCX_begin_flush(MPIDI_UCX_WIN_TO_EP(win, rank + i, vni));
        for (int i = 0; i < n; i++) {
            const int error = end_flush(win, vni, rank + i, requests[i]);
            mpi_errno = mpi_errno == MPI_SUCCESS ? error : mpi_errno;
            MPIDI_UCX_WIN(win).target_sync[rank + i].need_sync = MPIDI_UCX_WIN_SYNC_UNSET;
        }
    }
    return mpi_errno;
}
