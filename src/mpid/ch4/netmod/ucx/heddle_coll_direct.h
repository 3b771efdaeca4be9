/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Direct collectives: collectives on device memory of one node go straight between the members'
 * buffers, blocking, nonblocking and persistent ones by the same steps.
 * src/mpi/coll/include/heddle_direct_coll.h is what MPICH's files see.
 *
 * The members share a segment of host memory, with a part for each. A part has several slots, for
 * the calls that are under way, in turn. A call is:
 *
 * 1. Each member waits for its slot: all must have left the call that had it before. Then it writes
 *    a record there: where the memory is that it sends, how it is laid out, and whether the call
 *    can go directly, as far as it knows. Data with wide gaps it packs before.
 * 2. They meet: each waits until all have come. Then all look at all records, and so decide alike.
 *    If somebody cannot, the call goes its usual way.
 * 3. Each member opens what it needs, and moves or combines it in few launches.
 * 4. They meet again. Each looks at what the others say of step 3: if somebody could not open
 *    memory, nothing that is sent has been touched, and the call goes its usual way, as all later
 *    ones do.
 *
 * Each step is a function that says what the call waits for, and which step is next. Who has to
 * wait makes all progress; a nonblocking call goes on in MPICH's progress hook. If a member has
 * ended, the call ends with MPIX_ERR_PROC_FAILED.
 *
 * Calls have one order on all members, which numbers them: so they agree on slots, however their
 * ends are mixed. Persistent calls may be started in any order, so each has a segment of its own.
 *
 * Persistent collectives of neighbours go by messages instead (heddle_coll_channels.c).
 */
#ifndef HEDDLE_COLL_DIRECT_H_INCLUDED
#define HEDDLE_COLL_DIRECT_H_INCLUDED

#include "heddle_internal.h"

/* More members than these go the usual way; and types that take more bytes to be told. */
#define MPIDI_UCX_COLL_MOST 64
#define MPIDI_UCX_COLL_TYPE 384
/* Most meetings of a call, beyond the first. */
#define MPIDI_UCX_COLL_STEPS 2
/* What is counted of a call: its meetings, and that it has been left. */
#define MPIDI_UCX_COLL_MEETINGS (MPIDI_UCX_COLL_STEPS + 2)

/* ---- the segment ----------------------------------------------------------------------------- */

/* What one member sends to another. */
struct MPIDI_UCX_block {
    int64_t shift; /* of its buffer, from where the exported memory begins */
    int64_t count; /* instances of `type` */
    int64_t bytes; /* packed */
    int64_t flat;  /* bytes of `type`, as heddle_flatten writes it; 0: it is HEDDLE_BYTE */
    char type[MPIDI_UCX_COLL_TYPE];
};

/* Why a call goes its usual way. */
enum MPIDI_UCX_why_not {
    MPIDI_UCX_COLL_CAN,
    MPIDI_UCX_COLL_HOST,     /* what a member sends is in host memory */
    MPIDI_UCX_COLL_CLOSED,   /* others cannot open a member's memory */
    MPIDI_UCX_COLL_LONG,     /* a type is too long to be told */
    MPIDI_UCX_COLL_OPERATOR, /* no device combines these */
    MPIDI_UCX_COLL_IN_PLACE, /* a member overwrites what others read, and cannot pack it before */
    MPIDI_UCX_COLL_RESULT,   /* no device memory to combine in */
    MPIDI_UCX_COLL_UNUSABLE  /* a member could not open memory in an earlier call */
};

/* How a member's part went; the later, the worse. */
enum MPIDI_UCX_outcome {
    MPIDI_UCX_COLL_DONE,
    MPIDI_UCX_COLL_FAILED,
    MPIDI_UCX_COLL_UNOPENED /* nothing was done, for want of another's memory */
};

struct MPIDI_UCX_record {
    uint32_t why_not;       /* enum MPIDI_UCX_why_not */
    bool on_device;         /* a buffer is a device's */
    MPIR_Errflag_t errflag; /* the caller's, from before */
    bool is_in_place;       /* of reductions: what it sends is what it receives in */
    MPL_atomic_int_t outcome[MPIDI_UCX_COLL_STEPS];
    heddle_exported sent;   /* spans all blocks */
    bool is_result_open;    /* of reductions: others can open the result */
    heddle_exported result; /* and where that is */
    uint32_t blocks;        /* 0: it sends nothing; 1: the same to all; else one for each member */
    struct MPIDI_UCX_block block[];
};

/* Of a member's part. */
struct MPIDI_UCX_slot {
    /* How often the member has come to a meeting, or left, in all calls of this slot. */
    _Alignas(64) MPL_atomic_uint64_t came;
    _Alignas(64) char record[];
};

/* ---- a communicator, or a persistent call ---------------------------------------------------- */

/* What another member's last type was, and is here. */
struct MPIDI_UCX_known_type {
    int64_t flat;
    char bytes[MPIDI_UCX_COLL_TYPE];
    struct heddle_type *type;
};

/* This process's end. */
struct MPIDI_UCX_coll {
    struct MPIDI_UCX_sharing *sharing; /* null: the segment is made, or will never be */
    heddle_shared *segment;            /* null: there is none */
    int mpi_errno;                     /* of making it */
    char *parts;
    size_t slot_bytes, part_bytes;
    unsigned members, slots;
    uint64_t calls;   /* that have begun */
    bool is_unusable; /* a member could not open memory */
    bool is_closed;   /* nor in the last call that needed that, or nobody could */
    struct MPIDI_UCX_known_type known[];
};

/* ---- a call ---------------------------------------------------------------------------------- */

enum MPIDI_UCX_coll_waits {
    MPIDI_UCX_WAITS_FOR_SEGMENT,
    MPIDI_UCX_WAITS_FOR_MEMBERS, /* to come, or to leave the slot's last call */
    MPIDI_UCX_WAITS_FOR_WORK,    /* its own, on devices */
    MPIDI_UCX_WAITS_FOR_CHANNELS /* that it has started */
};

enum MPIDI_UCX_coll_state {
    MPIDI_UCX_UNDER_WAY,
    MPIDI_UCX_DECLINED, /* it goes its usual way */
    MPIDI_UCX_OVER
};

struct MPIDI_UCX_coll_call;
typedef void (*MPIDI_UCX_coll_step)(struct MPIDI_UCX_coll_call *call);

struct MPIDI_UCX_coll_call {
    /* What it is, for each start. */
    const char *name;
    MPIR_Comm *comm;
    struct MPIDI_UCX_coll *coll;    /* null: it goes by channels */
    enum MPIDI_UCX_why_not why_not; /* as far as is known before */
    bool is_blocking;
    MPIR_Errflag_t errflag;      /* of a blocking call, from before */
    MPIDI_UCX_coll_step tell;    /* completes this member's record; ends with coll_told */
    MPIDI_UCX_coll_step decided; /* all go directly; the step decides no more */
    MPIDI_UCX_coll_step release; /* what it has open, at its end; and its types */
    MPIDI_UCX_coll_step forget;  /* what it keeps from start to start */
    int64_t bytes;               /* that this member receives */

    /* How far it is. */
    enum MPIDI_UCX_coll_state state;
    enum MPIDI_UCX_coll_waits waits_for;
    MPIDI_UCX_coll_step then; /* when that has come */
    uint64_t number;
    uint64_t expected;           /* of all members' `came` */
    int come;                    /* all members before this one have */
    struct heddle_request *work; /* null: it has ended */
    struct MPIDI_UCX_record *own;
    int step;                   /* meetings after the first */
    MPIR_Errflag_t any_errflag; /* the worst of all members' from before */
    bool is_in_place;           /* at any member */
    bool is_packed;             /* what this member sends was packed before */
    bool is_unopened;           /* this member could not open another's memory */
    bool is_written;            /* from here on others write to this member's buffer */
    MPIR_Errflag_t wrong;       /* other members' failures make it so */
    int error;                  /* MPI's, of this member's part */

    /* Of one that does not block (heddle_coll_request.c). */
    struct MPIR_Direct_usual usual;
    MPIR_Request *request;                   /* null: it is not started */
    MPIR_Request *inner;                     /* of its usual way */
    struct MPIDI_UCX_coll_call *prev, *next; /* of those under way */
};

/* ---- heddle_coll_make.c: segments ------------------------------------------------------------ */

/* What the next call of a communicator goes by; null: its usual way. Every call asks once. */
struct MPIDI_UCX_coll *MPIDI_UCX_coll_of(MPIR_Comm *comm);
/* A segment for a persistent call. Collective, and blocks; null: there is none. */
struct MPIDI_UCX_coll *MPIDI_UCX_coll_of_persistent(MPIR_Comm *comm);
/* Whether its segment has been made, or will never be. */
bool MPIDI_UCX_coll_is_made(struct MPIDI_UCX_coll *coll);
/* Devices have images of types that others sent. */
void MPIDI_UCX_coll_forget_types(struct MPIDI_UCX_coll *coll);
void MPIDI_UCX_coll_close(struct MPIDI_UCX_coll *coll);

/* ---- heddle_coll_meet.c: steps --------------------------------------------------------------- */

struct MPIDI_UCX_record *MPIDI_UCX_coll_record(const struct MPIDI_UCX_coll_call *call, int rank);
/* Takes the next place in the order of calls. */
void MPIDI_UCX_coll_take_place(struct MPIDI_UCX_coll_call *call);
/* Goes on as far as it can. False: it is still under way. */
bool MPIDI_UCX_coll_poll(struct MPIDI_UCX_coll_call *call);
/* A step of this member's failed: HEDDLE_*. The first failure is the one that is told. */
void MPIDI_UCX_coll_fail(struct MPIDI_UCX_coll_call *call, int error);

/* The end of a step: what is next once what it began, as far as it did, has ended. */
void MPIDI_UCX_coll_await_work(struct MPIDI_UCX_coll_call *call, int error,
                               struct heddle_request *work, MPIDI_UCX_coll_step then);
/* Or nothing, for the call goes its usual way, as all members know; */
void MPIDI_UCX_coll_decline(struct MPIDI_UCX_coll_call *call);
/* or once all know how this member's part went so far; */
void MPIDI_UCX_coll_agree(struct MPIDI_UCX_coll_call *call, MPIDI_UCX_coll_step then);
/* the worst outcome, in the next step. */
enum MPIDI_UCX_outcome MPIDI_UCX_coll_worst(const struct MPIDI_UCX_coll_call *call);
/* Or nothing, for the call is over, unless memory could not be opened. `shared`: any member's
 * failure is this one's. */
void MPIDI_UCX_coll_end(struct MPIDI_UCX_coll_call *call, enum MPIDI_UCX_outcome worst,
                        bool shared);

/* ---- heddle_coll_request.c: calls that block, and those that do not -------------------------- */

/* Begins the description of a call whose first members are as in `what`: at `place`, or in memory
 * that stays, of so many bytes, where it does not block. Null: it goes its usual way. */
void *MPIDI_UCX_coll_begin(const struct MPIDI_UCX_coll_call *what,
                           const struct MPIR_Direct_ends *ends, void *place, size_t bytes);
/* Its end. What MPICH's file is answered. */
int MPIDI_UCX_coll_go(struct MPIDI_UCX_coll_call *call, const struct MPIR_Direct_ends *ends);

/* ---- heddle_coll_channels.c: neighbours ------------------------------------------------------ */

void MPIDI_UCX_channels_start(struct MPIDI_UCX_coll_call *call);
bool MPIDI_UCX_channels_are_over(struct MPIDI_UCX_coll_call *call);

/* ---- heddle_coll_tell.c: what members send --------------------------------------------------- */

/* A buffer, or a part of one. */
struct MPIDI_UCX_data {
    const void *buf;
    MPI_Aint count;
    MPI_Datatype type;
};
int64_t MPIDI_UCX_data_bytes(const struct MPIDI_UCX_data *data);
/* The same, where it is dense, as bytes. */
bool MPIDI_UCX_data_is_dense(const struct MPIDI_UCX_data *data, char **first);
/* Writes into this member's record what it sends: `n` blocks, as there. */
void MPIDI_UCX_coll_tell(struct MPIDI_UCX_coll_call *call, const struct MPIDI_UCX_data *data,
                         int n);
/* The end of a `tell` step: the member comes to the first meeting. */
void MPIDI_UCX_coll_told(struct MPIDI_UCX_coll_call *call);
/* Lets others open the dense result of this member. */
void MPIDI_UCX_coll_tell_result(struct MPIDI_UCX_coll_call *call, const void *first, int64_t bytes);

/* The block that a member sends to this one. */
const struct MPIDI_UCX_block *MPIDI_UCX_coll_block(const struct MPIDI_UCX_coll_call *call,
                                                   int rank);
/* Where it lies, once the memory that `rank` exports is open here. The type is retained. HEDDLE_*.
 */
int MPIDI_UCX_coll_side(const struct MPIDI_UCX_coll_call *call, int rank,
                        const heddle_import *import, heddle_side *side);

/* ---- heddle_coll_pack.c: what members send, packed before ------------------------------------ */

struct MPIDI_UCX_packed {
    bool is_packed;
    heddle_piece piece; /* that it is packed into */
    struct MPIDI_UCX_data data[MPIDI_UCX_COLL_MOST];
};
/* Begins to pack the `n` blocks that this member sends, where that is worthwhile, or `always`.
 * False: it is not, or cannot be done. What was packed stays until it is forgotten, when no member
 * reads it. */
bool MPIDI_UCX_coll_pack(const struct MPIDI_UCX_coll_call *call, const struct MPIDI_UCX_data *data,
                         int n, bool always, struct MPIDI_UCX_packed *packed,
                         struct heddle_request **work);
void MPIDI_UCX_coll_forget_packed(struct MPIDI_UCX_packed *packed);

#endif /* HEDDLE_COLL_DIRECT_H_INCLUDED */
