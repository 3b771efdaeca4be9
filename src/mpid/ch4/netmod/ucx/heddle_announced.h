/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One-sided operations whose target takes part: on other nodes, and on memory that does not export.
 * An active message announces one. Short data come with it, packed into staging memory, where they
 * are unpacked from; as MPI's messages do. Long ones go between the ports as a long message's do:
 * in chunks through pinned memory, or as else the two ends can. The announcement has the envelope
 * with it, so nothing is matched. A window counts them as MPICH counts its own operations, and so
 * every synchronization waits for them.
 *
 *    origin                                    target
 *      == put, its envelope ==============>      receive into the window
 *      <-- answers, chunks: the ports ------>
 *      <== done, or failed ================      received
 *
 *      == get ============================>      send from the window
 *      <== data: the envelope =============      (or: failed)
 *      <-- answers, chunks: the ports ------>
 *
 * An update is an accumulate: as a put, but into staging memory, and then the target combines. One
 * that fetches is answered as a get is. The target does so in progress, as it serves MPICH's own
 * accumulates, so all of them are atomic. The origin keeps them in order: while one is under way
 * the next to that target waits. That also bounds the target's staging memory.
 *
 * Every operation ends at both ends, whatever fails; the origin is told.
 */
#ifndef HEDDLE_ANNOUNCED_H_INCLUDED
#define HEDDLE_ANNOUNCED_H_INCLUDED

#include "heddle_direct.h"

/* ---- heddle_announce.c: what the two ends tell each other ------------------------------------ */

enum MPIDI_UCX_word {
    MPIDI_UCX_WORD_PUT,
    MPIDI_UCX_WORD_GET,
    MPIDI_UCX_WORD_UPDATE,
    MPIDI_UCX_WORD_FETCH, /* and update; MPI_NO_OP: nothing is sent */
    MPIDI_UCX_WORD_DATA,  /* of a get or a fetch */
    MPIDI_UCX_WORD_DONE
};

/* An active message's header. Behind it the flattened type, if it has one. */
struct MPIDI_UCX_announcement {
    uint32_t word;
    int32_t rank; /* of who sends it, in the window */
    uint64_t win_id;
    uint64_t operation; /* the origin's name for it */
    /* Where the data lie in the target's window. */
    int64_t disp;
    int64_t offset; /* and so many bytes more */
    int64_t count;
    MPI_Datatype type; /* MPI_DATATYPE_NULL: it is flattened */
    /* Of updates: what comes, in predefined elements. */
    MPI_Op op;
    MPI_Datatype element;
    int64_t elements;
    int32_t failed; /* of DONE */
    int32_t whole; /* so many packed bytes come with it, before the type; 0: an envelope, or none */
    unsigned char envelope[HEDDLE_ENVELOPE_BYTES];
};

/* An announcement that is to be sent. */
struct MPIDI_UCX_telling {
    struct MPIDI_UCX_announcement it;
    MPIR_Win *win;
    int to; /* a rank of the window */
    int vni;
    const void *flattened; /* null: none */
    size_t flattened_bytes;
    uint64_t message; /* at this port, that its envelope is of; 0: of none */
    /* What goes with it whole, and who is told that it was packed; it.whole bytes. */
    const struct MPIDI_UCX_buffer *whole;
    heddle_message_ended ended;
    void *argument;
    /* If UCX does not send it; may be null. The message is abandoned then. */
    void (*lost)(int vni, uint64_t operation);
};
/* The buffer of what goes whole, and its type, stay until `ended` was called. */
void MPIDI_UCX_announce(struct MPIDI_UCX_telling *t);

/* Whether so many bytes go with the announcement, as MPI's messages of that length do. */
bool MPIDI_UCX_goes_whole(MPIR_Win *win, int rank, MPI_Aint bytes);
/* Has the buffer sent to a rank of the window: the announcement, which follows, has its data or its
 * envelope with it. HEDDLE_*: with an error nothing has begun. */
int MPIDI_UCX_announced_send(struct MPIDI_UCX_telling *t, const struct MPIDI_UCX_buffer *buffer,
                             heddle_message_ended ended, void *argument);

/* An announcement that is here. */
struct MPIDI_UCX_arrived {
    struct MPIDI_UCX_announcement it;
    MPIR_Win *win;
    int vni;
    const void *flattened; /* the type */
    size_t flattened_bytes;
    const void *whole; /* what came with it; null: nothing */
    void *staging;     /* where that is, if that is staging memory; who unpacks it takes it over */
    int error;         /* HEDDLE_*: why its data did not come */
};
/* Begins to receive its data. HEDDLE_*: with an error nothing has begun. If it has an envelope, the
 * message's sender was told. */
int MPIDI_UCX_announced_receive(struct MPIDI_UCX_arrived *a, const struct MPIDI_UCX_buffer *buffer,
                                heddle_message_ended ended, void *argument);

/* ---- heddle_win_combine.c: updates at their target ------------------------------------------- */

/* An operation that this process takes part in. */
struct MPIDI_UCX_served {
    MPIR_Win *win;
    int vni;
    int origin; /* its rank */
    uint64_t operation;
};
/* Tells the origin. */
struct MPIDI_UCX_telling MPIDI_UCX_telling_of(const struct MPIDI_UCX_served *s,
                                              enum MPIDI_UCX_word word);
void MPIDI_UCX_tell_done(const struct MPIDI_UCX_served *s, int error);

/* Where its data are. */
struct MPIDI_UCX_data {
    void *buf;
    MPI_Aint count;
    MPI_Datatype type;
};
/* Begins an update, which may hold a reference to the type. HEDDLE_*: with an error nothing has
 * begun. */
int MPIDI_UCX_serve_update(const struct MPIDI_UCX_served *s, const struct MPIDI_UCX_data *data,
                           struct MPIDI_UCX_arrived *a);

/* ---- heddle_win_target.c --------------------------------------------------------------------- */

/* Where the data of what was announced to this process begin. */
void *MPIDI_UCX_place_of(const struct MPIDI_UCX_arrived *a);
/* Does what was announced to this process. */
void MPIDI_UCX_serve(struct MPIDI_UCX_arrived *a);

/* ---- heddle_win_origin.c --------------------------------------------------------------------- */

/* An operation that may be announced. */
struct MPIDI_UCX_candidate {
    enum MPIDI_UCX_word word;
    const struct MPIDI_UCX_access *at; /* its target; of put and get, all of it */
    /* Of updates: what is sent, if anything, and received. */
    struct MPIDI_UCX_buffer out, in; /* no bytes: nothing */
    MPI_Op op;
};
/* Whether one of more than `least` bytes may be. */
bool MPIDI_UCX_may_announce(const MPIR_Win *win, int rank, MPI_Aint bytes, MPI_Aint least);
/* Where the data of an operation of this process go that is not over. Null: nobody wants them. */
const struct MPIDI_UCX_buffer *MPIDI_UCX_awaited(int vni, uint64_t operation);
/* Takes an answer, with the data of a get or a fetch. */
void MPIDI_UCX_answered(struct MPIDI_UCX_arrived *a);
/* Announces it, if a device has part in it. False where it has not, and nothing was done. */
bool MPIDI_UCX_announce_candidate(const struct MPIDI_UCX_candidate *c, int *mpi_errno);
/* Waits for the updates at a target that were announced. MPI's error. */
int MPIDI_UCX_wait_for_updates(MPIR_Win *win, int rank);
/* Waits for MPICH's own accumulates at a target. MPI's error. */
int MPIDI_UCX_wait_for_messages(MPIR_Win *win, int rank);

/* ---- heddle_win_long.c: MPI's operations ----------------------------------------------------- */

/* Each is false where the operation should not be announced, and nothing was done. */
bool MPIDI_UCX_announce_access(const struct MPIDI_UCX_access *a, bool is_get, int *mpi_errno);
bool MPIDI_UCX_announce_update(const struct MPIDI_UCX_access *a, MPI_Op op, int *mpi_errno);
bool MPIDI_UCX_announce_fetch(const struct MPIDI_UCX_get_accumulate *a, int *mpi_errno);

#endif /* HEDDLE_ANNOUNCED_H_INCLUDED */
