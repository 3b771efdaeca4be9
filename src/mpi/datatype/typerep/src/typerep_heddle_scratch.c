/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where collectives reduce, and where they keep what they send on: for a device's long buffers on
 * the device, with temporary memory there.
 */
#include "typerep_internal.h"

#include "heddle_message.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_GPU_REDUCE_ON_DEVICE
      category    : COLLECTIVE
      type        : int
      default     : 131072
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Bytes from which collectives with predefined operators reduce device
        buffers on the device; shorter ones are reduced on copies in host
        memory, but for persistent ones, and nonblocking ones that may go
        straight between device buffers. -1: never on the device. Without effect
        where a shared memory module is built beside the netmod.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

static bool is_long(MPI_Aint bytes)
{
    return MPIR_CVAR_GPU_REDUCE_ON_DEVICE >= 0 && bytes >= MPIR_CVAR_GPU_REDUCE_ON_DEVICE;
}

int MPIR_Typerep_reduces_on_device(const void *sendbuf, const void *recvbuf, MPI_Aint count,
                                   MPI_Datatype datatype, MPI_Op op)
{
    /* A process that takes no part in a collective between groups need not name a datatype, so its
     * size is asked for last. */
    if (!MPIR_TYPEREP_SENDS_DEVICE || !ENABLE_GPU || !HANDLE_IS_BUILTIN(op) ||
        !heddle_device_combines(MPII_heddle_op(op, datatype), MPII_heddle_element(datatype)))
        return 0;
    MPI_Aint size;
    MPIR_Datatype_get_size_macro(datatype, size);
    /* What is reduced ends in recvbuf, where there is one. */
    return is_long(count * size) &&
           MPIR_Typerep_is_on_device(recvbuf != NULL ? recvbuf : sendbuf, datatype);
}

bool MPIR_Typerep_device_combines(MPI_Op op, MPI_Datatype datatype, int *engine_op, int *element)
{
    int is_dense;
    if (!HANDLE_IS_BUILTIN(op) || !MPIR_DATATYPE_IS_PREDEFINED(datatype))
        return false;
    *engine_op = MPII_heddle_op(op, datatype);
    *element = MPII_heddle_element(datatype);
    MPIR_Datatype_is_contig(datatype, &is_dense);
    return is_dense && *engine_op != HEDDLE_OP_COUNT &&
           heddle_device_combines((heddle_op)*engine_op, (heddle_predefined)*element);
}

static const void *begin_of(const void *buf, MPI_Datatype datatype)
{
    MPI_Aint true_lb, true_extent;
    MPIR_Type_get_true_extent_impl(datatype, &true_lb, &true_extent);
    return MPIR_get_contig_ptr(buf, true_lb);
}

/* On the device whose memory `beside` is, or the host where that is null. Null: there is none. */
static void *allocate(MPI_Aint bytes, const void *beside)
{
    void *memory = NULL;
    (void)heddle_scratch_alloc(bytes, beside, &memory);
    return memory;
}

/* Where in a device's memory the buffer begins beside which the device is to have `bytes` bytes;
 * null: the host is. */
static const void *neighbour(MPI_Aint bytes, const void *sendbuf, const void *recvbuf,
                             MPI_Datatype datatype)
{
    const void *const buf = sendbuf != MPI_IN_PLACE ? sendbuf : recvbuf; /* only then everyone's */
    if (!MPIR_TYPEREP_SENDS_DEVICE || buf == NULL || !MPII_heddle_on_device(buf, datatype))
        return NULL;
    const void *const begin = begin_of(buf, datatype);
    /* Device memory is met here only where it was to stay; managed memory, however short it is. */
    return is_long(bytes) || heddle_memory_kind(begin, NULL) == HEDDLE_MEMORY_DEVICE ? begin : NULL;
}

void *MPIR_Typerep_scratch(MPI_Aint bytes, const void *sendbuf, const void *recvbuf,
                           MPI_Datatype datatype)
{
    return allocate(bytes, neighbour(bytes, sendbuf, recvbuf, datatype));
}

void *MPIR_Typerep_scratch_to_send(MPI_Aint bytes, const void *buf, MPI_Datatype datatype)
{
    /* What is shorter is sent packed in host memory wherever it comes from (heddle_send.c). */
    const bool stays = MPIR_TYPEREP_SENDS_DEVICE && bytes > MPIR_Typerep_most_whole() &&
                       buf != NULL && MPII_heddle_on_device(buf, datatype);
    return allocate(bytes, stays ? begin_of(buf, datatype) : NULL);
}

MPI_Aint MPIR_Typerep_most_whole(void)
{
    return MPIR_CVAR_CH4_UCX_GPU_ONESHOT >= 0 ? MPIR_CVAR_CH4_UCX_GPU_ONESHOT
                                              : heddle_message_whole();
}

void MPIR_Typerep_scratch_free(void *memory) { heddle_scratch_free(memory); }
