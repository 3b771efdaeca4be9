/* SPDX-License-Identifier: BSD-3-Clause
 *
 * UCX's active messages as the transport of libheddle's ports, one port for each VNI.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#if MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_HEDDLE
#include "heddle_moves.h"

/* MPICH's own active messages are number 0. */
enum { AM_PORT = 1, AM_DROPPED = 2, AM_LEAVING = 3 };

struct MPIDI_UCX_vni_gpu MPIDI_UCX_vni_gpu[MPIDI_CH4_MAX_VCIS];
static heddle_port *ports[MPIDI_CH4_MAX_VCIS];

/* ---- out ---------------------------------------------------------------------------------------- */

/* A header that UCX may still need, and what is to be told when it does not. */
struct sending {
    heddle_port *port;
    void *token;
    char header[HEDDLE_HEADER_BYTES];
};

static void sent(void *request, ucs_status_t status, void *user_data)
{
    struct sending *s = user_data;
    if (s->port != NULL)
        heddle_port_sent(s->port, s->token, status == UCS_OK ? HEDDLE_SUCCESS : HEDDLE_ERR_PEER);
    MPL_free(s);
    ucp_request_release(request);
}

static int send_am(unsigned id, ucp_ep_h ep, heddle_port *port, const void *header, size_t header_bytes,
                   const void *data, size_t bytes, void *token, int *done)
{
    struct sending *s = MPL_malloc(sizeof(*s), MPL_MEM_BUFFER);
    if (s == NULL)
        return HEDDLE_ERR_NO_MEMORY;
    s->port = port;
    s->token = token;
    memcpy(s->header, header, header_bytes);
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send = sent,
        .user_data = s,
    };
    if (bytes == 0 || (MPI_Aint) bytes <= MPIR_CVAR_CH4_UCX_GPU_ONESHOT) { /* it may be pushed, and no more asked of us */
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

static int send_to_port(void *context, void *peer, const void *header, size_t header_bytes, const void *data,
                        size_t bytes, void *token, int *done)
{
    const int vni = (int) (intptr_t) context;
    return send_am(AM_PORT, peer, ports[vni], header, header_bytes, data, bytes, token, done);
}

/* Who has dropped it says who that is: contexts are the receiver's, so others whom its sender knows may have the same key. */
struct dropped {
    uint64_t key;
    uint32_t rank; /* in the job */
    uint32_t vni;
};

int MPIDI_UCX_port_dropped(int vni, ucp_ep_h ep, uint64_t key)
{
    const struct dropped it = {key, (uint32_t) MPIR_Process.rank, (uint32_t) vni};
    int done;
    return send_am(AM_DROPPED, ep, NULL, &it, sizeof(it), NULL, 0, NULL, &done);
}

/* ---- in ----------------------------------------------------------------------------------------- */

struct placing {
    heddle_port *port;
    void *token;
};

static void placed(void *request, ucs_status_t status, size_t length, void *user_data)
{
    struct placing *p = user_data;
    (void) length;
    heddle_port_placed(p->port, p->token, status == UCS_OK ? HEDDLE_SUCCESS : HEDDLE_ERR_PEER);
    MPL_free(p);
    ucp_request_release(request);
}

/* The data of a header is still at its sender: it comes straight to where it belongs. */
static ucs_status_t fetch(int vni, heddle_port *port, const void *header, size_t header_bytes, void *data,
                          size_t bytes)
{
    struct placing *p = MPL_malloc(sizeof(*p), MPL_MEM_BUFFER);
    if (p == NULL)
        return UCS_ERR_NO_MEMORY;
    void *where = NULL;
    p->port = port;
    if (heddle_port_place(port, header, header_bytes, bytes, &where, &p->token) != HEDDLE_SUCCESS || where == NULL) {
        MPL_free(p);
        return UCS_OK; /* nobody wants it */
    }
    const ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.recv_am = placed,
        .user_data = p,
    };
    void *request = ucp_am_recv_data_nbx(MPIDI_UCX_global.ctx[vni].worker, data, where, bytes, &param);
    if (request == NULL || UCS_PTR_IS_ERR(request)) {
        heddle_port_placed(port, p->token, request == NULL ? HEDDLE_SUCCESS : HEDDLE_ERR_PEER);
        MPL_free(p);
    }
    return UCS_INPROGRESS;
}

static ucs_status_t port_arrived(void *arg, const void *header, size_t header_bytes, void *data, size_t bytes,
                                 const ucp_am_recv_param_t *param)
{
    const int vni = (int) (intptr_t) arg;
    heddle_port *port = MPIDI_UCX_port(vni);
    if (port == NULL)
        return UCS_OK;
    if (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)
        return fetch(vni, port, header, header_bytes, data, bytes);
    /* Headers that are not understood end their message, if they have one. */
    (void) heddle_port_arrived(port, header, header_bytes, data, bytes);
    return UCS_OK;
}

static ucs_status_t dropped_arrived(void *arg, const void *header, size_t header_bytes, void *data, size_t bytes,
                                    const ucp_am_recv_param_t *param)
{
    const int vni = (int) (intptr_t) arg;
    heddle_port *port = MPIDI_UCX_port(vni);
    struct dropped it;
    (void) data, (void) bytes, (void) param;
    if (port == NULL || header_bytes != sizeof(it))
        return UCS_OK;
    memcpy(&it, header, sizeof(it));
    if (it.rank < (uint32_t) MPIR_Process.size && it.vni < (uint32_t) MPIDI_UCX_global.num_vnis)
        (void) heddle_port_dropped(port, MPIDI_UCX_AV(&MPIDIU_get_av(0, (int) it.rank)).dest[vni][it.vni], it.key);
    return UCS_OK;
}

/* Rounds of leave_together in which this process was told. */
static uint64_t leaving;

static ucs_status_t leaving_arrived(void *arg, const void *header, size_t header_bytes, void *data, size_t bytes,
                                    const ucp_am_recv_param_t *param)
{
    uint64_t round;
    (void) arg, (void) data, (void) bytes, (void) param;
    if (header_bytes == sizeof(round)) {
        memcpy(&round, header, sizeof(round));
        leaving |= round;
    }
    return UCS_OK;
}

/* ---- start and end ------------------------------------------------------------------------------ */

/* Made when it is first needed; null where there is no memory. */
heddle_port *MPIDI_UCX_port(int vni)
{
    if (ports[vni] == NULL) {
        const heddle_transport transport = {(void *) (intptr_t) vni, send_to_port};
        const heddle_port_options options = {.number = (uint32_t) vni};
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
    } handlers[] = {{AM_PORT, port_arrived}, {AM_DROPPED, dropped_arrived}, {AM_LEAVING, leaving_arrived}};

    if (vni == 0) { /* the others begin after gpu_post_init */
        MPIDI_UCX_watch |= MPIDI_UCX_WATCH_GPU; /* until it is known better */
        leaving = 0;
    }
    for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++) {
        const ucp_am_handler_param_t param = {
            .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB
                | UCP_AM_HANDLER_PARAM_FIELD_ARG,
            .id = handlers[i].id,
            .cb = handlers[i].callback,
            .arg = (void *) (intptr_t) vni,
        };
        ucs_status_t status = ucp_worker_set_am_recv_handler(MPIDI_UCX_global.ctx[vni].worker, &param);
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
    mpi_errno = MPIR_Allreduce_fallback(MPI_IN_PLACE, &devices, 1, MPI_INT, MPI_MAX, MPIR_Process.comm_world, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    if (!devices)
        MPIDI_UCX_watch &= ~MPIDI_UCX_WATCH_GPU;
    if (ENABLE_GPU)
        MPIDI_UCX_direct_init();
  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static void progress_all(void)
{
    for (int vni = 0; vni < MPIDI_UCX_global.num_vnis; vni++)
        MPIDI_UCX_watch_progress(vni);
}

static void flushed(void *request, ucs_status_t status)
{
    (void) request, (void) status;
}

static void flush(ucp_ep_h ep)
{
    void *request = ucp_ep_flush_nb(ep, 0, flushed);
    if (request == NULL || UCS_PTR_IS_ERR(request))
        return;
    while (ucp_request_check_status(request) == UCS_INPROGRESS)
        progress_all();
    ucp_request_free(request);
}

/* Waits until UCX needs nothing more for what was sent. Connection by connection, as they are closed: over TCP a worker's
 * flush does not ask the other end whether it has what was written there, and a connection's does. */
static void flush_all(void)
{
    const int n = MPIDI_UCX_global.num_vnis;
    for (int rank = 0; rank < MPIR_Process.size; rank++)
        for (int from = 0; from < n; from++)
            for (int to = 0; to < n; to++)
                flush(MPIDI_UCX_AV(&MPIDIU_get_av(0, rank)).dest[from][to]);
}

/* A barrier in which everybody makes progress (by dissemination: Hensgen, Finkel, Manber 1988). There is no
 * MPI_COMM_WORLD any more. Who cannot reach somebody waits for nobody, but the others still hear of it. */
static void leave_together(void)
{
    const uint64_t size = (uint64_t) MPIR_Process.size, rank = (uint64_t) MPIR_Process.rank;
    bool waits = true;
    for (uint64_t round = 1; round < size; round *= 2) {
        ucp_ep_h next = MPIDI_UCX_AV(&MPIDIU_get_av(0, (int) ((rank + round) % size))).dest[0][0];
        int done;
        if (send_am(AM_LEAVING, next, NULL, &round, sizeof(round), NULL, 0, NULL, &done) != HEDDLE_SUCCESS)
            waits = false;
        while (waits && !(leaving & round))
            progress_all();
    }
}

/* A process that has closed its connections makes no more progress, which others may need for theirs (seen over TCP after
 * chunks of 1 MiB). So nobody begins to close before all are through. */
void MPIDI_UCX_gpu_drain(void)
{
    bool any;
    do {
        any = false;
        for (int vni = 0; vni < MPIDI_UCX_global.num_vnis; vni++) {
            MPIDI_UCX_wait_turn(vni);
            any |= MPIDI_UCX_vni_gpu[vni].envelopes > 0;
        }
        if (any)
            progress_all();
    } while (any);
    if (!(MPIDI_UCX_watch & MPIDI_UCX_WATCH_GPU))
        return;
    flush_all();
    leave_together();
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
