/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whose memory a buffer is, asked once for each call. Contiguous device memory may be UCX's to
 * move, where that was built to. Between nodes its way leads past the host's memory if the
 * network's cards reach the devices' (GPUDirect RDMA). Within a node ours reads straight out of the
 * sender's memory as well.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include "heddle_internal.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_CH4_UCX_GPU_ONESHOT
      category    : CH4_UCX
      type        : int
      default     : -1
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Most bytes of a message out of device memory that is packed as a whole
        and sent as one. What is longer goes in chunks. To a process of the same
        node it is a sixteenth of it, for there data stay on the device, unless
        HEDDLE_PEER is value. -1: as the table of HEDDLE_TUNING says, or 131072,
        and 8192 within a node.

    - name        : MPIR_CVAR_CH4_UCX_GPU_DIRECT
      category    : CH4_UCX
      type        : int
      default     : 1
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Which contiguous messages out of and into device memory go through UCX
        as they are, where UCX was built with CUDA: 0, none; 1, those to and from
        other nodes; 2, all. They have more bytes than a message within a node
        that is packed as a whole (MPIR_CVAR_CH4_UCX_GPU_ONESHOT).
        MPIR_CVAR_DEBUG_SUMMARY=1 tells whether UCX was built so.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

static bool takes_devices;

void MPIDI_UCX_native_init(void)
{
    ucp_context_attr_t attr = {.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES};
    takes_devices = ucp_context_query(MPIDI_UCX_global.context, &attr) == UCS_OK &&
                    (attr.memory_types & UCS_BIT(UCS_MEMORY_TYPE_CUDA)) != 0;
    if (MPIR_CVAR_DEBUG_SUMMARY && MPIR_Process.rank == 0)
        printf("UCX %s device memory\n", takes_devices ? "takes" : "does not take");
}

static bool is_far(const MPIDI_av_entry_t *addr)
{
    return addr != NULL && MPIDI_UCX_IS_LOCAL(addr, false);
}

/* UCX makes short ones wait for their receive, too, and takes longer (two H200s, 1 KiB: 17 us for
 * 10). */
static bool is_native(const struct MPIDI_UCX_buffer *buffer, const MPIDI_av_entry_t *addr)
{
    return takes_devices && MPIR_CVAR_CH4_UCX_GPU_DIRECT > (is_far(addr) ? 0 : 1) &&
           buffer->is_contig && buffer->bytes > MPIDI_UCX_short_limit() &&
           buffer->described.kind == HEDDLE_MEMORY_DEVICE;
}

static void set_buffer(MPI_Aint count, MPI_Datatype datatype, struct MPIDI_UCX_buffer *buffer)
{
    MPI_Aint size;
    int is_contig;
    MPIR_Datatype_get_size_macro(datatype, size);
    MPIR_Datatype_is_contig(datatype, &is_contig);
    buffer->datatype = datatype;
    buffer->bytes = count * size;
    buffer->is_contig = is_contig;
    buffer->is_ours = buffer->is_native = false;
    buffer->error = HEDDLE_SUCCESS;
}

void MPIDI_UCX_describe_any(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                            struct MPIDI_UCX_buffer *buffer)
{
    set_buffer(count, datatype, buffer);
    const heddle_side side = {(void *)buf, count, MPIR_Typerep_committed(datatype), 0};
    buffer->error = heddle_buffer_describe(&side, buffer->bytes, &buffer->described);
}

void MPIDI_UCX_describe(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                        const MPIDI_av_entry_t *addr, struct MPIDI_UCX_buffer *buffer)
{
    const enum MPIR_Typerep_memory memory =
        ENABLE_GPU && count > 0 ? MPIR_Typerep_message_memory(buf, datatype) : MPIR_TYPEREP_HOST;
    if (memory == MPIR_TYPEREP_HOST) {
        set_buffer(count, datatype, buffer);
        return;
    }
    MPIDI_UCX_describe_any(buf, count, datatype, buffer);
    const bool is_known = buffer->error == HEDDLE_SUCCESS;
    buffer->is_ours = memory == MPIR_TYPEREP_DEVICE || MPIDI_UCX_is_of_device(buffer);
    buffer->is_native = is_known && buffer->is_ours && is_native(buffer, addr);
    if (is_known && buffer->is_ours && is_far(addr) &&
        !MPL_atomic_relaxed_load_int(&MPIDI_UCX_nic_seen))
        MPIDI_UCX_look_at_nic(addr, buffer->described.device);
}

/* Near the buffer, if it may be a whole message: a longer one is in host memory, or its envelope.
 */
void *MPIDI_UCX_stage(const struct MPIDI_UCX_buffer *buffer, MPI_Aint bytes)
{
    const bool is_near =
        buffer->error == HEDDLE_SUCCESS && buffer->bytes <= MPIR_Typerep_most_whole();
    void *staging = NULL;
    (void)heddle_buffer_stage(is_near ? &buffer->described : NULL, bytes, &staging);
    return staging;
}

/* A receive in host memory is written by the envelope that it meets. So what is shorter than an
 * envelope never goes by one. */
static MPI_Aint at_least_an_envelope(MPI_Aint limit)
{
    return MPL_MAX(limit, HEDDLE_ENVELOPE_BYTES);
}

/* (Two H200s, 8 KiB of irregular blocks: 24.5 us as one, 23.7 in a chunk by reference; 16 KiB: 27.8
 * and 23.9.) */
MPI_Aint MPIDI_UCX_short_limit(void)
{
    return at_least_an_envelope(
        MPIR_CVAR_CH4_UCX_GPU_ONESHOT >= 0 ? MPIR_CVAR_CH4_UCX_GPU_ONESHOT / 16 : 8192);
}

/* What goes by value gains nothing by an envelope until it is worth several chunks
 * (src/gpu/model/message_sizes.hpp). */
MPI_Aint MPIDI_UCX_eager_limit(int vni, const MPIDI_av_entry_t *addr)
{
    return !MPIDI_UCX_IS_LOCAL(addr, true) || MPIDI_UCX_port_by_value(vni)
               ? at_least_an_envelope(MPIR_Typerep_most_whole())
               : MPIDI_UCX_short_limit();
}
