/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages between processes, from memory of any kind to memory of any kind.
 *
 * UNSTABLE until Heddle 1.0: functions, structs and the wire format change without notice. heddle.h
 * is stable.
 *
 * A *port* holds the messages of one progress context. The caller brings a *transport*, which moves
 * host memory. The caller also does the matching. For each message it sends an *envelope* of 64
 * bytes in the order of its other messages. It hands each envelope that meets a receive to
 * heddle_message_receive. Everything else travels as *headers*, some with a chunk of data behind
 * them, which the transport brings to the other end's port.
 *
 * A message takes one of these paths (docs/design.md, section 6):
 *
 * - rendezvous: the receiver answers the envelope. Data comes in chunks: by value over the
 *   transport, through host memory that both ends map, or out of the sender's device memory.
 * - get: eager. The receiver reads the sender's buffer where it lies. If it misses a time-out, the
 *   sender copies the data to the host, and pushes them.
 * - put: the receiver has said where its buffer is (an RTR, ready to receive). The sender writes
 *   there.
 * - self: the receiver is this same port. One move goes from buffer to buffer.
 *
 * Conventions. Sizes, offsets and counts are in bytes unless a comment says otherwise. Functions
 * return HEDDLE_SUCCESS or one of HEDDLE_ERR_* (heddle.h); heddle_error_detail tells more of
 * DEVICE. Pointers that a function takes stay the caller's, and need to live for the call alone,
 * unless a comment says otherwise. A struct that may grow begins with `size`: the caller sets it to
 * the struct's sizeof, and the library reads and writes no further. With another size a function
 * returns ARG.
 *
 * Threads. The calls on one port must come one after the other. Different ports may be used by
 * different threads at the same time. No call waits for a device or for the other end, with two
 * exceptions. heddle_message_start waits up to 2 us for an RTR; heddle_port_progress waits for a
 * device that has failed.
 *
 * Staging memory is limited. A sender takes some only once its message was matched (but for what is
 * packed early, see heddle_port_options), a receiver before it asks for data. Both wait their turn,
 * and always get some in the end.
 */
#ifndef HEDDLE_MESSAGE_H
#define HEDDLE_MESSAGE_H

#include "heddle.h"

#include <stddef.h>

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct heddle_port heddle_port;

enum {
    HEDDLE_ENVELOPE_BYTES = 64, /* exactly */
    HEDDLE_HEADER_BYTES = 192   /* at most */
};

/* ---- ports ----------------------------------------------------------------------------------- */

/* What a transport must be able to do. */
typedef struct heddle_transport {
    size_t size;
    void *context; /* the caller's, for `send` */
    /* Sends `header`, and, if `bytes` is not 0, the host memory at `data`. `peer` is what the
     * caller named the other end of the message with. `header` may go once the call returns; `data`
     * must stay. Returns HEDDLE_SUCCESS with `*done` 1 if nothing of it is needed any more. If it
     * leaves `*done` at 0, the transport must later call heddle_port_done with `token`. Any other
     * result: not sent, and `token` is void. Headers and envelopes from one port to one peer must
     * be met in the order in which they were sent; chunks may overtake each other. Must not call
     * the port. */
    int (*send)(void *context, void *peer, const void *header, size_t header_bytes,
                const void *data, size_t bytes, void *token, int *done);
} heddle_transport;

/* Where chunks may stay between processes of one node. Each of two ports may rule something out. */
enum heddle_peer {
    HEDDLE_PEER_DEFAULT,  /* HEDDLE_PEER says */
    HEDDLE_PEER_AUTO,     /* the fastest that both ends can */
    HEDDLE_PEER_VALUE,    /* they travel over the transport; always possible */
    HEDDLE_PEER_SHARED,   /* or in host memory that both ends map */
    HEDDLE_PEER_REFERENCE /* or on the sender's device; as AUTO */
};

/* A zero stands for what the environment says; a null pointer for zeros. */
typedef struct heddle_port_options {
    size_t size;
    int64_t chunk; /* most bytes of a chunk that travels; one on a device may have 16 times as many.
                    * A power of two from 4096 to 2^30. HEDDLE_MESSAGE_CHUNK, otherwise what the
                    * table of HEDDLE_TUNING says, or 1 MiB */
    int64_t window; /* most chunks of a message on their way. HEDDLE_MESSAGE_WINDOW, otherwise 8, or
                     * more where the table of HEDDLE_TUNING has a link of high latency */
    int64_t staging; /* most bytes of staging memory for receives, and for sends of each mode; half
                      * as many more for what is packed early. A message that holds none always gets
                      * one block. HEDDLE_MESSAGE_STAGING, otherwise half of HEDDLE_SLAB_LIMIT */
    int peer;        /* enum heddle_peer. HEDDLE_PEER, otherwise AUTO */
    uint32_t number; /* stands in this port's envelopes: where to answer. Below 65536 */
    int64_t timeout; /* microseconds that a get waits for its receiver, counted from the first
                      * progress after it. HEDDLE_MESSAGE_TIMEOUT, otherwise 30 */
} heddle_port_options;

/* Makes a port. `*port` is the caller's, to be destroyed. Errors: ARG, NO_MEMORY. */
HEDDLE_API int heddle_port_create(const heddle_transport *transport,
                                  const heddle_port_options *options, heddle_port **port);
/* Ends what still runs with PEER, here and at the other ends that have answered. Waits for devices,
 * and up to a second for a sender that writes to a receive's buffer (put). A receiver may still
 * read device memory of a message that is not answered: the caller must know that it does not. The
 * transport must have let go of all memory of this port and of the messages' buffers. If it can
 * send nothing any more, call heddle_port_lost before. Null is ignored. */
HEDDLE_API void heddle_port_destroy(heddle_port *port);

/* Moves messages on, and calls the `ended` of those that have ended. `*events` (may be null): how
 * many steps were taken. Errors: ARG. */
HEDDLE_API int heddle_port_progress(heddle_port *port, int *events);
/* Points to 0 while heddle_port_progress has nothing to do. Lives as long as the port. */
HEDDLE_API const int *heddle_port_active(const heddle_port *port);

/* What its messages may use within a node: one of enum heddle_peer but DEFAULT. */
HEDDLE_API int heddle_port_peer_mode(const heddle_port *port);

/* ---- what the transport reports -------------------------------------------------------------- */

/* None of these calls an `ended`. */

/* The send of `token` is over, or the bytes of `token` (heddle_port_place) are where they belong.
 * `error`: HEDDLE_SUCCESS, or why it failed, or they will not come (best PEER). `token` is void
 * then. A null `token` is ignored. */
HEDDLE_API void heddle_port_done(heddle_port *port, void *token, int error);
/* A header came, with its `bytes` bytes at `data`, both valid during the call. Errors: FORMAT or
 * VERSION, if it is not a header of this version and nothing happened, or if it contradicts what
 * its message knows, which fails then. A header of a message that has ended is no error. */
HEDDLE_API int heddle_port_arrived(heddle_port *port, const void *header, size_t header_bytes,
                                   const void *data, size_t bytes);
/* A header came whose `bytes` bytes the transport can still put anywhere in host memory. `*where`:
 * where they belong; null: drop them. If it is not null, call heddle_port_done with `*token` once
 * they are there, or will not come. Errors: as heddle_port_arrived. */
HEDDLE_API int heddle_port_place(heddle_port *port, const void *header, size_t header_bytes,
                                 size_t bytes, void **where, void **token);
/* Whom the bytes of `token` (heddle_port_place) come from; null: nobody waits for them. */
HEDDLE_API const void *heddle_port_peer(heddle_port *port, const void *token);
/* `peer` is gone, or, if it is null, all peers are. Their messages end with `error`, and nothing is
 * sent to them. With LOST, their processes have ended, and the transport has delivered all that
 * they sent; then memory that the transport still has for them comes back. The transport may call
 * this while it sends, too: then the next progress ends the messages. */
HEDDLE_API void heddle_port_lost(heddle_port *port, const void *peer, int error);

/* ---- processes ------------------------------------------------------------------------------- */

/* A process, as others of its node know it. Never grows: processes send it to each other. */
typedef struct heddle_process {
    uint64_t node; /* 0: not known */
    uint64_t name; /* no other process has the same */
} heddle_process;
/* The calling process. */
HEDDLE_API void heddle_process_self(heddle_process *self);
/* `*ended`: 1 if a process of this node has ended. 0 if it lives, or if that cannot be seen, as of
 * other nodes. Takes a microsecond. The first call should come while it lives. Closes the memory
 * that is open of a process that has ended. Errors: ARG, NO_MEMORY. */
HEDDLE_API int heddle_process_ended(const heddle_process *process, int *ended);

/* ---- buffers --------------------------------------------------------------------------------- */

/* A description of a buffer: made once for each call, and handed on, so that the driver is asked
 * once whose memory it is. Valid while the memory and the type are. May be copied. */
typedef struct heddle_buffer {
    size_t size;
    int64_t bytes;         /* packed */
    int kind;              /* enum heddle_memory_kind, of its first byte; of absolute addresses, of
                            * the first that a device has */
    int device;            /* that it is on; -1: none */
    int dense;             /* 1: one run of bytes */
    int reserved;          /* 0 */
    uint64_t internal[16]; /* the library's */
} heddle_buffer;
/* Describes the first `bytes` packed bytes of `side`. Errors: as heddle_transfer. */
HEDDLE_API int heddle_buffer_describe(const heddle_side *side, int64_t bytes,
                                      heddle_buffer *buffer);

/* Staging memory to pack a buffer into, or to unpack it from: `bytes` bytes near it, or, if
 * `buffer` is null, ordinary memory. For heddle_staging_free. Asks no driver. Errors: as
 * heddle_staging_alloc. */
HEDDLE_API int heddle_buffer_stage(const heddle_buffer *buffer, int64_t bytes, void **staging);

/* ---- memory of other processes -----------------------------------------------------------------
 */

/* How the processes of a node open device memory of another one. Plain bytes, to be sent to them.
 * Never grows. */
typedef struct heddle_exported {
    uint64_t internal[16]; /* the library's */
} heddle_exported;
/* Lets others open the `bytes` bytes of device memory at `at`, for as long as its allocation lives.
 * Errors: ARG; BUFFER (it is no device memory that can be opened, or HEDDLE_PEER forbids it). */
HEDDLE_API int heddle_export(const void *at, int64_t bytes, heddle_exported *exported);

/* Device memory of the library's that others can open: to pack into. It comes out of few large
 * allocations, which stay until the process ends. Never grows. */
typedef struct heddle_piece {
    void *at;
    uint64_t allocation; /* that it lies in: a number of this process, from 1 on */
    int64_t offset;      /* within that */
    heddle_exported exported;
    uint64_t internal[2]; /* the library's */
} heddle_piece;
/* A piece of `bytes` bytes of the device that `near` lies on. It is the caller's, for
 * heddle_piece_give_back. Errors: ARG; BUFFER (`near` is no device's, or memory of that device
 * cannot be opened, or HEDDLE_PEER forbids it); NO_MEMORY (HEDDLE_SLAB_LIMIT is reached). */
HEDDLE_API int heddle_piece_take(int64_t bytes, const void *near, heddle_piece *piece);
/* Nobody may use it any more. */
HEDDLE_API void heddle_piece_give_back(const heddle_piece *piece);

typedef struct heddle_import heddle_import;
/* Opens another process's memory for the device that `near` lies on, a buffer in this process.
 * Null, or host memory: for a device that is in use. Takes 0.1 ms the first time; then it is kept
 * open, up to HEDDLE_MESSAGE_OPEN allocations. `*import` is the caller's, for
 * heddle_import_release. Errors: ARG; FORMAT; RANGE (it has not so many bytes); NO_DEVICE; BUFFER
 * (none of that process's could be opened before); NO_MEMORY, DEVICE. */
HEDDLE_API int heddle_import_open(const heddle_exported *exported, const heddle_buffer *near,
                                  heddle_import **import);
/* Where the memory begins, in this process. */
HEDDLE_API void *heddle_import_address(const heddle_import *import);
/* Nothing may move there any more. Null is ignored. */
HEDDLE_API void heddle_import_release(heddle_import *import);

/* Host memory that processes of a node share. */
typedef struct heddle_shared heddle_shared;
/* By which another process finds it. Plain bytes, to be sent to it. Never grows. */
typedef struct heddle_shared_name {
    uint64_t internal[4]; /* the library's */
} heddle_shared_name;
/* `bytes` new bytes, all zeros. `*shared` is the caller's, for heddle_shared_close. Others can open
 * it until heddle_shared_opened. Errors: ARG, NO_MEMORY, DEVICE (there is no such memory here). */
HEDDLE_API int heddle_shared_make(int64_t bytes, heddle_shared_name *name, heddle_shared **shared);
/* What another process made. Errors: ARG; FORMAT (it cannot be seen); NO_MEMORY, DEVICE. */
HEDDLE_API int heddle_shared_open(const heddle_shared_name *name, heddle_shared **shared);
/* All who want it have opened it: gives back a file descriptor. */
HEDDLE_API void heddle_shared_opened(heddle_shared *shared);
HEDDLE_API void *heddle_shared_address(const heddle_shared *shared);
/* Null is ignored. */
HEDDLE_API void heddle_shared_close(heddle_shared *shared);

/* How another process's memory was reached. */
enum heddle_access {
    HEDDLE_ACCESS_BY_MESSAGE, /* in a message that was copied whole */
    HEDDLE_ACCESS_DIRECT,     /* it was opened; the others: that process took part */
    HEDDLE_ACCESS_IN_CHUNKS   /* as the data of a message between ports */
};
/* Counts one for heddle_counter_read. */
HEDDLE_API void heddle_access_count(int access, int64_t bytes);
/* How a collective on device memory goes. */
enum heddle_collective_way {
    HEDDLE_COLLECTIVE_BY_MESSAGE,
    HEDDLE_COLLECTIVE_DIRECT,     /* straight between the buffers */
    HEDDLE_COLLECTIVE_BY_CHANNEL, /* by persistent messages, one for each edge */
    HEDDLE_COLLECTIVE_PACKED /* straight, of what this process packed first; counts as direct */
};
/* The same of such a one, with the bytes that this process receives; HEDDLE_LOG prints it, with
 * `name` and `reason`. */
HEDDLE_API void heddle_collective_count(const char *name, int way, int64_t bytes,
                                        const char *reason);

/* ---- affinity -------------------------------------------------------------------------------- */

/* The NUMA node that a device hangs on, by the system's number. -1: it is not known, there is no
 * such device, or the user wants no warnings (HEDDLE_AFFINITY=0). The first call may take
 * milliseconds. */
HEDDLE_API int heddle_affinity_node(int device);
/* Warns on the standard error output: messages of `device` go by the NIC `nic`, on another NUMA
 * node, `node`, while `near_ones` are on the device's own. These are separated by commas, as
 * UCX_NET_DEVICES takes them. Each call warns, whatever HEDDLE_AFFINITY says. Ignored if a name is
 * null, or there is no such device. */
HEDDLE_API void heddle_affinity_far_nic(int device, const char *nic, int node,
                                        const char *near_ones);

/* ---- packing ------------------------------------------------------------------------------------
 */

/* A move of the first `bytes` bytes of a described buffer to or from something else. */
typedef struct heddle_packing {
    const heddle_buffer *buffer;
    void *staging; /* of heddle_buffer_stage, of at least so many bytes; null: `remote` */
    int64_t bytes;
    int unpacks; /* 0: from the buffer; 1: into it */
    heddle_side remote;
    const heddle_import *import; /* that `remote` lies in; null: this process's own memory */
    const heddle_side *side;     /* moved in the place of the buffer's own beginning: best of the
                                  * buffer's allocation, for then no driver is asked; may be null */
} heddle_packing;
/* As heddle_transfer_begin, but asks no driver whose memory it is. The descriptions may go once
 * this returns; the types and the imports must stay until the request has ended. */
HEDDLE_API int heddle_packing_begin(const heddle_packing *packings, int64_t n,
                                    heddle_request **request);

/* ---- reductions of several processes' vectors ------------------------------------------------ */

/* A dense vector, in another process's memory (`import`) or in this one's (null). */
typedef struct heddle_operand {
    const void *at;
    const heddle_import *import;
} heddle_operand;
/* The same of one that is written. */
typedef struct heddle_target {
    void *at;
    const heddle_import *import;
} heddle_target;
/* The vectors, combined element by element in their order: ((first op second) op third) and so on.
 * All have `bytes` bytes of `basic`, at addresses that are multiples of its alignment. */
typedef struct heddle_fold {
    size_t size;
    const heddle_operand *from;
    int64_t n;                 /* of them, 1 to HEDDLE_FOLD_MOST */
    const heddle_target *to;   /* the result is written to each; each may be one of the vectors, and
                                  must not meet them otherwise */
    int64_t n_to;              /* of them, 1 to HEDDLE_FOLD_MOST */
    const heddle_buffer *near; /* its device combines; no driver is asked about memory in it */
    int64_t bytes;
    heddle_op op;
    heddle_predefined basic;
} heddle_fold;
enum { HEDDLE_FOLD_MOST = 64 };
/* Returns when it is done. Errors: ARG, COUNT, OP, RANGE, BUFFER, NO_MEMORY, DEVICE. After the last
 * two the targets' content is undefined. */
HEDDLE_API int heddle_fold_run(const heddle_fold *fold);
/* Begins that, as heddle_transfer_begin does. The description may go once this returns; the imports
 * must stay until the request has ended. What no device combines at once is done when this returns.
 */
HEDDLE_API int heddle_fold_begin(const heddle_fold *fold, heddle_request **request);

/* ---- sending --------------------------------------------------------------------------------- */

/* Called once for each message, by heddle_port_progress or heddle_port_destroy, when the message
 * has ended and its buffer is the caller's again. `bytes`: how many were received, or sent for the
 * receiver to have. A receive that is shorter than the message ends with TRUNCATE after its bytes
 * came. It may begin other messages. */
typedef void (*heddle_message_ended)(void *argument, int error, int64_t bytes);

enum heddle_message_flag {
    HEDDLE_MESSAGE_BLOCKING = 1,    /* the caller makes progress until the message has ended, and so
                                     * after the next one: its receiver may post an RTR */
    HEDDLE_MESSAGE_NODE = 2,        /* the receiver is on this node */
    HEDDLE_MESSAGE_SELF = 4,        /* the receiver is this same port */
    HEDDLE_MESSAGE_SYNCHRONOUS = 8, /* the sender may have to wait for the receiver */
    HEDDLE_MESSAGE_QUEUED = 16,     /* the envelope cannot go out at once */
    HEDDLE_MESSAGE_NATIVE = 32,     /* the transport's owner can send this buffer as it is */
    HEDDLE_MESSAGE_PERSISTENT = 64  /* the caller begins such messages again and again, and makes
                                     * progress until each has ended: its receiver may post an RTR
                                     * for the next one */
};

typedef struct heddle_message_description {
    size_t size;
    void *peer;                /* the other end, for the transport */
    const heddle_buffer *from; /* the memory stays until the message has ended; the type need not */
    uint64_t key;              /* for heddle_port_unmatched */
    int flags;                 /* of enum heddle_message_flag */
    int64_t eager_limit; /* a message of up to so many bytes must not wait for its receiver, and
                          * is packed by the caller if need be; 0: each may wait */
    uint64_t previous;   /* the message before it, if that is the last sent to `peer` which a
                          * receive of this one could have matched; 0: none, or another */
    heddle_message_ended ended;
    void *argument; /* for `ended` */
} heddle_message_description;

/* How a message goes. */
enum heddle_message_path {
    HEDDLE_PATH_PACK,   /* nothing has begun: the caller packs it, and sends it whole */
    HEDDLE_PATH_NATIVE, /* nothing has begun: the caller sends the buffer as it is */
    HEDDLE_PATH_PUT,    /* the others have begun, and are sent as an envelope */
    HEDDLE_PATH_GET,
    HEDDLE_PATH_SELF,
    HEDDLE_PATH_RENDEZVOUS
};

typedef struct heddle_message_result {
    size_t size;
    int path;           /* enum heddle_message_path */
    const char *reason; /* why, in a few words; lives for ever */
    uint64_t message;   /* its name, for heddle_message_abandon and `previous` */
    unsigned char envelope[HEDDLE_ENVELOPE_BYTES];
} heddle_message_result;

/* Begins a message, and chooses its path. HEDDLE_LOG=policy prints each choice. For the paths PUT
 * and later the caller sends `result->envelope` to the peer. Only a sender that goes on to make
 * progress should accept a put, for its receiver cannot have the data before. A get that nobody has
 * read in time ends once its data are copied, matched or not. Errors: as heddle_transfer_begin;
 * nothing has begun then. */
HEDDLE_API int heddle_message_start(heddle_port *port,
                                    const heddle_message_description *description,
                                    heddle_message_result *result);
/* The envelope of `message` was not sent, or so the transport says. The message ends with `error`
 * (0: PEER), unless its caller was told already. Whoever received the envelope nevertheless is told
 * that it failed. Errors: RANGE if it was answered, or has ended. */
HEDDLE_API int heddle_message_abandon(heddle_port *port, uint64_t message, int error);

/* A message whose receiver has not answered. */
typedef struct heddle_unmatched {
    size_t size;
    uint64_t message; /* for heddle_message_abandon */
    void *peer;
    uint64_t key;
    int64_t bytes;
} heddle_unmatched;
/* The oldest such message that its caller still waits for. Errors: ARG; RANGE if there is none. */
HEDDLE_API int heddle_port_unmatched(heddle_port *port, heddle_unmatched *oldest);

/* Bytes of each chunk but the last, of a message of `bytes` bytes that goes by value between ports
 * of two nodes, made with zeros as options. At least `bytes` if it goes whole. */
HEDDLE_API int64_t heddle_message_chunk(int64_t bytes);

/* Most bytes of a message by value that comes sooner packed as a whole than in chunks: by the table
 * of HEDDLE_TUNING, or 131072. */
HEDDLE_API int64_t heddle_message_whole(void);

/* Counts a message that its caller packed (`received` 0) or unpacked (1) whole,
 * for heddle_counter_read. */
HEDDLE_API void heddle_message_count_whole(int received, int64_t bytes);

/* ---- receiving ------------------------------------------------------------------------------- */

/* What an RTR (ready to receive) is about. It tells a sender where it may put its next message. */
typedef struct heddle_rtr {
    uint64_t sender; /* its process; 0: it would use none */
    uint64_t after;  /* the message before that one, by its sender's name for it */
} heddle_rtr;

/* What an envelope says. */
typedef struct heddle_envelope_info {
    size_t size;
    int64_t bytes;   /* of the message */
    uint32_t number; /* of the sender's port */
    heddle_rtr next; /* for the message that is sent after it */
} heddle_envelope_info;
/* Errors: ARG, FORMAT, VERSION. */
HEDDLE_API int heddle_envelope_read(const void *envelope, heddle_envelope_info *info);

/* The envelope's message, or as many bytes of it as fit, comes to the buffer `to`. `rtr`: which was
 * posted for this receive, and is used up; null: none. Errors: ARG, FORMAT, VERSION, and as
 * heddle_transfer_begin. With an error nothing has begun, and the sender still waits (for
 * heddle_message_refuse, if the envelope is one); an RTR that is in use stays so. */
HEDDLE_API int heddle_message_receive(heddle_port *port, void *peer, const void *envelope,
                                      const heddle_buffer *to, const heddle_rtr *rtr,
                                      heddle_message_ended ended, void *argument);
/* Nobody takes the envelope's message. It ends at its sender: with success if `error` is 0, else
 * with PEER. So it does if the envelope is damaged or of another version, as far as the message's
 * name is right. Errors: ARG, and the transport's. */
HEDDLE_API int heddle_message_refuse(heddle_port *port, void *peer, const void *envelope,
                                     int error);

/* Posts `rtr` for the buffer `to` of a receive, in device memory: dense, or of a type that is short
 * once it is flattened. Only this receive may be able to match the message
 * that the sender sends after `rtr->after`, and that one must have been received. The sender must
 * send nothing between the two that this receive could match. `*posted` 0: nothing has happened,
 * for the sender could not use it. Otherwise the buffer may be written until the RTR is withdrawn,
 * or the receive has ended. If the sender is lost meanwhile, the receive's end waits for it up to a
 * second. Errors: ARG. */
HEDDLE_API int heddle_rtr_post(heddle_port *port, const heddle_rtr *rtr, const heddle_buffer *to,
                               int *posted);
/* Withdraws it, for a receive that is not to match anything any more. `*in_use` 1: the message is
 * on its way, and the receive must stay. Errors: ARG. */
HEDDLE_API int heddle_rtr_withdraw(const heddle_rtr *rtr, int *in_use);
/* Ends it, for a receive that has ended without an envelope that fits. The buffer is its owner's
 * when this returns. If a sender writes there, the call waits for it: up to a second for one that
 * may be lost. Errors: ARG. */
HEDDLE_API int heddle_rtr_end(const heddle_rtr *rtr);

#if defined(__cplusplus)
}
#endif

#endif
