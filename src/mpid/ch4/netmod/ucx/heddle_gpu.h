/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages out of and into device memory, by a UCX that knows host memory only.
 *
 * A short one is packed into host memory, and is then a message like any other (heddle_oneshot.c).
 * Of a long one only an *envelope* goes by MPI's matching, told by a bit of its tag; the data
 * follows in chunks, between libheddle's ports, as active messages (heddle_port.c). Whoever
 * receives, on a device or not, may meet either (heddle_envelope.c).
 */
#ifndef HEDDLE_GPU_H_INCLUDED
#define HEDDLE_GPU_H_INCLUDED

#include <ucp/api/ucp.h>

/* In the tag of an envelope. MPI's tags leave it free (ucx_init.c, tag_bits). */
#define MPIDI_UCX_ENVELOPE_BIT (UINT64_C(1) << (MPIDI_UCX_TAG_BITS - 1))

/* What of ours messages and polls must look after: one load and one branch each where that is
 * nothing. Set in MPI_Init. */
enum {
    MPIDI_UCX_WATCH_YIELD = 1, /* polls are counted */
    MPIDI_UCX_WATCH_GPU = 2    /* somebody in this job has a device: there may be envelopes */
};
extern int MPIDI_UCX_watch ATTRIBUTE((visibility("hidden")));

/* Progress of a VNI. */
void MPIDI_UCX_watched(int vni, unsigned events);
MPL_STATIC_INLINE_PREFIX void MPIDI_UCX_watch_progress(int vni)
{
    unsigned events = ucp_worker_progress(MPIDI_UCX_global.ctx[vni].worker);
    if (unlikely(MPIDI_UCX_watch))
        MPIDI_UCX_watched(vni, events);
}

/* What a send tells UCX: as much of ucp_request_param_t. */
struct MPIDI_UCX_send_param {
    uint32_t op_attr_mask;
    struct {
        ucp_send_nbx_callback_t send;
    } cb;
};

/* MPIR_Typerep_pack of a message's `*bytes` into `to`, behind its headers. Where that fails, or the
 * request had failed before, the message says so, and has no data. */
int MPIDI_UCX_am_pack(MPIR_Request *sreq, char *message, const void *data, MPI_Aint count,
                      MPI_Datatype datatype, char *to, size_t *bytes, MPI_Aint *packed);

#if MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_HEDDLE

/* For tickets (heddle_tickets.c), messages and receives are known by source or destination,
 * communicator and tag, as a few numbers. */
#define MPIDI_UCX_KEYS 256
#define MPIDI_UCX_WILDCARDS MPIDI_UCX_KEYS
#define MPIDI_UCX_UNPOSTED (MPIDI_UCX_KEYS + 1) /* what a probe had matched */
#define MPIDI_UCX_POSTED (MPIDI_UCX_KEYS + 2)
static inline unsigned MPIDI_UCX_key(uint64_t of)
{
    return (unsigned)(of * UINT64_C(0x9e3779b97f4a7c15) >> 56);
}
/* What all receives look at that name source and tag: nothing else tells a message from another. */
#define MPIDI_UCX_EXACT MPIDI_UCX_tag_mask(0, 0)

/* The message that was sent last. */
struct MPIDI_UCX_last {
    ucp_ep_h ep;
    uint64_t ucx_tag;
    uint64_t message; /* at the port; 0: no ticket will be given after it */
};

/* What may be on its way in a VNI beside UCX. */
struct MPIDI_UCX_vni_gpu {
    const int *port_active; /* not 0: the port has something to do; null: there is no port */
    struct MPIDI_UCX_moves {
        struct MPIDI_UCX_move *waiting, *running, *over, *alone;
        struct heddle_request *request; /* of all that are running */
        bool any;                       /* there are some */
    } moves;                            /* packs and unpacks of short messages */
    struct MPIDI_UCX_turn *turns; /* sends that wait for a pack, or for others that do, oldest first
                                   */
    int envelopes;                /* sent, of messages that are not over */
    struct MPIDI_UCX_last last[MPIDI_UCX_KEYS]; /* by destination and tag, with what falls together
                                                 */
    uint32_t posted[MPIDI_UCX_POSTED];          /* receives that UCX has, by source and tag */
    struct MPIDI_UCX_parked *parked;  /* envelopes that a probe met, and what is older, oldest first
                                       */
    struct MPIDI_UCX_parked *matched; /* envelopes that a probe has matched, and that are not
                                         received yet */
};
extern struct MPIDI_UCX_vni_gpu MPIDI_UCX_vni_gpu[MPIDI_CH4_MAX_VCIS];

/* All of these are called under the VCI's lock, but for imrecv, which takes it. */

/* ---- from ucx_init.c ---------------------------------------------------------------------------
 */

void MPIDI_UCX_configure(ucp_config_t *config);
int MPIDI_UCX_port_init(int vni);
void MPIDI_UCX_port_finalize(int vni);
/* Returns when nothing is on its way any more: requests may have been freed. In a job with devices,
 * of any process. */
void MPIDI_UCX_gpu_drain(void);
/* Asks all processes whether they have a device; collective over MPI_COMM_WORLD. */
int MPIDI_UCX_gpu_post_init(void);

/* ---- from ucx_send.h ---------------------------------------------------------------------------
 */

/* Where these hold, MPIDI_UCX_send and MPIDI_UCX_recv hand all over to ours on their first line,
 * arguments and all: asking takes an instruction or two so, and what follows stays as it was. Ours
 * use the same functions for what is UCX's after all, in a form that does not ask: whoever wants
 * that defines MPIDI_UCX_PLAIN first. */
#ifdef MPIDI_UCX_PLAIN
#define MPIDI_UCX_SEND_ASKS 0
#define MPIDI_UCX_RECV_ASKS 0
#else
#define MPIDI_UCX_SEND_ASKS ENABLE_GPU
#define MPIDI_UCX_RECV_ASKS unlikely(MPIDI_UCX_watch &MPIDI_UCX_WATCH_GPU)
#endif

int MPIDI_UCX_gpu_send(const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                       MPIR_Comm *comm, int context_offset, MPIDI_av_entry_t *addr,
                       MPIR_Request **request, int vni_src, int vni_dst, int have_request,
                       int is_sync);

/* ---- from ucx_recv.h ---------------------------------------------------------------------------
 */

int MPIDI_UCX_gpu_recv(void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                       MPIR_Comm *comm, int context_offset, MPIDI_av_entry_t *addr, int vni,
                       MPIR_Request **request);

/* Whether a buffer is ours to move. */
MPL_STATIC_INLINE_PREFIX bool MPIDI_UCX_gpu_takes(const void *buf, MPI_Aint count,
                                                  MPI_Datatype datatype)
{
    return ENABLE_GPU && count > 0 && MPIR_Typerep_message_is_on_device(buf, datatype);
}

/* A receive remembers its buffer, for it may meet an envelope. Where nobody asks above, no envelope
 * comes. */
MPL_STATIC_INLINE_PREFIX void MPIDI_UCX_note_buffer(MPIR_Request *rreq, void *buf, MPI_Aint count,
                                                    MPI_Datatype datatype, MPIR_Comm *comm)
{
    struct MPIDI_UCX_posted *posted = &MPIDI_UCX_REQ(rreq).posted;
    posted->buf = buf;
    posted->count = count;
    posted->datatype = datatype;
    posted->comm = comm;
    if (rreq->comm == NULL) { /* the envelope's sender is found by it: it stays until the request
                                 goes */
        rreq->comm = comm;
        MPIR_Comm_add_ref(comm);
    }
}

/* It is counted from before it is given to UCX until UCX has matched it. */
MPL_STATIC_INLINE_PREFIX void MPIDI_UCX_note_posted(MPIR_Request *rreq, unsigned key)
{
    MPIDI_UCX_REQ(rreq).posted.key = key;
    MPIDI_UCX_REQ(rreq).posted.ticket = NULL;
    MPIDI_UCX_vni_gpu[MPIDI_Request_get_vci(rreq)].posted[key]++;
}
MPL_STATIC_INLINE_PREFIX void MPIDI_UCX_note_unposted(MPIR_Request *rreq)
{
    MPIDI_UCX_vni_gpu[MPIDI_Request_get_vci(rreq)].posted[MPIDI_UCX_REQ(rreq).posted.key]--;
}
#define MPIDI_UCX_KEY_OF_RECEIVE(ucx_tag, tag_mask)                                                \
    ((tag_mask) == MPIDI_UCX_EXACT ? MPIDI_UCX_key((ucx_tag)&MPIDI_UCX_EXACT) : MPIDI_UCX_WILDCARDS)

/* One that is given to UCX keeps the type as well, until UCX is done with it. */
#ifndef MPIDI_UCX_PLAIN
#define MPIDI_UCX_remember(rreq, buf, count, datatype, comm, ucx_tag, tag_mask)
#else
#define MPIDI_UCX_remember(rreq, buf, count, datatype, comm, ucx_tag, tag_mask)                    \
    do {                                                                                           \
        MPIDI_UCX_note_buffer((rreq), (buf), (count), (datatype), (comm));                         \
        MPIDI_UCX_note_posted((rreq), MPIDI_UCX_KEY_OF_RECEIVE((ucx_tag), (tag_mask)));            \
        MPIR_Datatype_add_ref_if_not_builtin(datatype);                                            \
    } while (0)
#endif
MPL_STATIC_INLINE_PREFIX void MPIDI_UCX_forget(MPIR_Request *rreq)
{
    if (unlikely(MPIDI_UCX_watch & MPIDI_UCX_WATCH_GPU)) {
        MPIDI_UCX_note_unposted(rreq);
        MPIR_Datatype_release_if_not_builtin(MPIDI_UCX_REQ(rreq).posted.datatype);
    }
}

/* A receive is UCX's to cancel until its message has come, or is being written (heddle_tickets.c).
 * Where nothing is remembered, it always is. */
bool MPIDI_UCX_is_delivered(MPIR_Request *rreq);
#define MPIDI_UCX_RECV_CAME(rreq)                                                                  \
    ((MPIDI_UCX_watch & MPIDI_UCX_WATCH_GPU) &&                                                    \
     (MPIDI_UCX_REQ(rreq).posted.comm == NULL ||                                                   \
      (MPIDI_UCX_REQ(rreq).posted.ticket != NULL && MPIDI_UCX_is_delivered(rreq))))
#define MPIDI_UCX_RECV_SET_CAME(rreq) (MPIDI_UCX_REQ(rreq).posted.comm = NULL)

/* Whether a message that was matched by a probe is ours. */
#define MPIDI_UCX_IS_PARKED(handle) ((uintptr_t)(handle)&1)
MPL_STATIC_INLINE_PREFIX bool MPIDI_UCX_gpu_imrecv_takes(const void *buf, MPI_Aint count,
                                                         MPI_Datatype datatype,
                                                         MPIR_Request *message)
{
    if (MPIDI_UCX_IS_PARKED(MPIDI_UCX_REQ(message).message_handler) ||
        MPIDI_UCX_gpu_takes(buf, count, datatype))
        return true;
    MPIDI_UCX_RECV_SET_CAME(message); /* it has */
    return false;
}
int MPIDI_UCX_gpu_imrecv(void *buf, MPI_Aint count, MPI_Datatype datatype, int vci,
                         MPIR_Request *message);

/* A receive of host memory met an envelope: what UCX said of it, in UCX's callback. */
void MPIDI_UCX_host_met_envelope(MPIR_Request *rreq, const ucp_tag_recv_info_t *info);

/* ---- from ucx_am.h -----------------------------------------------------------------------------
 */

/* ---- from ucx_probe.h --------------------------------------------------------------------------
 */

/* As ucp_tag_probe_nb; `info` tells of the message where that meets an envelope. What is then
 * returned with `remove` is the envelope, for imrecv. */
ucp_tag_message_h MPIDI_UCX_gpu_probe(MPIR_Comm *comm, int vni, uint64_t ucx_tag, uint64_t tag_mask,
                                      int remove, ucp_tag_recv_info_t *info);

void MPIDI_UCX_gpu_move_on(int vni);

/* ---- among our files ---------------------------------------------------------------------------
 */

struct heddle_port;
struct heddle_port *MPIDI_UCX_port(int vni);

/* Asks UCX what it can take. */
void MPIDI_UCX_direct_init(void);
/* Whether a device's buffer is UCX's to send or to receive, as it is. `addr`: of the other end,
 * null where that may be anybody. */
bool MPIDI_UCX_is_direct(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                         const MPIDI_av_entry_t *addr);

/* Sends an envelope: of a message that may wait for its receiver; of one that may not; of one that
 * a receive has a ticket for.
 * `*sent` false where it cannot go so. `waits`: its caller stays until it is over. `last` is
 * MPIDI_UCX_vni_gpu's for it. */
enum MPIDI_UCX_how {
    MPIDI_UCX_WHEN_MATCHED,
    MPIDI_UCX_TO_OTHERS,
    MPIDI_UCX_TO_ITSELF,
    MPIDI_UCX_BY_TICKET
};
int MPIDI_UCX_envelope_send(const void *buf, MPI_Aint count, MPI_Datatype datatype, MPI_Aint bytes,
                            int rank, ucp_ep_h ep, uint64_t ucx_tag, int vni,
                            enum MPIDI_UCX_how how, bool waits, struct MPIDI_UCX_last *last,
                            bool *sent, MPIR_Request **request);
/* What came where a message was expected is an envelope, or, `envelope` null, was one that did not
 * fit: the request is its from here on, and may be complete when this returns. An envelope has
 * MPIDI_UCX_ENVELOPE_BYTES bytes. What is shorter comes in place of a message that its sender could
 * not pack or begin, and is that message's size. `ticket`: of the receive; null: none. */
#define MPIDI_UCX_ENVELOPE_BYTES 64
#define MPIDI_UCX_IS_FAILED(info) ((info)->length < MPIDI_UCX_ENVELOPE_BYTES)
void MPIDI_UCX_envelope_met(MPIR_Request *rreq, void *buf, MPI_Aint count, MPI_Datatype datatype,
                            MPIR_Comm *comm, int vni, const void *envelope,
                            const struct heddle_ticket *ticket, const ucp_tag_recv_info_t *info);
/* Receives into a device's buffer what UCX has: a message that was matched, or, null, one that the
 * tag will match. */
int MPIDI_UCX_oneshot_recv(void *buf, MPI_Aint count, MPI_Datatype datatype, uint64_t ucx_tag,
                           uint64_t tag_mask, ucp_tag_message_h matched, MPIR_Comm *comm, int vni,
                           const struct heddle_ticket *ticket, MPIR_Request *rreq);
/* Tells a sender, over the endpoint `ep` of `vni`, that the receive which met its envelope had no
 * room for it. */
int MPIDI_UCX_port_dropped(int vni, ucp_ep_h ep, uint64_t key);

#else

#define MPIDI_UCX_configure(config)
#define MPIDI_UCX_port_init(vni) MPI_SUCCESS
#define MPIDI_UCX_port_finalize(vni)
#define MPIDI_UCX_gpu_drain()
#define MPIDI_UCX_gpu_post_init() MPI_SUCCESS
#define MPIDI_UCX_SEND_ASKS 0
#define MPIDI_UCX_RECV_ASKS 0
#define MPIDI_UCX_gpu_send(buf, count, datatype, rank, tag, comm, context_offset, addr, request,   \
                           vni_src, vni_dst, have_request, is_sync)                                \
    MPI_ERR_INTERN
#define MPIDI_UCX_gpu_recv(buf, count, datatype, rank, tag, comm, context_offset, addr, vni,       \
                           request)                                                                \
    MPI_ERR_INTERN
#define MPIDI_UCX_remember(rreq, buf, count, datatype, comm, ucx_tag, tag_mask)
#define MPIDI_UCX_forget(rreq)
#define MPIDI_UCX_gpu_imrecv_takes(buf, count, datatype, message) 0
#define MPIDI_UCX_gpu_imrecv(buf, count, datatype, vci, message) MPI_ERR_INTERN
#define MPIDI_UCX_host_met_envelope(rreq, info)
#define MPIDI_UCX_gpu_probe(comm, vni, ucx_tag, tag_mask, remove, info)                            \
    ucp_tag_probe_nb(MPIDI_UCX_global.ctx[vni].worker, ucx_tag, tag_mask, remove, info)
#define MPIDI_UCX_gpu_move_on(vni)
#define MPIDI_UCX_RECV_CAME(rreq) 0

#endif

#endif /* HEDDLE_GPU_H_INCLUDED */
