/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Announcements of one-sided operations (heddle_announced.h): how they are sent, and the messages
 * whose envelopes they carry.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include "heddle_announced.h"

/* ---- announcements --------------------------------------------------------------------------- */

/* One that UCX may still need. */
struct posted {
    int vni;
    ucp_ep_h ep;
    uint64_t message;
    void (*lost)(int vni, uint64_t operation);
    struct MPIDI_UCX_announcement it;
    char flattened[];
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
    MPL_free(p);
}

static void sent(void *request, ucs_status_t status, void *user_data)
{
    ucp_request_release(request);
    end(user_data, status);
}

/* Pushed, however long its type is: the callback that takes it finds all of it. */
static void post(struct posted *p, size_t flattened_bytes)
{
    ucp_request_param_t param = MPIDI_UCX_callback(p, UCP_OP_ATTR_FIELD_FLAGS);
    param.cb.send = sent;
    param.flags = UCP_AM_SEND_FLAG_EAGER;
    void *request = ucp_am_send_nbx(p->ep, MPIDI_UCX_AM_ACCESS, &p->it, sizeof(p->it), p->flattened,
                                    flattened_bytes, &param);
    if (request == NULL || UCS_PTR_IS_ERR(request))
        end(p, UCS_PTR_STATUS(request));
}

void MPIDI_UCX_announce(struct MPIDI_UCX_telling *t)
{
    struct posted *p = MPL_malloc(sizeof(*p) + t->flattened_bytes, MPL_MEM_RMA);
    t->it.rank = t->win->comm_ptr->rank;
    t->it.win_id = MPIDIG_WIN(t->win, win_id);
    if (p == NULL) {
        give_up(t, HEDDLE_ERR_NO_MEMORY);
        return;
    }
    *p = (struct posted){
        .vni = t->vni,
        .ep = MPIDI_UCX_WIN_TO_EP(t->win, t->to, t->vni),
        .message = t->message,
        .lost = t->lost,
        .it = t->it,
    };
    if (t->flattened_bytes > 0)
        memcpy(p->flattened, t->flattened, t->flattened_bytes);
    post(p, t->flattened_bytes);
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Its receiver waits for it already, so it may wait for its receiver. */
int MPIDI_UCX_announced_send(const struct MPIDI_UCX_telling *t,
                             const struct MPIDI_UCX_buffer *buffer, heddle_message_ended ended,
                             void *argument, heddle_message_result *result)
{
    heddle_port *port = MPIDI_UCX_port(t->vni);
    const MPIDI_av_entry_t *addr = MPIDIU_comm_rank_to_av(t->win->comm_ptr, t->to);
    const heddle_message_description how = {
        .size = sizeof(how),
        .peer = MPIDI_UCX_WIN_TO_EP(t->win, t->to, t->vni),
        .from = &buffer->described,
        .flags = MPIDI_UCX_IS_LOCAL(addr, true) ? HEDDLE_MESSAGE_NODE : 0,
        .eager_limit = 0,
        .ended = ended,
        .argument = argument,
    };
    (void)addr;
    result->size = sizeof(*result);
    if (buffer->error != HEDDLE_SUCCESS)
        return buffer->error;
    const int error =
        port == NULL ? HEDDLE_ERR_NO_MEMORY : heddle_message_start(port, &how, result);
    MPIR_Assert(error != HEDDLE_SUCCESS || result->path == HEDDLE_PATH_RENDEZVOUS);
    return error;
}

int MPIDI_UCX_announced_receive(MPIR_Win *win, int vni, const struct MPIDI_UCX_announcement *a,
                                const struct MPIDI_UCX_buffer *buffer, heddle_message_ended ended,
                                void *argument)
{
    heddle_envelope_info about = {.size = sizeof(about)};
    heddle_port *port = MPIDI_UCX_port(vni);
    if (port == NULL)
        return HEDDLE_ERR_NO_MEMORY;
    int error = heddle_envelope_read(a->envelope, &about);
    if (error == HEDDLE_SUCCESS && about.number >= (uint32_t)MPIDI_UCX_global.num_vnis)
        error = HEDDLE_ERR_FORMAT;
    if (error != HEDDLE_SUCCESS)
        return error;
    ucp_ep_h ep = MPIDI_UCX_COMM_TO_EP(win->comm_ptr, a->rank, vni, about.number);
    error = buffer->error;
    if (error == HEDDLE_SUCCESS)
        error = heddle_message_receive(port, ep, a->envelope, &buffer->described, NULL, ended,
                                       argument);
    if (error != HEDDLE_SUCCESS)
        (void)heddle_message_refuse(port, ep, a->envelope, error);
    return error;
}
