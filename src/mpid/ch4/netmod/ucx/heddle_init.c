/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Start, progress and end of what is ours in a VNI. The other files are called from here, and call
 * nothing here.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include "heddle_internal.h"

#include <string.h>

/* ---- start and end --------------------------------------------------------------------------- */

int MPIDI_UCX_port_init(int vni)
{
    if (vni == 0)                               /* the others begin after gpu_post_init */
        MPIDI_UCX_watch |= MPIDI_UCX_WATCH_GPU; /* until it is known better */
    int mpi_errno = MPIDI_UCX_ended_init(vni);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = MPIDI_UCX_transport_init(vni);
    return mpi_errno == MPI_SUCCESS ? MPIDI_UCX_announced_init(vni) : mpi_errno;
}

/* UCX's netmod connects to no other jobs: what holds of this one stays so. */
int MPIDI_UCX_gpu_post_init(void)
{
    enum { devices, without_coll };
    int any[] = {ENABLE_GPU, !MPIDI_UCX_coll_init() || MPIR_CVAR_CH4_UCX_DIRECT_COLL == 0};
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    const int mpi_errno = MPIR_Allreduce_fallback(MPI_IN_PLACE, any, 2, MPI_INT, MPI_MAX,
                                                  MPIR_Process.comm_world, &errflag);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    if (!any[devices])
        MPIDI_UCX_watch &= ~MPIDI_UCX_WATCH_GPU;
    if (ENABLE_GPU)
        MPIDI_UCX_native_init();
#if MPIR_TYPEREP_SENDS_DEVICE
    MPIR_Direct_is_on = any[devices] && !any[without_coll];
#endif
    return MPIDI_UCX_ended_post_init(any[devices]);
}

/* What came of it at the port. */
static int progress_messages(int vni)
{
    const struct MPIDI_UCX_vni *of = &MPIDI_UCX_vnis[vni];
    int events = 0;
    if (of->moves.any) /* envelopes may wait for them */
        MPIDI_UCX_moves_progress(vni);
    if (of->port_active != NULL && *of->port_active &&
        heddle_port_progress(of->port, &events) != HEDDLE_SUCCESS)
        events = 0;
    return events;
}

void MPIDI_UCX_gpu_progress(int vni)
{
    (void)progress_messages(vni);
    MPIDI_UCX_look(vni);
}

void MPIDI_UCX_all_started(void)
{
    if (!(MPIDI_UCX_watch & MPIDI_UCX_WATCH_GPU))
        return;
    for (int vni = 0; vni < MPIDI_UCX_global.num_vnis; vni++) {
        MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vni).lock);
        while (progress_messages(vni) > 0)
            continue; /* each begins one launch */
        MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vni).lock);
    }
}

/* After the worker is gone. Ranks and connections may be others in the next session. */
void MPIDI_UCX_port_finalize(int vni)
{
    MPIDI_UCX_transport_finalize(vni);
    MPIDI_UCX_parked_free(vni);
    memset(&MPIDI_UCX_vnis[vni], 0, sizeof(MPIDI_UCX_vnis[vni]));
    if (vni == MPIDI_UCX_global.num_vnis - 1)
        MPIDI_UCX_ended_finalize();
    MPIDI_UCX_coll_finalize();
#if MPIR_TYPEREP_SENDS_DEVICE
    MPIR_Direct_is_on = 0; /* the next session asks again */
#endif
}
