/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Start, progress and end of what is ours in a VNI. The other files are called from here, and call
 * nothing here.
 */
#define _GNU_SOURCE /* open_memstream */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include "heddle_internal.h"

#include <ctype.h>
#include <string.h>

/* ---- what UCX is told before it starts ------------------------------------------------------- */

/* Envelopes must come whole and in their order. With a UCX_RNDV_THRESH of 64 and less UCX announces
 * them and fetches them later: what follows overtakes them. A receive that is too short would then
 * be reported to the sender of another message. */

/* "0", "8K", "intra:0,inter:auto" or the like, with what is too small raised. False where nothing
 * is. */
static bool raised(const char *threshold, char *to, size_t room)
{
    bool any = false;
    size_t at = 0;
    while (*threshold != '\0' && *threshold != '\n' && at < room) {
        char *end = (char *)threshold + 1;
        const bool is_number = isdigit((unsigned char)*threshold);
        const unsigned long long number = is_number ? strtoull(threshold, &end, 10) : 0;
        const bool is_small =
            is_number && (number == 0 || (number <= HEDDLE_ENVELOPE_BYTES &&
                                          (*end == '\0' || !strchr("kmgtKMGT", *end))));
        any |= is_small;
        at += is_small ? snprintf(to + at, room - at, "%d", HEDDLE_ENVELOPE_BYTES + 1)
                       : snprintf(to + at, room - at, "%.*s", (int)(end - threshold), threshold);
        threshold = end;
    }
    return any && at < room;
}

void MPIDI_UCX_configure(ucp_config_t *config)
{
    static const char name[] = "\nUCX_RNDV_THRESH=";
    char *all = NULL, value[128];
    size_t bytes;
    if (!ENABLE_GPU)
        return;
    FILE *stream = open_memstream(&all, &bytes);
    if (stream == NULL)
        return;
    ucp_config_print(config, stream, NULL, UCS_CONFIG_PRINT_CONFIG);
    fclose(stream);
    const char *found = all != NULL ? strstr(all, name) : NULL;
    if (found != NULL && raised(found + strlen(name), value, sizeof(value)))
        (void)ucp_config_modify(config, "RNDV_THRESH", value);
    MPL_external_free(all);
}

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
    int any[] = {ENABLE_GPU, MPIR_CVAR_CH4_UCX_DIRECT_COLL == 0};
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

void MPIDI_UCX_gpu_progress(int vni)
{
    const struct MPIDI_UCX_vni *of = &MPIDI_UCX_vnis[vni];
    if (of->moves.any) /* envelopes may wait for them */
        MPIDI_UCX_moves_progress(vni);
    if (of->port_active != NULL && *of->port_active)
        heddle_port_progress(of->port, NULL);
    MPIDI_UCX_look(vni);
}

/* After the worker is gone. Ranks and connections may be others in the next session. */
void MPIDI_UCX_port_finalize(int vni)
{
    MPIDI_UCX_transport_finalize(vni);
    MPIDI_UCX_landings_free(vni);
    MPIDI_UCX_parked_free(vni);
    memset(&MPIDI_UCX_vnis[vni], 0, sizeof(MPIDI_UCX_vnis[vni]));
    if (vni == MPIDI_UCX_global.num_vnis - 1)
        MPIDI_UCX_ended_finalize();
#if MPIR_TYPEREP_SENDS_DEVICE
    MPIR_Direct_is_on = 0; /* the next session asks again */
#endif
}
