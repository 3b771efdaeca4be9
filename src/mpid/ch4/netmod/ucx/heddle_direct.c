/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Contiguous device memory that UCX moves by itself, where it was built to. Between nodes its way
 * leads past the host's
 * memory if the network's cards reach the devices' (GPUDirect RDMA); within one, ours reads straight out of the
 * sender's memory as well.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#if MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_HEDDLE
#include "heddle_moves.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_CH4_UCX_GPU_DIRECT
      category    : CH4_UCX
      type        : int
      default     : 1
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Which contiguous messages out of and into device memory of more bytes
        than MPIR_CVAR_CH4_UCX_GPU_ONESHOT go through UCX as they are, where
        UCX was built with CUDA: 0, none; 1, those to and from other nodes; 2,
        all. MPIR_CVAR_DEBUG_SUMMARY=1 tells whether it was.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

static bool takes_devices;

void MPIDI_UCX_direct_init(void)
{
    ucp_context_attr_t attr = {.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES};
    takes_devices = ucp_context_query(MPIDI_UCX_global.context, &attr) == UCS_OK &&
                    (attr.memory_types & UCS_BIT(UCS_MEMORY_TYPE_CUDA)) != 0;
    if (MPIR_CVAR_DEBUG_SUMMARY && MPIR_Process.rank == 0)
        printf("UCX %s device memory\n", takes_devices ? "takes" : "does not take");
}

static bool is_wanted(const MPIDI_av_entry_t *addr)
{
    if (!takes_devices || MPIR_CVAR_CH4_UCX_GPU_DIRECT <= 0)
        return false;
#ifdef MPIDI_BUILD_CH4_LOCALITY_INFO
    return MPIR_CVAR_CH4_UCX_GPU_DIRECT > 1 || (addr != NULL && !addr->is_local);
#else
    return MPIR_CVAR_CH4_UCX_GPU_DIRECT > 1;
#endif
}

/* UCX makes short ones wait for their receive, too, and takes longer (two H200s, 1 KiB: 17 us for
 * 10). */
bool MPIDI_UCX_is_direct(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                         const MPIDI_av_entry_t *addr)
{
    if (!is_wanted(addr))
        return false;
    int is_contig;
    MPI_Aint size;
    MPIR_Datatype_is_contig(datatype, &is_contig);
    MPIR_Datatype_get_size_macro(datatype, size);
    if (!is_contig || count * size <= MPIR_CVAR_CH4_UCX_GPU_ONESHOT)
        return false;
    MPI_Aint true_lb, true_extent;
    MPIR_Type_get_true_extent_impl(datatype, &true_lb, &true_extent);
    return heddle_memory_kind(MPIR_get_contig_ptr(buf, true_lb), NULL) == HEDDLE_MEMORY_DEVICE;
}

#endif
