/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What our files of the UCX netmod tell each other. A file calls those above its own section alone;
 * MPICH's files see heddle_gpu.h. All is called under the VCI's lock.
 */
#ifndef HEDDLE_INTERNAL_H_INCLUDED
#define HEDDLE_INTERNAL_H_INCLUDED

#include "heddle_message.h"

#include <stdbool.h>

/* ---- messages -------------------------------------------------------------------------------- */

/* MPI's error for how a message ended; `rank`: of its other end. */
static inline int MPIDI_UCX_message_error(int error, int rank)
{
    if (error == HEDDLE_ERR_LOST)
        return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                    MPIX_ERR_PROC_FAILED, "**comm_fail", "**comm_fail %d", rank);
    return error == HEDDLE_ERR_TRUNCATE ? MPI_ERR_TRUNCATE : MPIR_Typerep_error(error);
}

/* What UCX calls back with; `flags`: more of the mask. */
static inline ucp_request_param_t MPIDI_UCX_callback(void *user_data, uint32_t flags)
{
    return (ucp_request_param_t){.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                 UCP_OP_ATTR_FIELD_USER_DATA | flags,
                                 .user_data = user_data};
}

/* Whether it is known that another process is on this node (`yes` true), or is not. */
#ifdef MPIDI_BUILD_CH4_LOCALITY_INFO
#define MPIDI_UCX_IS_LOCAL(addr, yes) ((addr)->is_local == (yes))
#else
#define MPIDI_UCX_IS_LOCAL(addr, yes) false
#endif

/* For RTRs (heddle_recv.c), messages and receives are known by source or destination, communicator
 * and tag, as a few numbers. */
#define MPIDI_UCX_KEYS 256
static inline unsigned MPIDI_UCX_key(uint64_t of)
{
    return (unsigned)(of * UINT64_C(0x9e3779b97f4a7c15) >> 56);
}
/* What all receives look at that name source and tag: nothing else distinguishes messages. */
#define MPIDI_UCX_EXACT MPIDI_UCX_tag_mask(0, 0)

/* ---- what there is in a VNI, beside UCX ------------------------------------------------------ */

extern struct MPIDI_UCX_vni {
    heddle_port *port;      /* MPIDI_UCX_port makes it */
    const int *port_active; /* not 0: it has something to do; null: there is no port */
    int envelopes;          /* sent, of messages that are not over */
    struct MPIDI_UCX_moves {
        struct MPIDI_UCX_move *waiting, *running, *over;
        const struct MPIDI_UCX_move *together; /* of those that run, the short ones */
        bool any;                              /* there are some */
    } moves;
    /* Sends that wait for a pack, or for others, oldest first; and those that UCX has. */
    struct MPIDI_UCX_outgoing *waiting, *sending;
    struct MPIDI_UCX_receive *receives; /* into devices' buffers, that UCX has not matched */
    struct MPIDI_UCX_envelope *parked;  /* what probes met, and what is older, oldest first */
    /* The message that was sent last, by destination and tag, with what collides. */
    struct MPIDI_UCX_last {
        ucp_ep_h ep;
        uint64_t ucx_tag;
        uint64_t message; /* at the port; 0: no RTR will be posted for what follows */
    } last[MPIDI_UCX_KEYS];
    /* The envelope that was received last, by source and tag, as UCX knows both. */
    struct MPIDI_UCX_previous {
        uint64_t ucx_tag;
        heddle_rtr next;
    } previous[MPIDI_UCX_KEYS];
    uint32_t posted[MPIDI_UCX_KEYS + 2]; /* receives that UCX has, by the same; of any; matched */
    struct MPIDI_UCX_direct *windows;    /* that are direct (heddle_win.h) */
    /* One-sided operations of this process that were announced and are not over, oldest first. */
    struct MPIDI_UCX_announced *announced;
    uint64_t last_announced; /* the name of the latest */
    /* Those with requests that UCX carries out. */
    struct MPIDI_UCX_remote *remote;
    struct MPIDI_UCX_half *halves; /* of accumulates that come here (mpidig_halves.h) */
} MPIDI_UCX_vnis[MPIDI_CH4_MAX_VCIS];

/* ---- heddle_port.c: libheddle's ports, and UCX's active messages as their transport ---------- */

/* Made when it is first needed; null where there is no memory. */
heddle_port *MPIDI_UCX_port(int vni);
/* Whether its messages go by value within the node, too (HEDDLE_PEER). */
bool MPIDI_UCX_port_by_value(int vni);
int MPIDI_UCX_transport_init(int vni);
void MPIDI_UCX_transport_finalize(int vni);
/* Has active messages of a number taken by a callback. The numbers are said here alone. */
enum { MPIDI_UCX_AM_PORT = 1, MPIDI_UCX_AM_LEAVING = 2, MPIDI_UCX_AM_ACCESS = 3 };
int MPIDI_UCX_take_am(int vni, unsigned number, ucp_am_recv_callback_t callback);
/* Sends one that is a header alone. HEDDLE_ERR_*. */
int MPIDI_UCX_send_am(unsigned number, ucp_ep_h ep, const void *header, size_t header_bytes);
/* ---- heddle_moves.c: packs and unpacks of short messages, many at a time --------------------- */

/* A pack or an unpack: a member of what it belongs to. Buffers, types and the move itself stay
 * until `moved`. */
struct MPIDI_UCX_move {
    heddle_packing packing;                     /* no bytes: there is nothing to move */
    void (*moved)(struct MPIDI_UCX_move *move); /* called once, by moves_progress */
    int error;                                  /* HEDDLE_*; one from before: it does not begin */
    struct heddle_request *request;             /* of the first that began together */
    struct MPIDI_UCX_move *with;                /* the next of these */
    struct MPIDI_UCX_move *prev, *next;
};
void MPIDI_UCX_move_begin(int vni, struct MPIDI_UCX_move *move);
/* The same with the next progress, together with others that come until then. */
void MPIDI_UCX_move_soon(int vni, struct MPIDI_UCX_move *move);
void MPIDI_UCX_moves_progress(int vni);

/* ---- heddle_buffer.c: whose memory a buffer is ----------------------------------------------- */

/* A buffer of one call. The driver is asked once whose memory it is; the answer travels with it. */
struct MPIDI_UCX_buffer {
    MPI_Datatype datatype;
    MPI_Aint bytes; /* packed */
    bool is_contig;
    bool is_ours;            /* to move: device or managed memory */
    bool is_native;          /* UCX moves it as it is */
    int error;               /* HEDDLE_ERR_*: it could not be described */
    heddle_buffer described; /* where it is ours, or by MPIDI_UCX_describe_any */
};
/* `addr`: of the other end; null where that may be anybody. */
void MPIDI_UCX_describe(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                        const MPIDI_av_entry_t *addr, struct MPIDI_UCX_buffer *buffer);
/* The same of a buffer that libheddle moves, whatever its memory. */
void MPIDI_UCX_describe_any(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                            struct MPIDI_UCX_buffer *buffer);
/* Whether it is known to be memory that a device has. */
static inline bool MPIDI_UCX_is_of_device(const struct MPIDI_UCX_buffer *buffer)
{
    return buffer->error == HEDDLE_SUCCESS && (buffer->described.kind == HEDDLE_MEMORY_DEVICE ||
                                               buffer->described.kind == HEDDLE_MEMORY_MANAGED);
}
/* `bytes` bytes of memory to pack it into or to receive it in, for heddle_staging_free. Null: there
 * is none. */
void *MPIDI_UCX_stage(const struct MPIDI_UCX_buffer *buffer, MPI_Aint bytes);
/* Most bytes of a message to that process that is packed as a whole. */
MPI_Aint MPIDI_UCX_eager_limit(int vni, const MPIDI_av_entry_t *addr);
/* The same where the two may read each other's devices. */
MPI_Aint MPIDI_UCX_short_limit(void);
/* Asks UCX what it can take. */
void MPIDI_UCX_native_init(void);

/* ---- heddle_nic.c: whether UCX takes a NIC near the device ----------------------------------- */

/* Not 0: this process has looked. */
extern MPL_atomic_int_t MPIDI_UCX_nic_seen;
/* Looks, once, at the NICs of the endpoint that leads there, and warns of one far from `device`. */
void MPIDI_UCX_look_at_nic(const MPIDI_av_entry_t *addr, int device);

/* ---- heddle_envelope.c: envelopes that come -------------------------------------------------- */

/* An envelope that has come, and what stands in the place of one. Also a message of the same source
 * that came before it and was not received yet, if a probe met the envelope: so all that is parked
 * of a source is older than what UCX holds of it. */
struct MPIDI_UCX_envelope {
    uint64_t tag;              /* without the bit */
    int64_t bytes;             /* of the message */
    ucp_tag_message_h message; /* null: it is an envelope */
    char data[HEDDLE_ENVELOPE_BYTES];
    ucp_ep_h ep;     /* of its sender */
    int error;       /* PEER: the sender could not pack it. Or it cannot be read */
    heddle_rtr rtr;  /* for what follows it */
    bool is_matched; /* by a probe: no receive's any more but imrecv's */
    struct MPIDI_UCX_envelope *prev, *next;
};
/* Where the sender of a message takes answers, if an envelope does not say. */
ucp_ep_h MPIDI_UCX_sender_ep(int vni, MPIR_Comm *comm, uint64_t tag);
/* Reads what has come, of which `data` is filled where `error` is 0. */
void MPIDI_UCX_envelope_read(struct MPIDI_UCX_envelope *envelope, MPIR_Comm *comm, int vni,
                             const ucp_tag_recv_info_t *info);
/* Receives its message: the request is the message's from here on, and may be complete when this
 * returns. `rtr`: that was posted for the receive; null: none. */
void MPIDI_UCX_envelope_receive(MPIR_Request *rreq, const struct MPIDI_UCX_buffer *buffer, int vni,
                                const struct MPIDI_UCX_envelope *envelope, const heddle_rtr *rtr);
/* The oldest that a receive would match, and the one that a probe has returned; taken out, to be
 * freed. Null: there is none. */
struct MPIDI_UCX_envelope *MPIDI_UCX_take_parked(int vni, uint64_t ucx_tag, uint64_t tag_mask);
struct MPIDI_UCX_envelope *MPIDI_UCX_take_matched(int vni, ucp_tag_message_h handle);
void MPIDI_UCX_parked_free(int vni);

/* ---- heddle_send.c --------------------------------------------------------------------------- */

/* Returns when all that waits is UCX's. */
void MPIDI_UCX_wait_turn(int vni);
/* Sends over that endpoint end with an error. */
void MPIDI_UCX_sends_lost(int vni, ucp_ep_h ep);

/* ---- heddle_recv.c --------------------------------------------------------------------------- */

/* Receives that only that rank can match end with an error. */
void MPIDI_UCX_receives_lost(int vni, int world_rank);

/* ---- heddle_announce_in.c, heddle_win_origin.c: one-sided operations that are announced -------
 */

int MPIDI_UCX_announced_init(int vni);
/* Those that wait for an answer over that endpoint end with an error. */
void MPIDI_UCX_announced_lost(int vni, ucp_ep_h ep);
/* heddle_win_access.c: the same of those with requests that UCX carries out. */
void MPIDI_UCX_rma_lost(int vni, ucp_ep_h ep);
/* heddle_win_target.c: accumulates of which only the first half came pass, if their origins have
 * ended. */
void MPIDI_UCX_halves_lost(int vni);

/* ---- heddle_ended.c: processes of the job that have ended before their time ------------------ */

/* In MPI_Init, before anything collective: room for what is known of each rank. */
int MPIDI_UCX_ended_init(int vni);
/* Collective over MPI_COMM_WORLD: who is on which node. `watches`: the first look is now. */
int MPIDI_UCX_ended_post_init(bool watches);
void MPIDI_UCX_ended_finalize(void);
/* A poll of a VNI. Ten times a second it looks who of this node has ended: what waits for those
 * ends with an error. */
void MPIDI_UCX_look(int vni);
/* Tells a process that a rank has come to a meeting of MPI_Finalize's, or (0) has ended. Who cannot
 * be reached has. */
void MPIDI_UCX_tell(int to, int rank, uint32_t meeting);
/* MPI_Finalize has begun: who cannot be reached is left behind. And this process comes to the last
 * meeting: connections close. */
void MPIDI_UCX_begin_leaving(void);
void MPIDI_UCX_begin_closing(void);
/* The rank in the job that a connection of that VNI leads to; -1: none. */
int MPIDI_UCX_rank_of(const void *ep, int vni);
/* UCX says of a message to that endpoint how it ended. HEDDLE_ERR_*: LOST if its process has ended,
 * or the connection to it has. */
int MPIDI_UCX_error_of(int vni, ucp_ep_h ep, ucs_status_t status);
/* The same of what was read out of its process, whose memory goes before it has ended: waits for
 * that. */
int MPIDI_UCX_read_error_of(int vni, ucp_ep_h ep, ucs_status_t status);
/* The same. Where the connection failed, all else that goes there fails soon, too. */
void MPIDI_UCX_note_status(int vni, ucp_ep_h ep, ucs_status_t status);
/* Whether it has said so. */
bool MPIDI_UCX_has_come(int rank, uint32_t meeting);
/* It has ended, and all that it sent to that VNI has been seen there. */
bool MPIDI_UCX_is_silent(int rank, int vni);

/* ---- heddle_coll_request.c ------------------------------------------------------------------- */

/* Direct collectives that do not block make progress from now on. False: they cannot. */
bool MPIDI_UCX_coll_init(void);
void MPIDI_UCX_coll_finalize(void);

/* ---- heddle_segment.c: what members of a communicator in one node share ---------------------- */

/* Whether MPICH knows all members to be in one node, and there are several. */
bool MPIDI_UCX_is_in_one_node(const MPIR_Comm *comm);
/* Collective. `*some`: `mine` at one member at least, and nobody refuses. `*shares`: all are in one
 * node, and can share memory. */
int MPIDI_UCX_agree(MPIR_Comm *comm, bool mine, bool refuses, bool *some, bool *shares);
/* Collective. The first member makes the segment, the others open it. Null at all of them where one
 * cannot. */
int MPIDI_UCX_share_segment(MPIR_Comm *comm, int64_t bytes, heddle_shared **segment);
/* Both, begun: the members agree, and make a segment if it is wanted. Called by all in the same
 * order of nonblocking collectives, of which it is one. */
struct MPIDI_UCX_sharing;
int MPIDI_UCX_share_begin(MPIR_Comm *comm, bool mine, bool refuses, int64_t bytes,
                          struct MPIDI_UCX_sharing **sharing);
/* Whether it has ended; `*sharing` is null then, and `*segment` where there is none. */
bool MPIDI_UCX_share_test(struct MPIDI_UCX_sharing **sharing, heddle_shared **segment,
                          int *mpi_errno);
/* MPI's error of a member that has ended before its time (MPIDI_UCX_member_has_ended). */
int MPIDI_UCX_member_error(int rank);

#endif /* HEDDLE_INTERNAL_H_INCLUDED */
