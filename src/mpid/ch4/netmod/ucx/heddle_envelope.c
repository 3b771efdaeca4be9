/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Envelopes: how a long message of a device's is matched, sent and received. They go by UCX's tags,
 * in order with all other messages; what they are about goes between the ports.
 */
#define MPIDI_UCX_PLAIN
#include "mpidimpl.h"
#include "ucx_impl.h"
#include "ucx_recv.h"

#if MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_HEDDLE
#include "heddle_leaving.h"
#include "heddle_moves.h"

MPL_static_assert(MPIDI_UCX_ENVELOPE_BYTES == HEDDLE_ENVELOPE_BYTES,
                  "the envelope's size is said twice");

static void fail(MPIR_Request *request, int mpi_errno)
{
    request->status.MPI_ERROR = mpi_errno;
    MPIDIU_request_complete(request);
}

/* By which a sender knows its message, should all else be lost: context, tag, and the rank that it
 * went to. */
static uint64_t key_of(uint64_t ucx_tag, int rank)
{
    return (ucx_tag & ~MPIDI_UCX_RANK_MASK & ~MPIDI_UCX_ENVELOPE_BIT) |
           (((uint64_t)rank << MPIDI_UCX_RANK_SHIFT) & MPIDI_UCX_RANK_MASK);
}

/* ---- sending ------------------------------------------------------------------------------------
 */

struct outgoing {
    struct MPIDI_UCX_turn turn;
    MPIR_Request *sreq; /* that does not end before the envelope has left; otherwise an answer says
                           so */
    char envelope[HEDDLE_ENVELOPE_BYTES];
    ucp_ep_h ep;
    uint64_t ucx_tag;
    uint64_t message;
    int vni;
};

static void message_sent(void *argument, int error, int64_t bytes)
{
    MPIR_Request *sreq = argument;
    (void)bytes;
    MPIDI_UCX_vni_gpu[MPIDI_Request_get_vci(sreq)].envelopes--;
    if (error != HEDDLE_SUCCESS)
        sreq->status.MPI_ERROR =
            MPIDI_UCX_message_error(error, (int)MPIDI_UCX_REQ(sreq).posted.key);
    MPIDIU_request_complete(sreq);
}

static void envelope_sent(void *request, ucs_status_t status, void *user_data)
{
    struct outgoing *o = user_data;
    if (status != UCS_OK) {
        heddle_message_abandon(MPIDI_UCX_port(o->vni), o->message, HEDDLE_ERR_PEER);
        MPIDI_UCX_note_status(o->vni, o->ep, status);
    }
    if (o->sreq != NULL) {
        if (status != UCS_OK)
            o->sreq->status.MPI_ERROR = MPI_ERR_OTHER;
        MPIDIU_request_complete(o->sreq);
    }
    MPL_free(o);
    ((MPIDI_UCX_ucp_request_t *)request)->req = NULL;
    ucp_request_release(request);
}

static void post_envelope(struct MPIDI_UCX_turn *turn)
{
    struct outgoing *o = MPL_container_of(turn, struct outgoing, turn);
    const ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send = envelope_sent,
        .user_data = o,
    };
    void *ucp_request =
        ucp_tag_send_nbx(o->ep, o->envelope, HEDDLE_ENVELOPE_BYTES, o->ucx_tag, &param);
    if (ucp_request != NULL && !UCS_PTR_IS_ERR(ucp_request)) {
        if (o->sreq != NULL)
            MPIR_cc_inc(o->sreq->cc_ptr);
        return;
    }
    if (ucp_request != NULL) /* the request tells of it */
        heddle_message_abandon(MPIDI_UCX_port(o->vni), o->message, HEDDLE_ERR_PEER);
    MPL_free(o);
}

int MPIDI_UCX_envelope_send(const void *buf, MPI_Aint count, MPI_Datatype datatype, MPI_Aint bytes,
                            int rank, ucp_ep_h ep, uint64_t ucx_tag, int vni,
                            enum MPIDI_UCX_how how, bool waits, struct MPIDI_UCX_last *last,
                            bool *sent, MPIR_Request **request)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Request *sreq = *request;
    heddle_port *port = MPIDI_UCX_port(vni);
    struct outgoing *o = MPL_malloc(sizeof(*o), MPL_MEM_BUFFER);
    MPIR_ERR_CHKANDJUMP(port == NULL || o == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");

    if (sreq == NULL)
        sreq = MPIR_Request_create_from_pool(MPIR_REQUEST_KIND__SEND, vni, 2);
    else
        MPIR_Request_add_ref(sreq);
    MPIR_ERR_CHKANDSTMT(sreq == NULL, mpi_errno, MPIX_ERR_NOREQ, goto fn_fail, "**nomemreq");
    MPIDI_UCX_REQ(sreq).ucp_request = NULL; /* there is nothing that could be cancelled */
    MPIDI_UCX_REQ(sreq).posted.key = (unsigned)rank;

    const heddle_side from = MPIDI_UCX_side(buf, count, datatype);
    o->turn.post = post_envelope;
    o->turn.ready = true;
    o->sreq = how == MPIDI_UCX_BY_TICKET ? sreq : NULL;
    o->ep = ep;
    o->ucx_tag = ucx_tag | MPIDI_UCX_ENVELOPE_BIT;
    o->vni = vni;
    const uint64_t key = key_of(ucx_tag, rank);
    int goes = 1, error;
    if (how == MPIDI_UCX_BY_TICKET)
        error = heddle_message_deliver(port, ep, last->message, &from, bytes, key, o->envelope,
                                       message_sent, sreq, &o->message, &goes);
    else if (how == MPIDI_UCX_WHEN_MATCHED)
        error = heddle_message_send(port, ep, &from, bytes, key, waits, o->envelope, message_sent,
                                    sreq, &o->message);
    else
        error = heddle_message_offer(port, ep, how == MPIDI_UCX_TO_ITSELF, &from, bytes, key, waits,
                                     o->envelope, message_sent, sreq, &o->message, &goes);
    *sent = error == HEDDLE_SUCCESS && goes;
    if (!*sent) {
        if (error != HEDDLE_SUCCESS)
            mpi_errno = MPIR_Typerep_error(error);
        if (*request == NULL)
            MPIDI_CH4_REQUEST_FREE(sreq);
        MPIDI_CH4_REQUEST_FREE(sreq);
        goto fn_fail;
    }
    *request = sreq;
    *last = (struct MPIDI_UCX_last){ep, ucx_tag & MPIDI_UCX_EXACT, waits ? o->message : 0};
    MPIDI_UCX_vni_gpu[MPIDI_Request_get_vci(sreq)].envelopes++;
    MPIDI_UCX_take_turn(vni, &o->turn);

fn_exit:
    return mpi_errno;
fn_fail:
    MPL_free(o);
    goto fn_exit;
}

/* ---- receiving ----------------------------------------------------------------------------------
 */

static void message_received(void *argument, int error, int64_t bytes)
{
    MPIR_Request *rreq = argument;
    MPIR_STATUS_SET_COUNT(rreq->status, bytes);
    if (error == HEDDLE_ERR_TRUNCATE)
        rreq->status.MPI_ERROR = MPI_ERR_TRUNCATE;
    else if (error != HEDDLE_SUCCESS)
        rreq->status.MPI_ERROR = MPIDI_UCX_message_error(error, rreq->status.MPI_SOURCE);
    MPIDIU_request_complete(rreq);
}

static int tell_of_matched(int vni, uint64_t sender_tag);

/* The sender of an envelope that was not read is told by what it was matched with, by a receive of
 * that rank. `error` 0: there was no room for it. */
static int refuse_unread(int vni, ucp_ep_h ep, int rank, uint64_t sender_tag, int error)
{
    heddle_port_confirm(MPIDI_UCX_port(vni));
    const int untold = tell_of_matched(vni, sender_tag);
    return untold != HEDDLE_SUCCESS
               ? untold
               : MPIDI_UCX_port_refused(vni, ep, key_of(sender_tag, rank), error);
}

/* Where the sender is to be told: its envelope does not say. */
static ucp_ep_h sender_ep(int vni, MPIR_Comm *comm, uint64_t sender_tag)
{
    const int source = MPIDI_UCX_get_source(sender_tag);
    const int tag = MPIDI_UCX_get_tag(sender_tag & ~MPIDI_UCX_ENVELOPE_BIT);
    const int port = MPIDI_UCX_get_vni(SRC_VCI_FROM_RECVER, comm, source, comm->rank, tag);
    return MPIDI_UCX_COMM_TO_EP(comm, source, vni, port);
}

static void receive_from(MPIR_Request *rreq, void *buf, MPI_Aint count, MPI_Datatype datatype,
                         int vni, ucp_ep_h ep, const void *envelope, const heddle_ticket *ticket)
{
    MPI_Aint size;
    heddle_port *port = MPIDI_UCX_port(vni);
    if (port == NULL) {
        fail(rreq, MPI_ERR_NO_MEM);
        return;
    }
    MPIR_Datatype_get_size_macro(datatype, size);
    const heddle_side to = MPIDI_UCX_side(buf, count, datatype);
    const int error = heddle_message_receive(port, ep, envelope, &to, count * size, ticket,
                                             message_received, rreq);
    if (error != HEDDLE_SUCCESS) {
        (void)heddle_message_refuse(port, ep, envelope, error);
        if (ticket != NULL)
            (void)heddle_ticket_end(ticket);
        fail(rreq, MPIR_Typerep_error(error));
    }
}

void MPIDI_UCX_envelope_met(MPIR_Request *rreq, void *buf, MPI_Aint count, MPI_Datatype datatype,
                            MPIR_Comm *comm, int vni, const void *envelope,
                            const struct heddle_ticket *ticket,
                            const ucp_tag_recv_info_t *recv_info)
{
    const uint64_t sender_tag = recv_info->sender_tag;
    const int source = MPIDI_UCX_get_source(sender_tag);
    rreq->status.MPI_ERROR = MPI_SUCCESS;
    rreq->status.MPI_SOURCE = source;
    rreq->status.MPI_TAG = MPIDI_UCX_get_tag(sender_tag & ~MPIDI_UCX_ENVELOPE_BIT);
    MPIR_STATUS_SET_COUNT(rreq->status, 0);

    if (envelope == NULL && !MPIDI_UCX_IS_FAILED(recv_info)) {
        const int error = refuse_unread(vni, sender_ep(vni, comm, sender_tag), comm->rank,
                                        sender_tag, HEDDLE_SUCCESS);
        fail(rreq, error == HEDDLE_SUCCESS ? MPI_ERR_TRUNCATE : MPIR_Typerep_error(error));
        return;
    }
    heddle_envelope_info info;
    int error =
        MPIDI_UCX_IS_FAILED(recv_info) ? HEDDLE_ERR_PEER : heddle_envelope_read(envelope, &info);
    if (error == HEDDLE_SUCCESS && info.number >= (uint32_t)MPIDI_UCX_global.num_vnis)
        error = HEDDLE_ERR_FORMAT;
    if (error == HEDDLE_SUCCESS) {
        MPIDI_UCX_note_matched(vni, sender_tag, &info.next);
        receive_from(rreq, buf, count, datatype, vni,
                     MPIDI_UCX_COMM_TO_EP(comm, source, vni, info.number), envelope, ticket);
        return;
    }
    if (!MPIDI_UCX_IS_FAILED(recv_info))
        (void)refuse_unread(vni, sender_ep(vni, comm, sender_tag), comm->rank, sender_tag, error);
    if (ticket != NULL)
        (void)heddle_ticket_end(ticket);
    fail(rreq, MPIR_Typerep_error(error));
}

void MPIDI_UCX_host_met_envelope(MPIR_Request *rreq, const ucp_tag_recv_info_t *info)
{
    struct MPIDI_UCX_posted posted = MPIDI_UCX_REQ(rreq).posted;
    const int vni = MPIDI_Request_get_vci(rreq);
    MPI_Aint size;

    MPIDI_UCX_RECV_SET_CAME(rreq);
    MPIDI_UCX_note_unposted(rreq);
    MPIR_Datatype_get_size_macro(posted.datatype, size);
    /* The buffer's first bytes are the envelope, if it has so many. */
    char envelope[HEDDLE_ENVELOPE_BYTES];
    const bool fits = posted.count * size >= HEDDLE_ENVELOPE_BYTES;
    if (!MPIDI_UCX_IS_FAILED(info) && fits &&
        MPIR_Typerep_read(posted.buf, posted.count, posted.datatype, envelope, sizeof(envelope)) !=
            MPI_SUCCESS)
        fail(rreq, MPI_ERR_INTERN);
    else
        MPIDI_UCX_envelope_met(rreq, posted.buf, posted.count, posted.datatype, posted.comm, vni,
                               fits ? envelope : NULL, NULL, info);
    MPIR_Datatype_release_if_not_builtin(posted.datatype);
}

/* ---- probing ------------------------------------------------------------------------------------
 */

/* An envelope that a probe met, or a message of the same source that came before it and was not
 * received yet: so all that is parked of a source is older than what UCX holds of it. */
struct MPIDI_UCX_parked {
    uint64_t tag;              /* without the bit */
    int64_t bytes;             /* of the message */
    ucp_tag_message_h message; /* null: it is an envelope */
    char envelope[HEDDLE_ENVELOPE_BYTES];
    ucp_ep_h ep;
    int error;            /* PEER: the sender could not pack it; or it cannot be read */
    int rank;             /* that it was sent to */
    heddle_ticket ticket; /* for what follows it */
    struct MPIDI_UCX_parked *next;
};

/* The oldest one that a receive would match, taken out where `remove` says so. */
static struct MPIDI_UCX_parked *find_parked(int vni, uint64_t ucx_tag, uint64_t tag_mask,
                                            bool remove)
{
    struct MPIDI_UCX_parked **link = &MPIDI_UCX_vni_gpu[vni].parked;
    while (*link != NULL && (((*link)->tag ^ ucx_tag) & tag_mask))
        link = &(*link)->next;
    struct MPIDI_UCX_parked *found = *link;
    if (found != NULL && remove)
        *link = found->next;
    return found;
}

/* Senders of messages of this tag, whom nobody has answered yet, hear which of theirs were matched.
 */
static int tell_of_matched(int vni, uint64_t sender_tag)
{
    int error = HEDDLE_SUCCESS;
    for (struct MPIDI_UCX_parked *p = MPIDI_UCX_vni_gpu[vni].matched;
         p != NULL && error == HEDDLE_SUCCESS; p = p->next)
        if (p->tag == (sender_tag & ~MPIDI_UCX_ENVELOPE_BIT) && p->error == HEDDLE_SUCCESS)
            error = heddle_message_probed(MPIDI_UCX_port(vni), p->ep, p->envelope);
    return error;
}

static void free_parked(struct MPIDI_UCX_parked **all)
{
    while (*all != NULL) {
        struct MPIDI_UCX_parked *first = *all;
        *all = first->next;
        MPL_free(first);
    }
}

void MPIDI_UCX_parked_free(int vni)
{
    free_parked(&MPIDI_UCX_vni_gpu[vni].parked);
    free_parked(&MPIDI_UCX_vni_gpu[vni].matched);
}

static void read_done(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info,
                      void *user_data)
{
    (void)info;
    *(ucs_status_t *)user_data = status;
    ((MPIDI_UCX_ucp_request_t *)request)->req = NULL;
    ucp_request_release(request);
}

static struct MPIDI_UCX_parked *new_parked(const ucp_tag_recv_info_t *info)
{
    struct MPIDI_UCX_parked *p = MPL_calloc(1, sizeof(*p), MPL_MEM_BUFFER);
    MPIR_Assertp(p != NULL);
    p->tag = info->sender_tag & ~MPIDI_UCX_ENVELOPE_BIT;
    p->bytes = info->length;
    return p;
}

/* Takes an envelope out of UCX. It is so short that all of it is here, unless UCX was told to send
 * nothing so. */
static struct MPIDI_UCX_parked *read_envelope(MPIR_Comm *comm, int vni, ucp_tag_message_h message,
                                              const ucp_tag_recv_info_t *info)
{
    ucp_worker_h worker = MPIDI_UCX_global.ctx[vni].worker;
    volatile ucs_status_t status = UCS_INPROGRESS;
    struct MPIDI_UCX_parked *p = new_parked(info);
    const ucp_request_param_t param = {
        .op_attr_mask =
            UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
        .cb.recv = read_done,
        .user_data = (void *)&status,
    };
    heddle_envelope_info about = {0};

    void *request =
        ucp_tag_msg_recv_nbx(worker, p->envelope, HEDDLE_ENVELOPE_BYTES, message, &param);
    if (UCS_PTR_IS_ERR(request))
        status = UCS_PTR_STATUS(request);
    while (status == UCS_INPROGRESS)
        ucp_worker_progress(worker);
    if (MPIDI_UCX_IS_FAILED(info))
        p->error = HEDDLE_ERR_PEER;
    else if (status != UCS_OK)
        p->error = HEDDLE_ERR_FORMAT;
    else
        p->error = heddle_envelope_read(p->envelope, &about);
    if (p->error == HEDDLE_SUCCESS && about.number >= (uint32_t)MPIDI_UCX_global.num_vnis)
        p->error = HEDDLE_ERR_FORMAT;
    if (p->error != HEDDLE_SUCCESS)
        about = (heddle_envelope_info){0}; /* its receive will say what is wrong */
    if (MPIDI_UCX_IS_FAILED(info))
        memcpy(&about.bytes, p->envelope, MPL_MIN(info->length, sizeof(about.bytes)));
    p->rank = comm->rank;
    p->bytes = about.bytes;
    p->ticket = about.next;
    p->ep = p->error == HEDDLE_SUCCESS
                ? MPIDI_UCX_COMM_TO_EP(comm, MPIDI_UCX_get_source(p->tag), vni, about.number)
                : sender_ep(vni, comm, p->tag);
    return p;
}

/* Parks the envelope that was probed, behind what of the same source and context is older. Returns
 * the envelope. */
static struct MPIDI_UCX_parked *park(MPIR_Comm *comm, int vni, uint64_t envelope_tag)
{
    const uint64_t source_mask =
        MPIDI_UCX_tag_mask(MPI_ANY_TAG, MPIDI_UCX_get_source(envelope_tag));
    struct MPIDI_UCX_parked **link = &MPIDI_UCX_vni_gpu[vni].parked;
    while (*link != NULL)
        link = &(*link)->next;
    for (;;) {
        ucp_tag_recv_info_t info;
        ucp_tag_message_h message =
            ucp_tag_probe_nb(MPIDI_UCX_global.ctx[vni].worker, envelope_tag, source_mask, 1, &info);
        MPIR_Assertp(message != NULL);
        struct MPIDI_UCX_parked *p;
        if (info.sender_tag & MPIDI_UCX_ENVELOPE_BIT) {
            p = read_envelope(comm, vni, message, &info);
        } else {
            p = new_parked(&info);
            p->message = message;
        }
        *link = p;
        if (info.sender_tag == envelope_tag)
            return p;
        link = &p->next;
    }
}

ucp_tag_message_h MPIDI_UCX_gpu_probe(MPIR_Comm *comm, int vni, uint64_t ucx_tag, uint64_t tag_mask,
                                      int remove, ucp_tag_recv_info_t *info)
{
    ucp_worker_h worker = MPIDI_UCX_global.ctx[vni].worker;
    struct MPIDI_UCX_parked *p = find_parked(vni, ucx_tag, tag_mask, remove);
    if (p == NULL) {
        ucp_tag_message_h message = ucp_tag_probe_nb(worker, ucx_tag, tag_mask, remove, info);
        if (message == NULL || !(info->sender_tag & MPIDI_UCX_ENVELOPE_BIT))
            return message;
        p = remove ? read_envelope(comm, vni, message, info) : park(comm, vni, info->sender_tag);
    }
    info->sender_tag = p->tag;
    info->length = p->bytes;
    if (remove && p->message != NULL) {
        ucp_tag_message_h message = p->message;
        MPL_free(p);
        return message;
    }
    if (remove) {
        p->next = MPIDI_UCX_vni_gpu[vni].matched;
        MPIDI_UCX_vni_gpu[vni].matched = p;
    }
    return (ucp_tag_message_h)((uintptr_t)p | 1);
}

static void receive_parked(MPIR_Request *rreq, void *buf, MPI_Aint count, MPI_Datatype datatype,
                           int vni, struct MPIDI_UCX_parked *p)
{
    rreq->status.MPI_ERROR = MPI_SUCCESS;
    rreq->status.MPI_SOURCE = MPIDI_UCX_get_source(p->tag);
    rreq->status.MPI_TAG = MPIDI_UCX_get_tag(p->tag);
    MPIR_STATUS_SET_COUNT(rreq->status, 0);
    MPIDI_UCX_RECV_SET_CAME(rreq);
    if (p->error != HEDDLE_SUCCESS) {
        if (p->error != HEDDLE_ERR_PEER)
            (void)refuse_unread(vni, p->ep, p->rank, p->tag, p->error);
        fail(rreq, MPIR_Typerep_error(p->error));
    } else {
        MPIDI_UCX_note_matched(vni, p->tag, &p->ticket);
        receive_from(rreq, buf, count, datatype, vni, p->ep, p->envelope, NULL);
    }
    MPL_free(p);
}

int MPIDI_UCX_gpu_recv(void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                       MPIR_Comm *comm, int context_offset, MPIDI_av_entry_t *addr, int vni,
                       MPIR_Request **request)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Request *rreq = *request;
    const uint64_t tag_mask = MPIDI_UCX_tag_mask(tag, rank);
    const uint64_t ucx_tag = MPIDI_UCX_recv_tag(tag, rank, comm->recvcontext_id + context_offset);
    struct MPIDI_UCX_parked *p = find_parked(vni, ucx_tag, tag_mask, true);
    heddle_ticket ticket;
    const bool given = p == NULL && MPIDI_UCX_ticket_give(vni, ucx_tag, tag_mask, buf, count,
                                                          datatype, addr, &ticket);
    if (p == NULL && !given &&
        (!MPIDI_UCX_gpu_takes(buf, count, datatype) ||
         MPIDI_UCX_is_direct(buf, count, datatype, addr)))
        return MPIDI_UCX_recv(buf, count, datatype, rank, tag, comm, context_offset, addr, vni,
                              request);

    if (rreq == NULL)
        rreq = MPIR_Request_create_from_pool(MPIR_REQUEST_KIND__RECV, vni, 2);
    else
        MPIR_Request_add_ref(rreq);
    MPIR_ERR_CHKANDSTMT(rreq == NULL, mpi_errno, MPIX_ERR_NOREQ, goto fn_fail, "**nomemreq");
    *request = rreq;
    MPIDI_UCX_note_buffer(rreq, buf, count, datatype, comm);
    if (p != NULL && p->message == NULL) {
        receive_parked(rreq, buf, count, datatype, vni, p);
    } else {
        mpi_errno = MPIDI_UCX_oneshot_recv(buf, count, datatype, ucx_tag, tag_mask,
                                           p != NULL ? p->message : NULL, comm, vni,
                                           given ? &ticket : NULL, rreq);
        MPL_free(p);
    }
fn_exit:
    if (given && mpi_errno != MPI_SUCCESS)
        (void)heddle_ticket_end(&ticket);
    return mpi_errno;
fn_fail:
    if (p != NULL) { /* it is the oldest still */
        p->next = MPIDI_UCX_vni_gpu[vni].parked;
        MPIDI_UCX_vni_gpu[vni].parked = p;
    }
    goto fn_exit;
}

int MPIDI_UCX_gpu_imrecv(void *buf, MPI_Aint count, MPI_Datatype datatype, int vci,
                         MPIR_Request *message)
{
    int mpi_errno = MPI_SUCCESS;
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vci).lock);
    void *handle = MPIDI_UCX_REQ(message).message_handler;
    if (MPIDI_UCX_IS_PARKED(handle)) {
        struct MPIDI_UCX_parked *p = (struct MPIDI_UCX_parked *)((uintptr_t)handle - 1);
        struct MPIDI_UCX_parked **link = &MPIDI_UCX_vni_gpu[vci].matched;
        while (*link != p)
            link = &(*link)->next;
        *link = p->next;
        receive_parked(message, buf, count, datatype, vci, p);
    } else
        mpi_errno =
            MPIDI_UCX_oneshot_recv(buf, count, datatype, 0, 0, handle, NULL, vci, NULL, message);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vci).lock);
    return mpi_errno;
}

#endif
