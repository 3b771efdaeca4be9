/* SPDX-License-Identifier: BSD-3-Clause
 *
 * UCX's active messages as the transport of libheddle's ports, one port for each VNI.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include "heddle_internal.h"

struct MPIDI_UCX_vni MPIDI_UCX_vnis[MPIDI_CH4_MAX_VCIS];

/* ---- out ------------------------------------------------------------------------------------- */

/* A header that UCX may still need, and whose it is. */
struct sending {
    void *token; /* null: it is not of the port */
    ucp_ep_h ep;
    int vni;
    char header[HEDDLE_HEADER_BYTES];
};

static void sent(void *request, ucs_status_t status, void *user_data)
{
    struct sending *s = user_data;
    if (s->token != NULL) {
        heddle_port_done(MPIDI_UCX_vnis[s->vni].port, s->token,
                         MPIDI_UCX_error_of(s->vni, s->ep, status));
        MPIDI_UCX_note_status(s->vni, s->ep, status);
    }
    MPL_free(s);
    ucp_request_release(request);
}

static int send_am(unsigned number, const struct sending *sending, const void *header,
                   size_t header_bytes, const void *data, size_t bytes, int *done)
{
    struct sending *s = MPL_malloc(sizeof(*s), MPL_MEM_BUFFER);
    if (s == NULL)
        return HEDDLE_ERR_NO_MEMORY;
    memcpy(s, sending, offsetof(struct sending, header));
    memcpy(s->header, header, header_bytes);
    ucp_request_param_t param = MPIDI_UCX_callback(s, 0);
    param.cb.send = sent;
    if (bytes == 0 || (MPI_Aint)bytes <= MPIDI_UCX_short_limit()) { /* it may be pushed */
        param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
        param.flags = UCP_AM_SEND_FLAG_EAGER;
    }
    void *request = ucp_am_send_nbx(s->ep, number, s->header, header_bytes, data, bytes, &param);
    *done = request == NULL || UCS_PTR_IS_ERR(request);
    if (*done)
        MPL_free(s);
    return UCS_PTR_IS_ERR(request)
               ? MPIDI_UCX_error_of(sending->vni, sending->ep, UCS_PTR_STATUS(request))
               : HEDDLE_SUCCESS;
}

static int send_to_port(void *context, void *peer, const void *header, size_t header_bytes,
                        const void *data, size_t bytes, void *token, int *done)
{
    const int vni = (int)(intptr_t)context;
    const struct sending s = {token, peer, vni, ""};
    return send_am(MPIDI_UCX_AM_PORT, &s, header, header_bytes, data, bytes, done);
}

int MPIDI_UCX_send_am(unsigned number, ucp_ep_h ep, const void *header, size_t header_bytes)
{
    int done;
    const struct sending s = {.ep = ep};
    return send_am(number, &s, header, header_bytes, NULL, 0, &done);
}

/* ---- in -------------------------------------------------------------------------------------- */

struct placing {
    void *token;
    int vni;
};

static void placed(void *request, ucs_status_t status, size_t length, void *user_data)
{
    struct placing *p = user_data;
    heddle_port *port = MPIDI_UCX_vnis[p->vni].port;
    const void *from = status == UCS_OK ? NULL : heddle_port_peer(port, p->token);
    (void)length;
    heddle_port_done(port, p->token, MPIDI_UCX_error_of(p->vni, (ucp_ep_h)from, status));
    MPL_free(p);
    if (request != NULL)
        ucp_request_release(request);
}

/* The data of a header is still at its sender: it comes straight to where it belongs. */
static ucs_status_t fetch(int vni, heddle_port *port, const void *header, size_t header_bytes,
                          void *data, size_t bytes)
{
    struct placing *p = MPL_malloc(sizeof(*p), MPL_MEM_BUFFER);
    void *where = NULL;
    if (p == NULL)
        return UCS_ERR_NO_MEMORY;
    p->vni = vni;
    if (heddle_port_place(port, header, header_bytes, bytes, &where, &p->token) != HEDDLE_SUCCESS ||
        where == NULL) {
        MPL_free(p);
        return UCS_OK; /* nobody wants it */
    }
    ucp_request_param_t param = MPIDI_UCX_callback(p, 0);
    param.cb.recv_am = placed;
    void *request =
        ucp_am_recv_data_nbx(MPIDI_UCX_global.ctx[vni].worker, data, where, bytes, &param);
    if (request == NULL || UCS_PTR_IS_ERR(request))
        placed(NULL, UCS_PTR_STATUS(request), bytes, p);
    return UCS_INPROGRESS;
}

static ucs_status_t port_arrived(void *arg, const void *header, size_t header_bytes, void *data,
                                 size_t bytes, const ucp_am_recv_param_t *param)
{
    const int vni = (int)(intptr_t)arg;
    heddle_port *port = MPIDI_UCX_port(vni);
    if (port == NULL)
        return UCS_OK;
    if (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)
        return fetch(vni, port, header, header_bytes, data, bytes);
    /* Headers that are not understood end their message, if they have one. */
    (void)heddle_port_arrived(port, header, header_bytes, data, bytes);
    return UCS_OK;
}

/* ---- start and end --------------------------------------------------------------------------- */

heddle_port *MPIDI_UCX_port(int vni)
{
    struct MPIDI_UCX_vni *v = &MPIDI_UCX_vnis[vni];
    if (v->port == NULL) {
        const heddle_transport transport = {sizeof(transport), (void *)(intptr_t)vni, send_to_port};
        const heddle_port_options options = {.size = sizeof(options), .number = (uint32_t)vni};
        if (heddle_port_create(&transport, &options, &v->port) == HEDDLE_SUCCESS)
            v->port_active = heddle_port_active(v->port);
    }
    return v->port;
}

bool MPIDI_UCX_port_by_value(int vni)
{
    const heddle_port *port = MPIDI_UCX_port(vni);
    return port != NULL && heddle_port_peer_mode(port) == HEDDLE_PEER_VALUE;
}

int MPIDI_UCX_take_am(int vni, unsigned number, ucp_am_recv_callback_t callback)
{
    int mpi_errno = MPI_SUCCESS;
    const ucp_am_handler_param_t param = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                      UCP_AM_HANDLER_PARAM_FIELD_ARG,
        .id = number,
        .cb = callback,
        .arg = (void *)(intptr_t)vni,
    };
    ucs_status_t status = ucp_worker_set_am_recv_handler(MPIDI_UCX_global.ctx[vni].worker, &param);
    MPIDI_UCX_CHK_STATUS(status);
fn_fail:
    return mpi_errno;
}

int MPIDI_UCX_transport_init(int vni)
{
    return MPIDI_UCX_take_am(vni, MPIDI_UCX_AM_PORT, port_arrived);
}

void MPIDI_UCX_transport_finalize(int vni)
{
    heddle_port *port = MPIDI_UCX_vnis[vni].port;
    if (port != NULL)
        heddle_port_lost(port, NULL, HEDDLE_ERR_PEER); /* there is nobody left to tell */
    heddle_port_destroy(port);
}
