/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages out of and into device memory, by a UCX that knows host memory only: they are packed into host
 * memory and unpacked out of it, so that the other end sees a message like any other.
 */
#ifndef HEDDLE_GPU_H_INCLUDED
#define HEDDLE_GPU_H_INCLUDED

#include <ucp/api/ucp.h>

#if MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_HEDDLE

/* Whether a buffer is ours to move. Without an open device plug-in, one load and one branch. */
MPL_STATIC_INLINE_PREFIX bool MPIDI_UCX_gpu_takes(const void *buf, MPI_Aint count, MPI_Datatype datatype)
{
    return ENABLE_GPU && count > 0 && MPIR_Typerep_is_on_device(buf, datatype);
}

/* All of these are called under the VCI's lock but for imrecv, which takes it. */

/* As MPIDI_UCX_send. */
int MPIDI_UCX_gpu_send(const void *buf, MPI_Aint count, MPI_Datatype datatype, ucp_ep_h ep, uint64_t ucx_tag,
                       int vni, int is_sync, MPIR_Request **request);
/* As MPIDI_UCX_recv, with the request made and its reference taken. */
int MPIDI_UCX_gpu_recv(void *buf, MPI_Aint count, MPI_Datatype datatype, uint64_t ucx_tag, uint64_t tag_mask,
                       int vni, MPIR_Request *rreq);
int MPIDI_UCX_gpu_imrecv(void *buf, MPI_Aint count, MPI_Datatype datatype, int vci, MPIR_Request *message);

/* Receives of each VNI whose data has come and is being unpacked. */
struct MPIDI_UCX_gpu_receive;
extern struct MPIDI_UCX_gpu_receive *MPIDI_UCX_gpu_unpacking[MPIDI_CH4_MAX_VCIS];
void MPIDI_UCX_gpu_unpack_on(int vni);

MPL_STATIC_INLINE_PREFIX void MPIDI_UCX_gpu_progress(int vni)
{
    if (unlikely(MPIDI_UCX_gpu_unpacking[vni] != NULL))
        MPIDI_UCX_gpu_unpack_on(vni);
}

#else

#define MPIDI_UCX_gpu_takes(buf, count, datatype) 0
#define MPIDI_UCX_gpu_send(buf, count, datatype, ep, ucx_tag, vni, is_sync, request) MPI_ERR_INTERN
#define MPIDI_UCX_gpu_recv(buf, count, datatype, ucx_tag, tag_mask, vni, rreq) MPI_ERR_INTERN
#define MPIDI_UCX_gpu_imrecv(buf, count, datatype, vci, message) MPI_ERR_INTERN
#define MPIDI_UCX_gpu_progress(vni)

#endif

#endif /* HEDDLE_GPU_H_INCLUDED */
