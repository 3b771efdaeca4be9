/* SPDX-License-Identifier: BSD-3-Clause */
#include "heddle_leaving.h"
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

int MPIDI_UCX_yield_after = 0;
int MPIDI_UCX_watch = 0;

/* Cores that this node lends to the job: hwloc leaves out what the job's cpuset does not allow. */
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
    if (MPIR_CVAR_CH4_UCX_YIELD >= 0)
        MPIDI_UCX_yield_after = MPIR_CVAR_CH4_UCX_YIELD;
    else
        MPIDI_UCX_yield_after =
            MPIR_Process.local_size * threads > count_cores() ? YIELD_AFTER_DEFAULT : 0;
    if (MPIDI_UCX_yield_after)
        MPIDI_UCX_watch |= MPIDI_UCX_WATCH_YIELD;
}

void MPIDI_UCX_watched(int vni, unsigned events)
{
    if (MPIDI_UCX_watch & MPIDI_UCX_WATCH_YIELD)
        MPIDI_UCX_yield_count(events);
    if (MPIDI_UCX_watch & MPIDI_UCX_WATCH_GPU) {
        MPIDI_UCX_gpu_move_on(vni);
        MPIDI_UCX_look(vni);
    }
}

void MPIDI_UCX_yield_count(unsigned events)
{
    /* Of each thread: a thread waits for itself, and the count needs no lock. */
    static MPL_TLS int fruitless = 0;

    if (events > 0) {
        fruitless = 0;
    } else if (++fruitless >= MPIDI_UCX_yield_after) {
        fruitless = 0;
        sched_yield();
    }
}
