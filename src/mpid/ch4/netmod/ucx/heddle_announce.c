/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Announcements of one-sided operations (heddle_announced.h): how they are sent, and the messages
 * whose envelopes they carry.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include "heddle_announced.h"

/* ---- announcements --------------------------------------------------------------------------- */

/* One that is packed, or that UCX may still need. */
struct posted {
    struct MPIDI_UCX_move pack; /* of what goes whole */
    heddle_message_ended ended;
    void *argument;
    int vni;
    ucp_ep_h ep;
    uint64_t message;
    void (*lost)(int vni, uint64_t operation);
    struct MPIDI_UCX_announcement it;
    void *staging; /* what goes whole, and the type; null: nothing does */
    size_t flattened_bytes;
    char flattened[]; /* the type, where nothing goes whole */
};

static void give_up(const struct MPIDI_UCX_telling *t, int error)
{
    if (t->message != 0)
        (void)heddle_message_abandon(MPIDI_UCX_port(t->vni), t->message, error);
    if (t->lost != NULL)
        t->lost(t->vni, t->it.operation);
}

static void end(struct posted *p, ucs_status_t status)
{
    if (status != UCS_OK) {
        const struct MPIDI_UCX_telling t = {
            .it = p->it, .vni = p->vni, .message = p->message, .lost = p->lost};
        MPIDI_UCX_note_status(p->vni, p->ep, status);
        give_up(&t, MPIDI_UCX_error_of(p->vni, p->ep, status));
    }
    heddle_staging_free(p->staging);
    MPL_free(p);
}

static void sent(void *request, ucs_status_t status, void *user_data)
{
    ucp_request_release(request);
    end(user_data, status);
}

/* A type is pushed, however long it is: the callback that takes it finds all of it. Long data are
 * fetched by whom they are for. */
static void post(struct posted *p)
{
    ucp_request_param_t param = MPIDI_UCX_callback(p, 0);
    param.cb.send = sent;
    if (p->it.whole <= MPIDI_UCX_short_limit()) {
        param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
        param.flags = UCP_AM_SEND_FLAG_EAGER;
    }
    void *request = ucp_am_send_nbx(p->ep, MPIDI_UCX_AM_ACCESS, &p->it, sizeof(p->it),
                                    p->staging != NULL ? p->staging : p->flattened,
                                    p->it.whole + p->flattened_bytes, &param);
    if (request == NULL || UCS_PTR_IS_ERR(request))
        end(p, UCS_PTR_STATUS(request));
}

/* What an origin is told whose data cannot be sent. */
static struct MPIDI_UCX_announcement without_data(const struct MPIDI_UCX_announcement *it)
{
    struct MPIDI_UCX_announcement failed = *it;
    failed.word = MPIDI_UCX_WORD_DONE;
    failed.failed = true;
    failed.whole = 0;
    return failed;
}

/* What cannot be packed is not sent: the target need not know of it, but the origin must. */
static void packed(struct MPIDI_UCX_move *pack)
{
    struct posted *p = MPL_container_of(pack, struct posted, pack);
    const int error = pack->error;
    p->ended(p->argument, error, p->it.whole);
    if (error == HEDDLE_SUCCESS) {
        heddle_message_count_whole(0, p->it.whole);
        post(p);
        return;
    }
    if (p->lost != NULL) {
        p->lost(p->vni, p->it.operation);
        end(p, UCS_OK);
        return;
    }
    p->it = without_data(&p->it);
    post(p);
}

static struct posted *make(const struct MPIDI_UCX_telling *t)
{
    struct posted *p = MPL_malloc(sizeof(*p) + t->flattened_bytes, MPL_MEM_RMA);
    if (p == NULL)
        return NULL;
    *p = (struct posted){
        .ended = t->ended,
        .argument = t->argument,
        .vni = t->vni,
        .ep = MPIDI_UCX_WIN_TO_EP(t->win, t->to, t->vni),
        .message = t->message,
        .lost = t->lost,
        .it = t->it,
        .flattened_bytes = t->flattened_bytes,
    };
    char *flattened = p->flattened;
    if (t->whole != NULL) {
        p->staging = MPIDI_UCX_stage(t->whole, t->it.whole + t->flattened_bytes);
        if (p->staging == NULL) {
            MPL_free(p);
            return NULL;
        }
        p->pack.moved = packed;
        p->pack.packing = (heddle_packing){&t->whole->described, p->staging, t->it.whole};
        flattened = (char *)p->staging + t->it.whole;
    }
    if (t->flattened_bytes > 0)
        memcpy(flattened, t->flattened, t->flattened_bytes);
    return p;
}

void MPIDI_UCX_announce(struct MPIDI_UCX_telling *t)
{
    t->it.rank = t->win->comm_ptr->rank;
    t->it.win_id = MPIDIG_WIN(t->win, win_id);
    struct posted *p = make(t);
    if (p != NULL && t->whole != NULL) {
        MPIDI_UCX_move_begin(t->vni, &p->pack);
        return;
    }
    if (p == NULL && t->whole != NULL) {
        t->ended(t->argument, HEDDLE_ERR_NO_MEMORY, 0);
        t->whole = NULL;
        if (t->lost == NULL) {
            t->it = without_data(&t->it);
            p = make(t);
        }
    }
    if (p != NULL)
        post(p);
    else
        give_up(t, HEDDLE_ERR_NO_MEMORY);
}

/* ---- messages -------------------------------------------------------------------------------- */

bool MPIDI_UCX_goes_whole(MPIR_Win *win, int rank, MPI_Aint bytes)
{
    const MPIDI_av_entry_t *addr ATTRIBUTE((unused)) = MPIDIU_comm_rank_to_av(win->comm_ptr, rank);
    return bytes <= MPIDI_UCX_eager_limit(MPIDI_UCX_get_win_vni(win), addr);
}

/* Its receiver waits for it already, so it may wait for its receiver. What is short goes with the
 * announcement, as MPI's messages do. */
int MPIDI_UCX_announced_send(struct MPIDI_UCX_telling *t, const struct MPIDI_UCX_buffer *buffer,
                             heddle_message_ended ended, void *argument)
{
    heddle_port *port = MPIDI_UCX_port(t->vni);
    const MPIDI_av_entry_t *addr ATTRIBUTE((unused)) =
        MPIDIU_comm_rank_to_av(t->win->comm_ptr, t->to);
    const heddle_message_description how = {
        .size = sizeof(how),
        .peer = MPIDI_UCX_WIN_TO_EP(t->win, t->to, t->vni),
        .from = &buffer->described,
        .flags = MPIDI_UCX_IS_LOCAL(addr, true) ? HEDDLE_MESSAGE_NODE : 0,
        .eager_limit = 0,
        .ended = ended,
        .argument = argument,
    };
    heddle_message_result result = {.size = sizeof(result)};
    if (buffer->error != HEDDLE_SUCCESS)
        return buffer->error;
    if (buffer->bytes > 0 && MPIDI_UCX_goes_whole(t->win, t->to, buffer->bytes)) {
        t->whole = buffer;
        t->ended = ended;
        t->argument = argument;
        t->it.whole = (int32_t)buffer->bytes;
        return HEDDLE_SUCCESS;
    }
    const int error =
        port == NULL ? HEDDLE_ERR_NO_MEMORY : heddle_message_start(port, &how, &result);
    MPIR_Assert(error != HEDDLE_SUCCESS || result.path == HEDDLE_PATH_RENDEZVOUS);
    if (error == HEDDLE_SUCCESS) {
        t->message = result.message;
        memcpy(t->it.envelope, result.envelope, sizeof(t->it.envelope));
    }
    return error;
}

/* What came whole, on its way out of staging memory. Holds a reference to the type. */
struct unpack {
    struct MPIDI_UCX_move move;
    struct MPIDI_UCX_buffer buffer;
    void *staging;
    heddle_message_ended ended;
    void *argument;
};

static void unpacked(struct MPIDI_UCX_move *move)
{
    struct unpack *u = MPL_container_of(move, struct unpack, move);
    if (move->error == HEDDLE_SUCCESS)
        heddle_message_count_whole(1, move->packing.bytes);
    u->ended(u->argument, move->error, move->packing.bytes);
    heddle_staging_free(u->staging);
    MPIR_Datatype_release_if_not_builtin(u->buffer.datatype);
    MPL_free(u);
}

static int begin_unpack(struct MPIDI_UCX_arrived *a, const struct MPIDI_UCX_buffer *buffer,
                        heddle_message_ended ended, void *argument)
{
    if (buffer->error != HEDDLE_SUCCESS)
        return buffer->error;
    if (a->it.whole > buffer->bytes)
        return HEDDLE_ERR_TRUNCATE;
    struct unpack *u = MPL_malloc(sizeof(*u), MPL_MEM_RMA);
    void *staging =
        a->staging != NULL || u == NULL ? a->staging : MPIDI_UCX_stage(buffer, a->it.whole);
    if (u == NULL || staging == NULL) {
        MPL_free(u);
        return HEDDLE_ERR_NO_MEMORY;
    }
    if (a->staging == NULL)
        memcpy(staging, a->whole, a->it.whole);
    a->staging = NULL;
    *u = (struct unpack){
        .buffer = *buffer, .staging = staging, .ended = ended, .argument = argument};
    u->move.moved = unpacked;
    u->move.packing = (heddle_packing){&u->buffer.described, staging, a->it.whole, .unpacks = 1};
    MPIR_Datatype_add_ref_if_not_builtin(u->buffer.datatype);
    MPIDI_UCX_move_soon(a->vni, &u->move);
    return HEDDLE_SUCCESS;
}

int MPIDI_UCX_announced_receive(struct MPIDI_UCX_arrived *a, const struct MPIDI_UCX_buffer *buffer,
                                heddle_message_ended ended, void *argument)
{
    heddle_envelope_info about = {.size = sizeof(about)};
    heddle_port *port = MPIDI_UCX_port(a->vni);
    if (a->whole != NULL)
        return begin_unpack(a, buffer, ended, argument);
    if (port == NULL)
        return HEDDLE_ERR_NO_MEMORY;
    int error = heddle_envelope_read(a->it.envelope, &about);
    if (error == HEDDLE_SUCCESS && about.number >= (uint32_t)MPIDI_UCX_global.num_vnis)
        error = HEDDLE_ERR_FORMAT;
    if (error != HEDDLE_SUCCESS)
        return error;
    ucp_ep_h ep = MPIDI_UCX_COMM_TO_EP(a->win->comm_ptr, a->it.rank, a->vni, about.number);
    error = buffer->error;
    if (error == HEDDLE_SUCCESS)
        error = heddle_message_receive(port, ep, a->it.envelope, &buffer->described, NULL, ended,
                                       argument);
    if (error != HEDDLE_SUCCESS)
        (void)heddle_message_refuse(port, ep, a->it.envelope, error);
    return error;
}
