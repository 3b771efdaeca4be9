/* SPDX-License-Identifier: BSD-3-Clause
 *
 * UCX's active messages as the transport of libheddle's ports, one port for each VNI.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#if MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_HEDDLE
#include "heddle_leaving.h"
#include "heddle_moves.h"

/* MPICH's own active messages are number 0. */
enum { AM_PORT = 1, AM_DROPPED = 2, AM_LEAVING = 3 };

struct MPIDI_UCX_vni_gpu MPIDI_UCX_vni_gpu[MPIDI_CH4_MAX_VCIS];
static heddle_port *ports[MPIDI_CH4_MAX_VCIS];

/* ---- out ----------------------------------------------------------------------------------------
 */

/* A header that UCX may still need, and what is to be told when it does not. */
struct sending {
    heddle_port *port;
    void *token;
    ucp_ep_h ep;
    int vni;
    char header[HEDDLE_HEADER_BYTES];
};

static void sent(void *request, ucs_status_t status, void *user_data)
{
    struct sending *s = user_data;
    if (s->port != NULL) {
        heddle_port_sent(s->port, s->token, status == UCS_OK ? HEDDLE_SUCCESS : HEDDLE_ERR_PEER);
        MPIDI_UCX_note_status(s->vni, s->ep, status);
    }
    MPL_free(s);
    ucp_request_release(request);
}

static int send_am(unsigned id, ucp_ep_h ep, int vni, heddle_port *port, const void *header,
                   size_t header_bytes, const void *data, size_t bytes, void *token, int *done)
{
    struct sending *s = MPL_malloc(sizeof(*s), MPL_MEM_BUFFER);
    if (s == NULL)
        return HEDDLE_ERR_NO_MEMORY;
    s->port = port;
    s->token = token;
    s->ep = ep;
    s->vni = vni;
    memcpy(s->header, header, header_bytes);
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send = sent,
        .user_data = s,
    };
    if (bytes == 0 || (MPI_Aint)bytes <= MPIR_CVAR_CH4_UCX_GPU_ONESHOT) { /* it may be pushed, and
                                                                             no more asked of us */
        param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
        param.flags = UCP_AM_SEND_FLAG_EAGER;
    }
    void *request = ucp_am_send_nbx(ep, id, s->header, header_bytes, data, bytes, &param);
    if (request != NULL && !UCS_PTR_IS_ERR(request)) {
        *done = 0;
        return HEDDLE_SUCCESS;
    }
    MPL_free(s);
    *done = 1;
    return request == NULL ? HEDDLE_SUCCESS : HEDDLE_ERR_PEER;
}

static int send_to_port(void *context, void *peer, const void *header, size_t header_bytes,
                        const void *data, size_t bytes, void *token, int *done)
{
    const int vni = (int)(intptr_t)context;
    return send_am(AM_PORT, peer, vni, ports[vni], header, header_bytes, data, bytes, token, done);
}

/* Who has dropped it says who that is: contexts are the receiver's, so others whom its sender knows
 * may have the same key. */
struct dropped {
    uint64_t key;
    uint32_t rank; /* in the job */
    uint32_t vni;
    int32_t error; /* 0: there was no room for its envelope */
};

int MPIDI_UCX_port_refused(int vni, ucp_ep_h ep, uint64_t key, int error)
{
    const struct dropped it = {key, (uint32_t)MPIR_Process.rank, (uint32_t)vni, error};
    int done;
    return send_am(AM_DROPPED, ep, vni, NULL, &it, sizeof(it), NULL, 0, NULL, &done);
}

int MPIDI_UCX_port_dropped(int vni, ucp_ep_h ep, uint64_t key)
{
    return MPIDI_UCX_port_refused(vni, ep, key, HEDDLE_SUCCESS);
}

/* ---- in -----------------------------------------------------------------------------------------
 */

struct placing {
    heddle_port *port;
    void *token;
};

static void placed(void *request, ucs_status_t status, size_t length, void *user_data)
{
    struct placing *p = user_data;
    (void)length;
    heddle_port_placed(p->port, p->token, status == UCS_OK ? HEDDLE_SUCCESS : HEDDLE_ERR_PEER);
    MPL_free(p);
    ucp_request_release(request);
}

/* The data of a header is still at its sender: it comes straight to where it belongs. */
static ucs_status_t fetch(int vni, heddle_port *port, const void *header, size_t header_bytes,
                          void *data, size_t bytes)
{
    struct placing *p = MPL_malloc(sizeof(*p), MPL_MEM_BUFFER);
    if (p == NULL)
        return UCS_ERR_NO_MEMORY;
    void *where = NULL;
    p->port = port;
    if (heddle_port_place(port, header, header_bytes, bytes, &where, &p->token) != HEDDLE_SUCCESS ||
        where == NULL) {
        MPL_free(p);
        return UCS_OK; /* nobody wants it */
    }
    const ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.recv_am = placed,
        .user_data = p,
    };
    void *request =
        ucp_am_recv_data_nbx(MPIDI_UCX_global.ctx[vni].worker, data, where, bytes, &param);
    if (request == NULL || UCS_PTR_IS_ERR(request)) {
        heddle_port_placed(port, p->token, request == NULL ? HEDDLE_SUCCESS : HEDDLE_ERR_PEER);
        MPL_free(p);
    }
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

static ucs_status_t dropped_arrived(void *arg, const void *header, size_t header_bytes, void *data,
                                    size_t bytes, const ucp_am_recv_param_t *param)
{
    const int vni = (int)(intptr_t)arg;
    heddle_port *port = MPIDI_UCX_port(vni);
    struct dropped it;
    (void)data, (void)bytes, (void)param;
    if (port == NULL || header_bytes != sizeof(it))
        return UCS_OK;
    memcpy(&it, header, sizeof(it));
    if (it.rank < (uint32_t)MPIR_Process.size && it.vni < (uint32_t)MPIDI_UCX_global.num_vnis)
        (void)heddle_port_dropped(port,
                                  MPIDI_UCX_AV(&MPIDIU_get_av(0, (int)it.rank)).dest[vni][it.vni],
                                  it.key, it.error);
    return UCS_OK;
}

static ucs_status_t leaving_arrived(void *arg, const void *header, size_t header_bytes, void *data,
                                    size_t bytes, const ucp_am_recv_param_t *param)
{
    (void)arg, (void)data, (void)bytes, (void)param;
    MPIDI_UCX_leaving_arrived(header, header_bytes);
    return UCS_OK;
}

bool MPIDI_UCX_leaving_send(ucp_ep_h ep, const void *header, size_t header_bytes)
{
    int done;
    return send_am(AM_LEAVING, ep, 0, NULL, header, header_bytes, NULL, 0, NULL, &done) ==
           HEDDLE_SUCCESS;
}

/* ---- start and end ------------------------------------------------------------------------------
 */

/* Made when it is first needed; null where there is no memory. */
heddle_port *MPIDI_UCX_port(int vni)
{
    if (ports[vni] == NULL) {
        const heddle_transport transport = {(void *)(intptr_t)vni, send_to_port};
        const heddle_port_options options = {.number = (uint32_t)vni};
        if (heddle_port_create(&transport, &options, &ports[vni]) == HEDDLE_SUCCESS)
            MPIDI_UCX_vni_gpu[vni].port_active = heddle_port_active(ports[vni]);
    }
    return ports[vni];
}

int MPIDI_UCX_port_init(int vni)
{
    int mpi_errno = MPI_SUCCESS;
    static const struct {
        unsigned id;
        ucp_am_recv_callback_t callback;
    } handlers[] = {
        {AM_PORT, port_arrived}, {AM_DROPPED, dropped_arrived}, {AM_LEAVING, leaving_arrived}};

    if (vni == 0) {                             /* the others begin after gpu_post_init */
        MPIDI_UCX_watch |= MPIDI_UCX_WATCH_GPU; /* until it is known better */
        MPIDI_UCX_leaving_init();
        mpi_errno = MPIDI_UCX_ended_init();
        MPIR_ERR_CHECK(mpi_errno);
    }
    for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++) {
        const ucp_am_handler_param_t param = {
            .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                          UCP_AM_HANDLER_PARAM_FIELD_ARG,
            .id = handlers[i].id,
            .cb = handlers[i].callback,
            .arg = (void *)(intptr_t)vni,
        };
        ucs_status_t status =
            ucp_worker_set_am_recv_handler(MPIDI_UCX_global.ctx[vni].worker, &param);
        MPIDI_UCX_CHK_STATUS(status);
    }
fn_exit:
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

/* UCX's netmod connects to no other jobs: what holds of this one stays so. */
int MPIDI_UCX_gpu_post_init(void)
{
    int mpi_errno = MPI_SUCCESS;
    int devices = ENABLE_GPU;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    mpi_errno = MPIR_Allreduce_fallback(MPI_IN_PLACE, &devices, 1, MPI_INT, MPI_MAX,
                                        MPIR_Process.comm_world, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    if (!devices)
        MPIDI_UCX_watch &= ~MPIDI_UCX_WATCH_GPU;
    mpi_errno = MPIDI_UCX_ended_post_init(devices);
    MPIR_ERR_CHECK(mpi_errno);
    if (ENABLE_GPU)
        MPIDI_UCX_direct_init();
fn_exit:
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

/* After the worker is gone. */
void MPIDI_UCX_port_finalize(int vni)
{
    MPIDI_UCX_vni_gpu[vni].port_active = NULL;
    if (ports[vni] != NULL)
        heddle_port_lost(ports[vni], NULL, HEDDLE_ERR_PEER); /* there is nobody left to tell */
    heddle_port_destroy(ports[vni]);
    ports[vni] = NULL;
    MPIDI_UCX_landings_free(vni);
    MPIDI_UCX_parked_free(vni);
    MPIDI_UCX_tickets_forget(vni);
    if (vni == MPIDI_UCX_global.num_vnis - 1)
        MPIDI_UCX_ended_finalize();
}

void MPIDI_UCX_gpu_move_on(int vni)
{
    const struct MPIDI_UCX_vni_gpu *of = &MPIDI_UCX_vni_gpu[vni];
    if (of->moves.any) /* envelopes may wait for them */
        MPIDI_UCX_moves_move_on(vni);
    if (of->port_active != NULL && *of->port_active)
        heddle_port_progress(ports[vni], NULL);
}

#endif
