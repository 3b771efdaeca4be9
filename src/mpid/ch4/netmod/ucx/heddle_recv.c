/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives: whose they are. What comes into a device's buffer lands in host memory first, and is
 * unpacked from there. Where it is an envelope that comes, the receive becomes the message's. A
 * receive that is shorter than an envelope lands where there is room for one: so none is lost.
 *
 * RTRs (ready to receive): a receive into a device's memory that can be matched by nothing but what
 * a rank of this node sends next tells that rank where it lies. An MPI_Send, or the start of a
 * persistent request, that finds the RTR writes there itself (heddle_message.h). What is written
 * must be what UCX matches with that receive. So the receiver names the last message of that
 * source, tag and communicator that it has received, and posts no RTR while an older receive could
 * match as well. The sender uses it only while that message is the last that it sent there: then
 * none is on its way. (MPI_Isend does not: its caller may be away when all is written, and only it
 * could say so. A persistent send goes by no faster way otherwise.)
 */
#define MPIDI_UCX_PLAIN
#include "mpidimpl.h"
#include "ucx_impl.h"
#include "ucx_recv.h"

#include "heddle_internal.h"
#include "utlist.h"

/* What a receive takes from UCX: a message that was matched, or, null, one that the tag will match.
 */
struct wanted {
    uint64_t ucx_tag, tag_mask;
    ucp_tag_message_h matched;
    MPIR_Comm *comm;
    int vni;
    heddle_rtr rtr; /* posted for it; its sender 0: none */
};

/* ---- receives that UCX has ------------------------------------------------------------------- */

/* Behind the keys of receives that name source and tag. */
enum { WILDCARDS = MPIDI_UCX_KEYS, MATCHED };

static unsigned key_of(const struct wanted *w)
{
    if (w->matched != NULL)
        return MATCHED;
    return w->tag_mask == MPIDI_UCX_EXACT ? MPIDI_UCX_key(w->ucx_tag & MPIDI_UCX_EXACT) : WILDCARDS;
}

/* It is counted from before it is given to UCX until UCX has matched it. */
static void note_posted(MPIR_Request *rreq, const struct wanted *w, heddle_rtr *rtr)
{
    MPIDI_UCX_REQ(rreq).posted.key = key_of(w);
    MPIDI_UCX_REQ(rreq).posted.rtr = rtr;
    MPIDI_UCX_vnis[w->vni].posted[key_of(w)]++;
}

/* Its message is here, or it was cancelled. */
static void note_over(MPIR_Request *rreq)
{
    MPIDI_UCX_vnis[MPIDI_Request_get_vci(rreq)].posted[MPIDI_UCX_REQ(rreq).posted.key]--;
    MPIDI_UCX_REQ(rreq).posted.rtr = NULL;
    MPIDI_UCX_REQ(rreq).posted.comm = NULL;
}

bool MPIDI_UCX_gpu_can_cancel(MPIR_Request *rreq)
{
    struct MPIDI_UCX_posted *posted = &MPIDI_UCX_REQ(rreq).posted;
    int in_use = 0;
    if (posted->comm == NULL)
        return false;
    if (posted->rtr != NULL)
        (void)heddle_rtr_withdraw(posted->rtr, &in_use);
    if (!in_use)
        posted->rtr = NULL;
    return !in_use;
}

/* Posts an RTR, before all that takes time: its sender may look for it at this very moment. Not
 * where there is no use in it. */
static void post_rtr(struct wanted *w, const struct MPIDI_UCX_buffer *buffer)
{
    const unsigned key = key_of(w);
    const struct MPIDI_UCX_vni *vni = &MPIDI_UCX_vnis[w->vni];
    if (!buffer->is_ours || buffer->is_native || buffer->error != HEDDLE_SUCCESS ||
        buffer->bytes < HEDDLE_ENVELOPE_BYTES || key == WILDCARDS || vni->posted[key] != 0 ||
        vni->posted[WILDCARDS] != 0)
        return;
    const struct MPIDI_UCX_previous *previous = &vni->previous[key];
    int is_posted = 0;
    if (previous->ucx_tag == (w->ucx_tag & MPIDI_UCX_EXACT) && previous->next.sender != 0 &&
        heddle_rtr_post(MPIDI_UCX_port(w->vni), &previous->next, &buffer->described, &is_posted) ==
            HEDDLE_SUCCESS &&
        is_posted)
        w->rtr = previous->next;
}

/* The message of a receive is elsewhere, and comes without any more of it. `landed`: the envelope;
 * null: it cannot be read. */
static void meet_envelope(MPIR_Request *rreq, const struct MPIDI_UCX_buffer *buffer,
                          MPIR_Comm *comm, const void *landed, const ucp_tag_recv_info_t *info,
                          const heddle_rtr *rtr)
{
    const int vni = MPIDI_Request_get_vci(rreq);
    struct MPIDI_UCX_envelope envelope = {.error = HEDDLE_SUCCESS};
    if (landed != NULL)
        memcpy(envelope.data, landed, MPL_MIN(info->length, sizeof(envelope.data)));
    else
        envelope.error = HEDDLE_ERR_FORMAT;
    MPIDI_UCX_envelope_read(&envelope, comm, vni, info);
    MPIDI_UCX_envelope_receive(rreq, buffer, vni, &envelope, rtr);
}

/* ---- receives into devices' buffers ---------------------------------------------------------- */

struct MPIDI_UCX_receive {
    struct MPIDI_UCX_move unpack;
    MPIR_Request *rreq;
    struct MPIDI_UCX_buffer buffer; /* holds a reference to the type */
    struct wanted wanted;           /* that it was posted for */
    void *staging;
    MPI_Aint room; /* bytes there. If the receive meets an envelope, nobody touches more of them
                    * than a page */
    bool is_enveloped;
    bool is_lost; /* nobody is left to send it */
    struct MPIDI_UCX_receive *prev, *next;
};

static void free_receive(struct MPIDI_UCX_receive *r)
{
    heddle_staging_free(r->staging);
    MPIR_Datatype_release_if_not_builtin(r->buffer.datatype);
    MPL_free(r);
}

static void unpacked(struct MPIDI_UCX_move *unpack)
{
    struct MPIDI_UCX_receive *r = MPL_container_of(unpack, struct MPIDI_UCX_receive, unpack);
    MPIR_Request *rreq = r->is_enveloped ? NULL : r->rreq; /* else it is the envelope's now */
    if (unpack->error != HEDDLE_SUCCESS)
        MPIDIG_fail(rreq, MPIR_Typerep_error(unpack->error));
    else if (unpack->packing.bytes > 0)
        heddle_message_count_whole(1, unpack->packing.bytes);
    free_receive(r);
    if (rreq != NULL)
        MPIDIU_request_complete(rreq);
}

/* Why UCX could not receive it, as MPI's error. */
static int error_of(MPIR_Request *rreq, ucs_status_t status, const ucp_tag_recv_info_t *info)
{
    const int vni = MPIDI_Request_get_vci(rreq);
    if (status == UCS_ERR_MESSAGE_TRUNCATED)
        return MPI_ERR_TRUNCATE;
    if (rreq->comm == NULL)
        return MPI_ERR_OTHER;
    const ucp_ep_h ep = MPIDI_UCX_sender_ep(vni, rreq->comm, info->sender_tag);
    return MPIDI_UCX_message_error(MPIDI_UCX_read_error_of(vni, ep, status),
                                   MPIDI_UCX_get_source(info->sender_tag));
}

/* What UCX says of how it ended is in the status. How many bytes are to be unpacked. */
static MPI_Aint end_in_host(struct MPIDI_UCX_receive *r, ucs_status_t status,
                            const ucp_tag_recv_info_t *info)
{
    MPI_Status *s = &r->rreq->status;
    s->MPI_ERROR = MPI_SUCCESS;
    if (status == UCS_ERR_CANCELED && r->is_lost) {
        s->MPI_SOURCE = MPIDI_UCX_get_source(r->wanted.ucx_tag);
        s->MPI_ERROR = MPIDI_UCX_message_error(HEDDLE_ERR_LOST, s->MPI_SOURCE);
    } else if (status == UCS_ERR_CANCELED) {
        MPIR_STATUS_SET_CANCEL_BIT(*s, TRUE);
    }
    if (status == UCS_ERR_CANCELED)
        return 0;
    s->MPI_SOURCE = MPIDI_UCX_get_source(info->sender_tag);
    s->MPI_TAG = MPIDI_UCX_get_tag(info->sender_tag);
    if (status == UCS_OK && (MPI_Aint)info->length > r->buffer.bytes)
        status = UCS_ERR_MESSAGE_TRUNCATED;
    if (status != UCS_OK) {
        s->MPI_ERROR = error_of(r->rreq, status, info);
        return 0;
    }
    MPIR_STATUS_SET_COUNT(*s, info->length);
    return info->length;
}

static void received(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info,
                     void *user_data)
{
    struct MPIDI_UCX_receive *r = user_data;
    heddle_packing *unpack = &r->unpack.packing;
    const heddle_rtr *rtr = MPIDI_UCX_REQ(r->rreq).posted.rtr;

    DL_DELETE(MPIDI_UCX_vnis[r->wanted.vni].receives, r);
    note_over(r->rreq);
    /* Nobody frees `r` meanwhile, though the call that posted the receive may still be running. */
    if (status != UCS_ERR_CANCELED && (info->sender_tag & MPIDI_UCX_ENVELOPE_BIT)) {
        r->is_enveloped = true;
        meet_envelope(r->rreq, &r->buffer, r->wanted.comm, status == UCS_OK ? r->staging : NULL,
                      info, rtr);
    } else {
        if (rtr != NULL)
            (void)heddle_rtr_end(rtr);
        unpack->bytes = end_in_host(r, status, info);
    }
    if (unpack->bytes > 0)
        r->unpack.error = r->buffer.error;
    MPIDI_UCX_move_soon(r->wanted.vni, &r->unpack);
    ucp_request_release(request); /* and `info` with it */
}

void MPIDI_UCX_receives_lost(int vni, int world_rank)
{
    const MPIDI_av_entry_t *lost = &MPIDIU_get_av(0, world_rank);
    struct MPIDI_UCX_receive *r, *next;
    DL_FOREACH_SAFE(MPIDI_UCX_vnis[vni].receives, r, next)
    {
        const bool is_from_one = (r->wanted.tag_mask & MPIDI_UCX_RANK_MASK) == MPIDI_UCX_RANK_MASK;
        if (!is_from_one ||
            MPIDIU_comm_rank_to_av(r->wanted.comm, MPIDI_UCX_get_source(r->wanted.ucx_tag)) != lost)
            continue;
        r->is_lost = true;
        ucp_request_cancel(MPIDI_UCX_global.ctx[vni].worker, MPIDI_UCX_REQ(r->rreq).ucp_request);
    }
}

/* Gives it to UCX. */
static void *post_receive(struct MPIDI_UCX_receive *r)
{
    struct wanted *w = &r->wanted;
    ucp_worker_h worker = MPIDI_UCX_global.ctx[w->vni].worker;
    ucp_request_param_t param = MPIDI_UCX_callback(r, UCP_OP_ATTR_FLAG_NO_IMM_CMPL);
    param.cb.recv = received;
    r->unpack.packing = (heddle_packing){&r->buffer.described, r->staging, .unpacks = 1};
    note_posted(r->rreq, w, w->rtr.sender != 0 ? &w->rtr : NULL);
    DL_APPEND(MPIDI_UCX_vnis[w->vni].receives, r);
    return w->matched != NULL
               ? ucp_tag_msg_recv_nbx(worker, r->staging, r->room, w->matched, &param)
               : ucp_tag_recv_nbx(worker, r->staging, r->room, w->ucx_tag, w->tag_mask, &param);
}

static int receive(const struct MPIDI_UCX_buffer *buffer, const struct wanted *wanted,
                   MPIR_Request *rreq)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_UCX_receive *r = MPL_malloc(sizeof(*r), MPL_MEM_BUFFER);
    MPIR_ERR_CHKANDJUMP(r == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    *r = (struct MPIDI_UCX_receive){
        .unpack.moved = unpacked,
        .rreq = rreq,
        .buffer = *buffer,
        .wanted = *wanted,
        .room = MPL_MAX(buffer->bytes, HEDDLE_ENVELOPE_BYTES),
    };
    MPIR_Datatype_add_ref_if_not_builtin(buffer->datatype);
    if ((r->staging = MPIDI_UCX_stage(buffer, r->room)) == NULL) {
        free_receive(r);
        MPIR_ERR_SETANDJUMP(mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    }
    void *ucp_request = post_receive(r);
    if (UCS_PTR_IS_ERR(ucp_request)) {
        DL_DELETE(MPIDI_UCX_vnis[wanted->vni].receives, r);
        note_over(rreq);
        free_receive(r);
    }
    MPIDI_UCX_CHK_REQUEST(ucp_request);
    MPIDI_UCX_REQ(rreq).ucp_request = ucp_request;
    if (wanted->matched != NULL) /* it cannot be cancelled */
        MPIDI_UCX_REQ(rreq).posted.comm = NULL;
fn_fail:
    return mpi_errno;
}

/* ---- receives into the host's memory --------------------------------------------------------- */

/* UCX receives it. It may meet an envelope: so the type stays until UCX is done. */
static int recv_plain(const struct MPIDI_UCX_call *c, const struct wanted *w, MPI_Aint bytes)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Request *rreq = *c->request;
    void *landing = NULL;
    if (bytes < HEDDLE_ENVELOPE_BYTES) {
        landing = MPL_malloc(HEDDLE_ENVELOPE_BYTES, MPL_MEM_BUFFER);
        MPIR_ERR_CHKANDJUMP(landing == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    }
    MPIDI_UCX_REQ(rreq).posted.landing = landing;
    note_posted(rreq, w, NULL);
    MPIR_Datatype_add_ref_if_not_builtin(c->datatype);
    mpi_errno = landing != NULL
                    ? MPIDI_UCX_recv(landing, HEDDLE_ENVELOPE_BYTES, MPI_BYTE, c->rank, c->tag,
                                     c->comm, c->context_offset, c->addr, c->vni, c->request)
                    : MPIDI_UCX_recv((void *)c->buf, c->count, c->datatype, c->rank, c->tag,
                                     c->comm, c->context_offset, c->addr, c->vni, c->request);
fn_fail:
    return mpi_errno;
}

/* A short message that has landed goes to its buffer. */
static ucs_status_t place(const struct MPIDI_UCX_posted *posted, MPI_Aint bytes)
{
    MPI_Aint size, true_lb, placed;
    MPIR_Datatype *type;
    int is_contig, mpi_errno = MPI_SUCCESS;
    MPIDI_Datatype_get_info(posted->count, posted->datatype, is_contig, size, type, true_lb);
    (void)type;
    if (bytes > size)
        return UCS_ERR_MESSAGE_TRUNCATED;
    if (is_contig && bytes > 0)
        memcpy(MPIR_get_contig_ptr(posted->buf, true_lb), posted->landing, bytes);
    else
        mpi_errno = MPIR_Typerep_unpack(posted->landing, bytes, posted->buf, posted->count,
                                        posted->datatype, 0, &placed);
    return mpi_errno == MPI_SUCCESS ? UCS_OK : UCS_ERR_IO_ERROR;
}

bool MPIDI_UCX_gpu_received(MPIR_Request *rreq, ucs_status_t *status,
                            const ucp_tag_recv_info_t *info)
{
    const struct MPIDI_UCX_posted posted = MPIDI_UCX_REQ(rreq).posted;
    const ucs_status_t told = *status;
    const bool met = told != UCS_ERR_CANCELED && (info->sender_tag & MPIDI_UCX_ENVELOPE_BIT);
    const void *landed = posted.landing;
    char first[HEDDLE_ENVELOPE_BYTES]; /* where it has landed in the buffer */
    struct MPIDI_UCX_buffer buffer;

    note_over(rreq);
    if (met) {
        MPIDI_UCX_describe_any(posted.buf, posted.count, posted.datatype, &buffer);
        if (landed == NULL && MPIR_Typerep_read(posted.buf, posted.count, posted.datatype, first,
                                                sizeof(first)) == MPI_SUCCESS)
            landed = first;
        meet_envelope(rreq, &buffer, posted.comm, *status == UCS_OK ? landed : NULL, info, NULL);
    } else if (posted.landing != NULL && *status == UCS_OK) {
        *status = place(&posted, (MPI_Aint)info->length);
    }
    MPL_free(posted.landing);
    MPIR_Datatype_release_if_not_builtin(posted.datatype);
    if (met || told == UCS_OK || told == UCS_ERR_CANCELED || told == UCS_ERR_MESSAGE_TRUNCATED)
        return met;
    rreq->status.MPI_ERROR = error_of(rreq, told, info);
    rreq->status.MPI_SOURCE = MPIDI_UCX_get_source(info->sender_tag);
    rreq->status.MPI_TAG = MPIDI_UCX_get_tag(info->sender_tag);
    MPIDIU_request_complete(rreq);
    return true;
}

/* ---- calls ----------------------------------------------------------------------------------- */

int MPIDI_UCX_gpu_recv(const struct MPIDI_UCX_call *c)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_UCX_buffer buffer;
    struct wanted wanted = {
        .ucx_tag = MPIDI_UCX_recv_tag(c->tag, c->rank, c->comm->recvcontext_id + c->context_offset),
        .tag_mask = MPIDI_UCX_tag_mask(c->tag, c->rank),
        .comm = c->comm,
        .vni = c->vni,
    };
    MPIR_Request *rreq = *c->request;
    if (rreq == NULL)
        rreq = MPIR_Request_create_from_pool(MPIR_REQUEST_KIND__RECV, c->vni, 1);
    MPIR_ERR_CHKANDSTMT(rreq == NULL, mpi_errno, MPIX_ERR_NOREQ, goto fn_fail, "**nomemreq");
    *c->request = rreq;
    /* It remembers its buffer, for it may meet an envelope, whose sender is found by the
     * communicator: so that stays until the request goes. */
    MPIDI_UCX_REQ(rreq).posted = (struct MPIDI_UCX_posted){
        .buf = (void *)c->buf, .count = c->count, .datatype = c->datatype, .comm = c->comm};
    if (rreq->comm == NULL) {
        rreq->comm = c->comm;
        MPIR_Comm_add_ref(c->comm);
    }

    struct MPIDI_UCX_envelope *parked =
        MPIDI_UCX_take_parked(c->vni, wanted.ucx_tag, wanted.tag_mask);
    if (parked != NULL) {
        MPIDI_UCX_describe_any(c->buf, c->count, c->datatype, &buffer);
    } else {
        MPIDI_UCX_describe(c->buf, c->count, c->datatype, c->addr, &buffer);
        post_rtr(&wanted, &buffer);
        if (!buffer.is_ours || buffer.is_native)
            return recv_plain(c, &wanted, buffer.bytes);
    }
    MPIR_Request_add_ref(rreq);
    if (parked != NULL && parked->message == NULL) {
        MPIDI_UCX_envelope_receive(rreq, &buffer, c->vni, parked, NULL);
    } else {
        if (parked != NULL)
            wanted.matched = parked->message, wanted.tag_mask = 0;
        mpi_errno = receive(&buffer, &wanted, rreq);
    }
    MPL_free(parked);
    if (mpi_errno != MPI_SUCCESS && wanted.rtr.sender != 0)
        (void)heddle_rtr_end(&wanted.rtr);
fn_fail:
    return mpi_errno;
}

bool MPIDI_UCX_gpu_imrecv(void *buf, MPI_Aint count, MPI_Datatype datatype, MPIR_Request *message,
                          int *mpi_errno)
{
    const int vni = MPIDI_Request_get_vci(message);
    struct MPIDI_UCX_buffer buffer;
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vni).lock);
    ucp_tag_message_h handle = MPIDI_UCX_REQ(message).message_handler;
    struct MPIDI_UCX_envelope *envelope = MPIDI_UCX_take_matched(vni, handle);
    if (envelope != NULL) {
        MPIDI_UCX_describe_any(buf, count, datatype, &buffer);
        MPIDI_UCX_envelope_receive(message, &buffer, vni, envelope, NULL);
        MPL_free(envelope);
    } else {
        MPIDI_UCX_describe(buf, count, datatype, NULL, &buffer);
        const struct wanted wanted = {.matched = handle, .vni = vni};
        if (buffer.is_ours)
            *mpi_errno = receive(&buffer, &wanted, message);
        else
            MPIDI_UCX_REQ(message).posted.comm = NULL; /* it has come */
    }
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vni).lock);
    return envelope != NULL || buffer.is_ours;
}
