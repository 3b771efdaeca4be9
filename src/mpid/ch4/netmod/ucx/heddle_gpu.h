/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages out of and into device memory, by a UCX that knows host memory only.
 *
 * A short one is packed into host memory, and is then a message like any other. Of a long one only
 * an *envelope* goes by MPI's matching, marked by a bit of its tag (heddle_envelope.c). The data
 * follow between libheddle's ports, as active messages (heddle_port.c). Whoever receives, on a
 * device or not, may meet either. libheddle chooses (heddle_message_start), and heddle_send.c
 * carries that out.
 *
 * This header is what MPICH's files see. heddle_internal.h is for ours.
 */
#ifndef HEDDLE_GPU_H_INCLUDED
#define HEDDLE_GPU_H_INCLUDED

#include <ucp/api/ucp.h>

/* In the tag of an envelope. MPI's tags leave it free (ucx_init.c, tag_bits). */
#define MPIDI_UCX_ENVELOPE_BIT (UINT64_C(1) << (MPIDI_UCX_TAG_BITS - 1))

/* Whether libheddle is the datatype engine. Where it is not, heddle_progress.c alone is compiled,
 * and nothing else is called. */
#define MPIDI_UCX_HAS_GPU (MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_HEDDLE)

/* ---- progress: heddle_progress.c ------------------------------------------------------------- */

/* What of ours messages and polls must look after: one load and one branch each where that is
 * nothing. Set in MPI_Init. */
enum {
    MPIDI_UCX_WATCH_YIELD = 1, /* polls are counted */
    MPIDI_UCX_WATCH_GPU = 2    /* somebody in this job has a device: there may be envelopes */
};
extern int MPIDI_UCX_watch ATTRIBUTE((visibility("hidden")));
#define MPIDI_UCX_MEETS_ENVELOPES                                                                  \
    (MPIDI_UCX_HAS_GPU && unlikely(MPIDI_UCX_watch & MPIDI_UCX_WATCH_GPU))

/* Progress of a VNI. */
void MPIDI_UCX_watched(int vni, unsigned events);
MPL_STATIC_INLINE_PREFIX void MPIDI_UCX_watch_progress(int vni)
{
    unsigned events = ucp_worker_progress(MPIDI_UCX_global.ctx[vni].worker);
    if (unlikely(MPIDI_UCX_watch))
        MPIDI_UCX_watched(vni, events);
}

/* Reads MPIR_CVAR_CH4_UCX_YIELD and counts ranks and cores. The node's ranks and hwloc's topology
 * must be known. */
void MPIDI_UCX_yield_init(void);

/* Waits for a window's operations at its ranks `first` to `end`, each by its own endpoint: a
 * worker's flush waits for ranks that were killed, too. */
int MPIDI_UCX_flush_targets(MPIR_Win *win, int vni, int first, int end);
/* Begins to wait for all that was sent over an endpoint, for end_flush. */
void *MPIDI_UCX_begin_flush(ucp_ep_h ep);
/* Makes progress until that is through. UCS_INPROGRESS: the rank of the job (-1: nobody) that it
 * was sent to has ended. */
ucs_status_t MPIDI_UCX_end_flush(void *request, int rank, void (*progress)(int vni), int vni);

/* ---- start and end: ucx_init.c --------------------------------------------------------------- */

/* All of these and of the following are called under the VCI's lock, but for imrecv, which takes
 * it. */

int MPIDI_UCX_port_init(int vni);
void MPIDI_UCX_port_finalize(int vni);
void MPIDI_UCX_gpu_progress(int vni);
/* Returns when nothing is on its way any more: requests may have been freed. In a job with devices,
 * of any process. After it, progress is UCX's alone. */
void MPIDI_UCX_gpu_drain(void);
/* Asks all processes whether they have a device; collective over MPI_COMM_WORLD. */
int MPIDI_UCX_gpu_post_init(void);
/* Once the connections are closed. */
int MPIDI_UCX_last_barrier(void);
/* The connection that is to be made tells of its failure (heddle_ended.c). */
void MPIDI_UCX_watch_connection(ucp_ep_params_t *params);
/* Whether a rank of the job is known to have ended (heddle_ended.c). */
bool MPIDI_UCX_has_ended(int rank);
/* Whether anybody has, once nothing is on its way any more. Looks ten times a second. */
bool MPIDI_UCX_somebody_has_ended(void);

/* ---- communicators: ucx_comm.c --------------------------------------------------------------- */

/* Gives back what a communicator has for direct collectives (heddle_coll_direct.h). */
#if MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_HEDDLE
void MPIDI_UCX_coll_free(MPIR_Comm *comm);
#else
#define MPIDI_UCX_coll_free(comm)
#endif

/* ---- messages: ucx_send.h, ucx_recv.h, ucx_probe.h ------------------------------------------- */

/* Where these hold, MPIDI_UCX_send and MPIDI_UCX_recv hand all over to ours on their first line:
 * asking takes an instruction or two so, and what follows stays as it was. Ours use the same
 * functions for what is UCX's after all, in a form that does not ask: whoever wants that defines
 * MPIDI_UCX_PLAIN first. */
#ifdef MPIDI_UCX_PLAIN
#define MPIDI_UCX_SEND_ASKS 0
#define MPIDI_UCX_RECV_ASKS 0
#else
#define MPIDI_UCX_SEND_ASKS (MPIDI_UCX_HAS_GPU && ENABLE_GPU)
#define MPIDI_UCX_RECV_ASKS MPIDI_UCX_MEETS_ENVELOPES
#endif

/* What MPICH's own were called with. */
struct MPIDI_UCX_call {
    const void *buf;
    MPI_Aint count;
    MPI_Datatype datatype;
    int rank;
    int tag;
    MPIR_Comm *comm;
    int context_offset;
    MPIDI_av_entry_t *addr;
    MPIR_Request **request;
    int vni;
    /* Of a send. */
    int vni_dst;
    int have_request;
    int is_sync;
};
int MPIDI_UCX_gpu_send(const struct MPIDI_UCX_call *call);
int MPIDI_UCX_gpu_recv(const struct MPIDI_UCX_call *call);
/* True where a message that was matched by a probe, or the buffer for it, is ours. */
bool MPIDI_UCX_gpu_imrecv(void *buf, MPI_Aint count, MPI_Datatype datatype, MPIR_Request *message,
                          int *mpi_errno);
/* A receive that UCX has into the host's memory is over: UCX's callback. True where it met an
 * envelope, and the request is the message's now, or where its sender is lost, and the request is
 * over. Otherwise `*status` is how it ended. */
bool MPIDI_UCX_gpu_received(MPIR_Request *rreq, ucs_status_t *status,
                            const ucp_tag_recv_info_t *info);
/* A receive is UCX's to cancel until its message has come, or is being written (an RTR). Withdraws
 * the RTR of one that is to be cancelled. */
bool MPIDI_UCX_gpu_can_cancel(MPIR_Request *rreq);
/* As ucp_tag_probe_nb; `info` tells of the message where that meets an envelope. What is then
 * returned with `remove` is the envelope, for imrecv. */
ucp_tag_message_h MPIDI_UCX_gpu_probe(MPIR_Comm *comm, int vni, uint64_t ucx_tag, uint64_t tag_mask,
                                      int remove, ucp_tag_recv_info_t *info);

/* What a call gives UCX: as much of ucp_request_param_t. */
struct MPIDI_UCX_param {
    uint32_t op_attr_mask;
    union {
        ucp_send_nbx_callback_t send;
        ucp_tag_recv_nbx_callback_t recv;
    } cb;
    void *user_data;
};

/* MPIR_Typerep_pack of an active message's `*bytes` into `to`, behind its headers. Where that
 * fails, or the request had failed before, the message says so, and has no data
 * (mpidig_failures.h). */
MPL_STATIC_INLINE_PREFIX int MPIDI_UCX_am_pack(MPIR_Request *sreq, char *message, const void *data,
                                               MPI_Aint count, MPI_Datatype datatype, char *to,
                                               size_t *bytes, MPI_Aint *packed)
{
    if (sreq->status.MPI_ERROR == MPI_SUCCESS)
        MPIDIG_fail(sreq, MPIR_Typerep_pack(data, count, datatype, 0, to, *bytes, packed));
    if (sreq->status.MPI_ERROR != MPI_SUCCESS) {
        MPIDI_UCX_am_header_t *header = (MPIDI_UCX_am_header_t *)message;
        header->failed = 1;
        header->data_sz = *bytes = *packed = 0;
    }
    return MPI_SUCCESS;
}

#endif /* HEDDLE_GPU_H_INCLUDED */
