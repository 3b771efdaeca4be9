/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Envelopes that come: by which a long message of a device's is matched. They go by UCX's tags, in
 * order with all other messages; what they are about goes between the ports.
 *
 * Probes may meet them. UCX tells a message's tag and length only. So the envelope is taken out of
 * UCX, read, and parked in a queue that each later receive and probe searches first.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include "heddle_internal.h"
#include "utlist.h"

/* ---- reading --------------------------------------------------------------------------------- */

ucp_ep_h MPIDI_UCX_sender_ep(int vni, MPIR_Comm *comm, uint64_t tag)
{
    const int source = MPIDI_UCX_get_source(tag);
    const int port =
        MPIDI_UCX_get_vni(SRC_VCI_FROM_RECVER, comm, source, comm->rank, MPIDI_UCX_get_tag(tag));
    return MPIDI_UCX_COMM_TO_EP(comm, source, vni, port);
}

void MPIDI_UCX_envelope_read(struct MPIDI_UCX_envelope *e, MPIR_Comm *comm, int vni,
                             const ucp_tag_recv_info_t *info)
{
    heddle_envelope_info about = {.size = sizeof(about)};
    e->tag = info->sender_tag & ~MPIDI_UCX_ENVELOPE_BIT;
    /* In place of a message that its sender could not pack or begin: that message's size. */
    if (info->length < HEDDLE_ENVELOPE_BYTES) {
        memcpy(&about.bytes, e->data, MPL_MIN(info->length, sizeof(about.bytes)));
        e->error = HEDDLE_ERR_PEER;
    } else if (e->error == HEDDLE_SUCCESS) {
        e->error = heddle_envelope_read(e->data, &about);
        if (e->error == HEDDLE_SUCCESS && about.number >= (uint32_t)MPIDI_UCX_global.num_vnis)
            e->error = HEDDLE_ERR_FORMAT;
        if (e->error != HEDDLE_SUCCESS) /* its receive will say what is wrong */
            about = (heddle_envelope_info){.bytes = 0};
    }
    e->bytes = about.bytes;
    e->rtr = about.next;
    e->ep = e->error == HEDDLE_SUCCESS
                ? MPIDI_UCX_COMM_TO_EP(comm, MPIDI_UCX_get_source(e->tag), vni, about.number)
                : MPIDI_UCX_sender_ep(vni, comm, e->tag);
}

/* ---- receiving ------------------------------------------------------------------------------- */

static void message_received(void *argument, int error, int64_t bytes)
{
    MPIR_Request *rreq = argument;
    MPIR_STATUS_SET_COUNT(rreq->status, bytes);
    if (error != HEDDLE_SUCCESS)
        rreq->status.MPI_ERROR = MPIDI_UCX_message_error(error, rreq->status.MPI_SOURCE);
    MPIDIU_request_complete(rreq);
}

/* Begins to receive the message of one that was read. */
static int begin(MPIR_Request *rreq, const struct MPIDI_UCX_buffer *buffer, int vni,
                 const struct MPIDI_UCX_envelope *e, const heddle_rtr *rtr)
{
    heddle_port *port = MPIDI_UCX_port(vni);
    const uint64_t tag = e->tag & MPIDI_UCX_EXACT;
    int error = buffer->error;
    if (port == NULL)
        return HEDDLE_ERR_NO_MEMORY;
    MPIDI_UCX_vnis[vni].previous[MPIDI_UCX_key(tag)] = (struct MPIDI_UCX_previous){tag, e->rtr};
    if (error == HEDDLE_SUCCESS)
        error = heddle_message_receive(port, e->ep, e->data, &buffer->described, rtr,
                                       message_received, rreq);
    if (error != HEDDLE_SUCCESS)
        (void)heddle_message_refuse(port, e->ep, e->data, error);
    return error;
}

void MPIDI_UCX_envelope_receive(MPIR_Request *rreq, const struct MPIDI_UCX_buffer *buffer, int vni,
                                const struct MPIDI_UCX_envelope *e, const heddle_rtr *rtr)
{
    int error = e->error;
    rreq->status.MPI_ERROR = MPI_SUCCESS;
    rreq->status.MPI_SOURCE = MPIDI_UCX_get_source(e->tag);
    rreq->status.MPI_TAG = MPIDI_UCX_get_tag(e->tag);
    MPIR_STATUS_SET_COUNT(rreq->status, 0);
    MPIDI_UCX_REQ(rreq).posted.comm = NULL; /* it cannot be cancelled any more */
    if (error == HEDDLE_SUCCESS) {
        error = begin(rreq, buffer, vni, e, rtr);
    } else if (error != HEDDLE_ERR_PEER) {
        (void)heddle_message_refuse(MPIDI_UCX_port(vni), e->ep, e->data, error);
    }
    if (error != HEDDLE_SUCCESS) {
        if (rtr != NULL)
            (void)heddle_rtr_end(rtr);
        message_received(rreq, error, 0);
    }
}

/* ---- probes ---------------------------------------------------------------------------------- */

static struct MPIDI_UCX_envelope *find_parked(int vni, uint64_t ucx_tag, uint64_t tag_mask)
{
    struct MPIDI_UCX_envelope *p = MPIDI_UCX_vnis[vni].parked;
    while (p != NULL && (p->is_matched || ((p->tag ^ ucx_tag) & tag_mask)))
        p = p->next;
    return p;
}

static struct MPIDI_UCX_envelope *take(int vni, struct MPIDI_UCX_envelope *p)
{
    if (p != NULL)
        DL_DELETE(MPIDI_UCX_vnis[vni].parked, p);
    return p;
}

struct MPIDI_UCX_envelope *MPIDI_UCX_take_parked(int vni, uint64_t ucx_tag, uint64_t tag_mask)
{
    return take(vni, find_parked(vni, ucx_tag, tag_mask));
}

/* UCX's own handles are even. */
struct MPIDI_UCX_envelope *MPIDI_UCX_take_matched(int vni, ucp_tag_message_h handle)
{
    return (uintptr_t)handle & 1 ? take(vni, (void *)((uintptr_t)handle - 1)) : NULL;
}

void MPIDI_UCX_parked_free(int vni)
{
    while (MPIDI_UCX_vnis[vni].parked != NULL)
        MPL_free(take(vni, MPIDI_UCX_vnis[vni].parked));
}

static void read_done(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info,
                      void *user_data)
{
    (void)info;
    *(ucs_status_t *)user_data = status;
    ucp_request_release(request);
}

/* Takes an envelope out of UCX. It is so short that all of it is here, unless UCX was told to send
 * nothing so. */
static void read_envelope(struct MPIDI_UCX_envelope *p, MPIR_Comm *comm, int vni,
                          ucp_tag_message_h message, const ucp_tag_recv_info_t *info)
{
    ucp_worker_h worker = MPIDI_UCX_global.ctx[vni].worker;
    volatile ucs_status_t status = UCS_INPROGRESS;
    ucp_request_param_t param = MPIDI_UCX_callback((void *)&status, UCP_OP_ATTR_FLAG_NO_IMM_CMPL);
    param.cb.recv = read_done;
    void *request = ucp_tag_msg_recv_nbx(worker, p->data, HEDDLE_ENVELOPE_BYTES, message, &param);
    if (UCS_PTR_IS_ERR(request))
        status = UCS_PTR_STATUS(request);
    while (status == UCS_INPROGRESS)
        ucp_worker_progress(worker);
    p->error = status == UCS_OK ? HEDDLE_SUCCESS : HEDDLE_ERR_FORMAT;
    MPIDI_UCX_envelope_read(p, comm, vni, info);
}

/* Puts a message that UCX had behind all that is parked. */
static struct MPIDI_UCX_envelope *park(MPIR_Comm *comm, int vni, ucp_tag_message_h message,
                                       const ucp_tag_recv_info_t *info)
{
    struct MPIDI_UCX_envelope *p = MPL_calloc(1, sizeof(*p), MPL_MEM_BUFFER);
    MPIR_Assertp(p != NULL && message != NULL);
    if (info->sender_tag & MPIDI_UCX_ENVELOPE_BIT) {
        read_envelope(p, comm, vni, message, info);
    } else {
        p->tag = info->sender_tag;
        p->bytes = info->length;
        p->message = message;
    }
    DL_APPEND(MPIDI_UCX_vnis[vni].parked, p);
    return p;
}

/* Parks the envelope that was probed, behind what of the same source and context is older. */
static struct MPIDI_UCX_envelope *park_up_to(MPIR_Comm *comm, int vni, uint64_t envelope_tag)
{
    const uint64_t source_mask =
        MPIDI_UCX_tag_mask(MPI_ANY_TAG, MPIDI_UCX_get_source(envelope_tag));
    struct MPIDI_UCX_envelope *p;
    ucp_tag_recv_info_t info;
    do {
        ucp_tag_message_h message =
            ucp_tag_probe_nb(MPIDI_UCX_global.ctx[vni].worker, envelope_tag, source_mask, 1, &info);
        p = park(comm, vni, message, &info);
    } while (info.sender_tag != envelope_tag);
    return p;
}

ucp_tag_message_h MPIDI_UCX_gpu_probe(MPIR_Comm *comm, int vni, uint64_t ucx_tag, uint64_t tag_mask,
                                      int remove, ucp_tag_recv_info_t *info)
{
    struct MPIDI_UCX_envelope *p = find_parked(vni, ucx_tag, tag_mask);
    if (p == NULL) {
        ucp_tag_message_h message =
            ucp_tag_probe_nb(MPIDI_UCX_global.ctx[vni].worker, ucx_tag, tag_mask, remove, info);
        if (message == NULL || !(info->sender_tag & MPIDI_UCX_ENVELOPE_BIT))
            return message;
        p = remove ? park(comm, vni, message, info) : park_up_to(comm, vni, info->sender_tag);
    }
    info->sender_tag = p->tag;
    info->length = p->bytes;
    p->is_matched = remove;
    if (remove && p->message != NULL) {
        ucp_tag_message_h message = p->message;
        MPL_free(take(vni, p));
        return message;
    }
    return (ucp_tag_message_h)((uintptr_t)p | 1);
}
