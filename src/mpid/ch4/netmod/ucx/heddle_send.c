/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sends: whose they are, and which way they go. libheddle chooses among its own ways
 * (heddle_message_start). Short ones are packed into host memory, which UCX sends; of the others
 * UCX sends an envelope. MPI's messages stay in order: what is to be sent waits its turn behind
 * what is still being packed.
 */
#define MPIDI_UCX_PLAIN
#include "mpidimpl.h"
#include "ucx_impl.h"
#include "ucx_send.h"

#include "heddle_internal.h"
#include "utlist.h"

/* A message that is sent: by an envelope, or packed whole. */
struct MPIDI_UCX_outgoing {
    struct MPIDI_UCX_move pack; /* of one that is packed: holds a reference to the type. With an
                                 * error the message has no data */
    struct MPIDI_UCX_buffer buffer;
    MPIR_Request *sreq;
    int rank; /* of the receiver */
    int vni;
    ucp_ep_h ep;
    uint64_t ucx_tag;
    heddle_message_result result;
    void *staging;
    bool is_sync;
    bool is_ready; /* to be sent once all before it were */
    bool is_lost;  /* nobody is left to receive it, and its request is over */
    struct MPIDI_UCX_outgoing *prev, *next;
};

static bool is_packed(const struct MPIDI_UCX_outgoing *o)
{
    return o->result.path == HEDDLE_PATH_PACK;
}

/* Its request waits for UCX: an envelope's ends with its message, which brings the error, too; but
 * that of a put, which nobody answers, waits for both. */
static bool is_awaited(const struct MPIDI_UCX_outgoing *o)
{
    return is_packed(o) || o->result.path == HEDDLE_PATH_PUT;
}

static void fail(struct MPIDI_UCX_outgoing *o, int error)
{
    o->pack.error = error;
    if (error != HEDDLE_SUCCESS)
        MPIDIG_fail(o->sreq, MPIR_Typerep_error(error));
}

/* ---- what UCX sends -------------------------------------------------------------------------- */

/* UCX is done with it. */
static void end(struct MPIDI_UCX_outgoing *o, ucs_status_t status)
{
    DL_DELETE(MPIDI_UCX_vnis[o->vni].sending, o);
    if (status != UCS_OK && !is_packed(o)) {
        heddle_message_abandon(MPIDI_UCX_port(o->vni), o->result.message,
                               MPIDI_UCX_error_of(o->vni, o->ep, status));
        MPIDI_UCX_note_status(o->vni, o->ep, status);
    }
    if (!o->is_lost && is_awaited(o)) {
        if (status == UCS_ERR_CANCELED) {
            MPIR_STATUS_SET_CANCEL_BIT(o->sreq->status, TRUE);
        } else if (status != UCS_OK) {
            const int error = MPIDI_UCX_error_of(o->vni, o->ep, status);
            MPIDIG_fail(o->sreq, MPIDI_UCX_message_error(error, o->rank));
        }
        MPIDIU_request_complete(o->sreq);
    }
    heddle_staging_free(o->staging);
    MPL_free(o);
}

static void sent(void *request, ucs_status_t status, void *user_data)
{
    ucp_request_release(request);
    end(user_data, status);
}

/* Of a message that failed its size alone is sent: its receiver is told so, and a probe finds what
 * was to come. */
static void post(struct MPIDI_UCX_outgoing *o)
{
    ucp_request_param_t param = MPIDI_UCX_callback(o, 0);
    param.cb.send = sent;
    const void *data = o->result.envelope;
    size_t bytes = HEDDLE_ENVELOPE_BYTES;
    uint64_t tag = o->ucx_tag | MPIDI_UCX_ENVELOPE_BIT;
    if (o->pack.error != HEDDLE_SUCCESS) {
        fail(o, o->pack.error);
        data = &o->buffer.bytes;
        bytes = sizeof(o->buffer.bytes);
    } else if (is_packed(o)) {
        data = o->staging;
        bytes = o->buffer.bytes;
        tag = o->ucx_tag;
        heddle_message_count_whole(0, bytes);
    }
    DL_APPEND(MPIDI_UCX_vnis[o->vni].sending, o);
    /* The answer to an envelope says that it was matched. */
    void *request = o->is_sync && is_packed(o)
                        ? ucp_tag_send_sync_nbx(o->ep, data, bytes, tag, &param)
                        : ucp_tag_send_nbx(o->ep, data, bytes, tag, &param);
    if (request == NULL || UCS_PTR_IS_ERR(request))
        end(o, UCS_PTR_STATUS(request));
    else if (is_packed(o))
        MPIDI_UCX_REQ(o->sreq).ucp_request = request;
}

static void post_ready(int vni)
{
    struct MPIDI_UCX_outgoing **waiting = &MPIDI_UCX_vnis[vni].waiting;
    while (*waiting != NULL && (*waiting)->is_ready) {
        struct MPIDI_UCX_outgoing *first = *waiting;
        DL_DELETE(*waiting, first);
        post(first);
    }
}

static void packed(struct MPIDI_UCX_move *pack)
{
    struct MPIDI_UCX_outgoing *o = MPL_container_of(pack, struct MPIDI_UCX_outgoing, pack);
    MPIR_Datatype_release_if_not_builtin(o->buffer.datatype);
    o->is_ready = true;
    post_ready(o->vni);
}

void MPIDI_UCX_wait_turn(int vni)
{
    while (MPIDI_UCX_vnis[vni].waiting != NULL)
        MPIDI_UCX_moves_progress(vni);
}

/* UCX cannot cancel what waits to be matched or read. It keeps its own request; the bytes it reads
 * only where the receiver answers, or makes room. */
void MPIDI_UCX_sends_lost(int vni, ucp_ep_h ep)
{
    struct MPIDI_UCX_outgoing *o;
    DL_FOREACH(MPIDI_UCX_vnis[vni].sending, o)
    {
        if (o->ep != ep || o->is_lost || !is_awaited(o))
            continue;
        o->is_lost = true;
        MPIDI_UCX_REQ(o->sreq).ucp_request = NULL;
        heddle_staging_free(o->staging);
        o->staging = NULL;
        MPIDIG_fail(o->sreq, MPIDI_UCX_message_error(HEDDLE_ERR_LOST, o->rank));
        MPIDIU_request_complete(o->sreq);
    }
}

/* ---- how it is sent -------------------------------------------------------------------------- */

/* What libheddle needs to know of the message to choose its path. A sender that stays, or comes
 * back, may have an RTR posted for its next message. */
static int flags_of(const struct MPIDI_UCX_call *c, const struct MPIDI_UCX_buffer *buffer)
{
    const bool is_on_node = MPIDI_UCX_IS_LOCAL(c->addr, true);
    int flags = (c->is_sync ? HEDDLE_MESSAGE_SYNCHRONOUS : 0) |
                (buffer->is_native ? HEDDLE_MESSAGE_NATIVE : 0) |
                (MPIDI_UCX_vnis[c->vni].waiting != NULL ? HEDDLE_MESSAGE_QUEUED : 0);
    if (c->rank == c->comm->rank && c->comm->comm_kind == MPIR_COMM_KIND__INTRACOMM)
        return flags | (c->vni == c->vni_dst ? HEDDLE_MESSAGE_SELF : 0);
    if (is_on_node)
        flags |= HEDDLE_MESSAGE_NODE;
    if (is_on_node && MPIR_Typerep_sender == MPIR_TYPEREP_SENDER_WAITS && buffer->is_contig)
        flags |= HEDDLE_MESSAGE_BLOCKING;
    if (is_on_node && MPIR_Typerep_sender == MPIR_TYPEREP_SENDER_STARTS)
        flags |= HEDDLE_MESSAGE_PERSISTENT;
    return flags;
}

/* The message that was sent last to that endpoint with that tag. What collides forgets it. */
static struct MPIDI_UCX_last *last_like(int vni, ucp_ep_h ep, uint64_t ucx_tag)
{
    const uint64_t tag = ucx_tag & MPIDI_UCX_EXACT;
    struct MPIDI_UCX_last *last = &MPIDI_UCX_vnis[vni].last[MPIDI_UCX_key(tag ^ (uintptr_t)ep)];
    if (last->ep != ep || last->ucx_tag != tag)
        *last = (struct MPIDI_UCX_last){ep, tag, 0};
    return last;
}

static void message_sent(void *argument, int error, int64_t bytes)
{
    MPIR_Request *sreq = argument;
    (void)bytes;
    MPIDI_UCX_vnis[MPIDI_Request_get_vci(sreq)].envelopes--;
    if (error != HEDDLE_SUCCESS)
        sreq->status.MPI_ERROR =
            MPIDI_UCX_message_error(error, (int)MPIDI_UCX_REQ(sreq).posted.key);
    MPIDIU_request_complete(sreq);
}

/* Begins the message at the port, which chooses `result.path`. PACK and NATIVE, or an error:
 * nothing has happened. */
static int start(struct MPIDI_UCX_outgoing *o, const struct MPIDI_UCX_call *c, int flags,
                 uint64_t previous)
{
    heddle_port *port = MPIDI_UCX_port(c->vni);
    const heddle_message_description how = {
        .size = sizeof(how),
        .peer = o->ep,
        .from = &o->buffer.described,
        .key = o->ucx_tag,
        .flags = flags,
        .eager_limit = MPIDI_UCX_eager_limit(c->vni, c->addr),
        .previous = o->buffer.bytes >= HEDDLE_ENVELOPE_BYTES ? previous : 0,
        .ended = message_sent,
        .argument = o->sreq,
    };
    o->result.size = sizeof(o->result);
    return port == NULL ? HEDDLE_ERR_NO_MEMORY : heddle_message_start(port, &how, &o->result);
}

/* UCX sends it as it is. */
static int send_plain(const struct MPIDI_UCX_call *c)
{
    MPIDI_UCX_wait_turn(c->vni);
    return MPIDI_UCX_send(c->buf, c->count, c->datatype, c->rank, c->tag, c->comm,
                          c->context_offset, c->addr, c->request, c->vni, c->vni_dst,
                          c->have_request, c->is_sync);
}

static void send_packed(struct MPIDI_UCX_outgoing *o)
{
    o->pack.moved = packed;
    if (o->pack.error == HEDDLE_SUCCESS &&
        (o->staging = MPIDI_UCX_stage(&o->buffer, o->buffer.bytes)) == NULL)
        fail(o, HEDDLE_ERR_NO_MEMORY);
    if (o->pack.error == HEDDLE_SUCCESS)
        o->pack.packing =
            (heddle_packing){&o->buffer.described, o->staging, o->buffer.bytes, .unpacks = 0};
    MPIR_Datatype_add_ref_if_not_builtin(o->buffer.datatype);
    DL_APPEND(MPIDI_UCX_vnis[o->vni].waiting, o);
    if (MPIR_Typerep_sender == MPIR_TYPEREP_SENDER_STARTS ||
        MPIR_Typerep_sender == MPIR_TYPEREP_SENDER_GATHERS)
        MPIDI_UCX_move_soon(o->vni, &o->pack); /* with all that follow */
    else
        MPIDI_UCX_move_begin(o->vni, &o->pack);
}

static void send_envelope(struct MPIDI_UCX_outgoing *o)
{
    struct MPIDI_UCX_vni *vni = &MPIDI_UCX_vnis[o->vni];
    vni->envelopes++;
    if (o->result.path == HEDDLE_PATH_PUT)
        MPIR_cc_inc(o->sreq->cc_ptr);
    o->is_ready = true;
    DL_APPEND(vni->waiting, o);
    post_ready(o->vni);
}

int MPIDI_UCX_gpu_send(const struct MPIDI_UCX_call *c)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_UCX_vni *vni = &MPIDI_UCX_vnis[c->vni];
    const ucp_ep_h ep = MPIDI_UCX_AV_TO_EP(c->addr, c->vni, c->vni_dst);
    const uint64_t ucx_tag =
        MPIDI_UCX_init_tag(c->comm->context_id + c->context_offset, c->comm->rank, c->tag);
    struct MPIDI_UCX_last *last = last_like(c->vni, ep, ucx_tag);
    const uint64_t previous = last->message;
    struct MPIDI_UCX_buffer buffer;

    MPIDI_UCX_describe(c->buf, c->count, c->datatype, c->addr, &buffer);
    last->message = 0;
    if (!buffer.is_ours && !MPIR_TYPEREP_IS_NO_DATA(c->buf))
        return send_plain(c);
    MPIR_Request *sreq = *c->request;
    if (sreq == NULL)
        sreq = MPIR_Request_create_from_pool(MPIR_REQUEST_KIND__SEND, c->vni, 1);
    MPIR_ERR_CHKANDJUMP(sreq == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    *c->request = sreq;
    struct MPIDI_UCX_outgoing *o = MPL_malloc(sizeof(*o), MPL_MEM_BUFFER);
    MPIR_ERR_CHKANDJUMP(o == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    *o = (struct MPIDI_UCX_outgoing){
        .buffer = buffer,
        .sreq = sreq,
        .rank = c->rank,
        .vni = c->vni,
        .ep = ep,
        .ucx_tag = ucx_tag,
        .is_sync = c->is_sync,
    };
    fail(o, MPIR_TYPEREP_IS_NO_DATA(c->buf) ? HEDDLE_ERR_DEVICE : buffer.error);
    if (vni->waiting != NULL && vni->moves.waiting == NULL)
        MPIDI_UCX_moves_progress(c->vni); /* what they wait for may be over */
    const int flags = flags_of(c, &buffer);
    if (o->pack.error == HEDDLE_SUCCESS)
        fail(o, start(o, c, flags, previous));
    if (o->result.path == HEDDLE_PATH_NATIVE) { /* its buffer turned out to be UCX's */
        MPL_free(o);
        return send_plain(c);
    }
    MPIR_Request_add_ref(sreq);
    MPIDI_UCX_REQ(sreq).ucp_request = NULL; /* nothing that could be cancelled, yet */
    MPIDI_UCX_REQ(sreq).posted.key = (unsigned)c->rank;
    if (is_packed(o)) {
        send_packed(o);
    } else {
        last->message =
            flags & (HEDDLE_MESSAGE_BLOCKING | HEDDLE_MESSAGE_PERSISTENT) ? o->result.message : 0;
        send_envelope(o);
    }
fn_fail:
    return mpi_errno;
}
