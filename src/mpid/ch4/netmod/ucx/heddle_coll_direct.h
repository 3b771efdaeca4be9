/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Direct collectives: blocking collectives on device memory of one node go straight between the
 * members' buffers. src/mpi/coll/include/heddle_direct_coll.h is what MPICH's files see.
 *
 * The members of a communicator share a segment of host memory, with a part for each. A call is:
 *
 * 1. Each member writes a record into its part: where the memory is that it sends, how it is laid
 *    out, and whether the call can go directly, as far as it knows.
 * 2. They meet: each waits until all have come. Then all look at all records, and so decide alike.
 *    If somebody cannot, the call goes its usual way.
 * 3. Each member opens what it needs, and moves or combines it in few launches.
 * 4. They meet again. Each looks at what the others say of step 3: if somebody could not open
 *    memory, nothing that is sent has been touched, and the call goes its usual way, as all later
 *    ones do.
 *
 * Who waits makes all progress. If a member has ended, the call ends with MPIX_ERR_PROC_FAILED.
 */
#ifndef HEDDLE_COLL_DIRECT_H_INCLUDED
#define HEDDLE_COLL_DIRECT_H_INCLUDED

#include "heddle_internal.h"

/* More members than these go the usual way; and types that take more bytes to be told. */
#define MPIDI_UCX_COLL_MOST 64
#define MPIDI_UCX_COLL_TYPE 384
/* Most meetings of a call, beyond the first. */
#define MPIDI_UCX_COLL_STEPS 3

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
    MPIDI_UCX_COLL_IN_PLACE, /* each member overwrites what others read */
    MPIDI_UCX_COLL_RESULT    /* no device memory to combine in */
};

/* How a member's part went; the later, the worse. */
enum MPIDI_UCX_outcome {
    MPIDI_UCX_COLL_DONE,
    MPIDI_UCX_COLL_FAILED,
    MPIDI_UCX_COLL_UNOPENED, /* nothing was done, for want of another's memory */
    MPIDI_UCX_COLL_LOST      /* of a meeting: a member has ended */
};

struct MPIDI_UCX_record {
    uint32_t why_not; /* enum MPIDI_UCX_why_not */
    bool on_device;   /* a buffer is a device's */
    bool is_flagged;  /* the caller's errflag was set before */
    bool is_in_place; /* of reductions: what it sends is what it receives in */
    MPL_atomic_int_t outcome[MPIDI_UCX_COLL_STEPS];
    heddle_exported sent;   /* spans all blocks */
    heddle_exported result; /* of reductions in slices */
    uint32_t blocks;        /* 0: it sends nothing; 1: the same to all; else one for each member */
    struct MPIDI_UCX_block block[];
};

/* ---- a communicator -------------------------------------------------------------------------- */

/* What another member's last type was, and is here. */
struct MPIDI_UCX_known_type {
    int64_t flat;
    char bytes[MPIDI_UCX_COLL_TYPE];
    struct heddle_type *type;
};

/* This process's end. */
struct MPIDI_UCX_coll {
    heddle_shared *segment;
    char *parts;
    size_t part_bytes, record_bytes;
    uint64_t met;   /* how often this process has come */
    unsigned calls; /* of two records in turn: the others may still read the last one */
    struct MPIDI_UCX_known_type known[];
};

/* A call. Who begins it sets the first members. */
struct MPIDI_UCX_coll_call {
    const char *name;
    MPIR_Comm *comm;
    MPIR_Errflag_t *errflag;
    int *mpi_errno;
    enum MPIDI_UCX_why_not why_not; /* as far as is known before */
    struct MPIDI_UCX_coll *coll;
    struct MPIDI_UCX_record *own;
    int64_t bytes;    /* that this member receives */
    int step;         /* meetings after the first */
    bool is_over;     /* and does not go its usual way */
    bool is_flagged;  /* a member's errflag was set before */
    bool is_in_place; /* at any member */
    bool is_unopened; /* this member could not open another's memory */
    int error;        /* MPI's, of this member's part */
};

/* ---- heddle_coll_make.c ---------------------------------------------------------------------- */

/* Begins this member's record. False: the call goes its usual way, or is over. It may be
 * collective. */
bool MPIDI_UCX_coll_begin(struct MPIDI_UCX_coll_call *call);
struct MPIDI_UCX_record *MPIDI_UCX_coll_record(const struct MPIDI_UCX_coll_call *call, int rank);
/* Meets, and decides from all records. False: the call goes its usual way, or is over. `bytes` that
 * this member receives are counted. */
bool MPIDI_UCX_coll_decide(struct MPIDI_UCX_coll_call *call, int64_t bytes);
/* A step of this member's failed: HEDDLE_*. The first failure is the one that is told. */
void MPIDI_UCX_coll_fail(struct MPIDI_UCX_coll_call *call, int error);
/* Says how this member's part went so far, and meets. The worst outcome. */
enum MPIDI_UCX_outcome MPIDI_UCX_coll_agree(struct MPIDI_UCX_coll_call *call);
/* The end of a call, with what the last meeting came to. `shared`: any member's failure is this
 * one's. */
void MPIDI_UCX_coll_end(struct MPIDI_UCX_coll_call *call, enum MPIDI_UCX_outcome worst,
                        bool shared);

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
/* Lets others open the dense result of this member. */
void MPIDI_UCX_coll_tell_result(struct MPIDI_UCX_coll_call *call, const void *first, int64_t bytes);

/* The block that a member sends to this one. */
const struct MPIDI_UCX_block *MPIDI_UCX_coll_block(const struct MPIDI_UCX_coll_call *call,
                                                   int rank);
/* Where it lies, once the memory that `rank` exports is open here. HEDDLE_*. */
int MPIDI_UCX_coll_side(const struct MPIDI_UCX_coll_call *call, int rank,
                        const heddle_import *import, heddle_side *side);

#endif /* HEDDLE_COLL_DIRECT_H_INCLUDED */
