/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packs and unpacks of short messages, many at a time (heddle_moves.c). Under the VCI's lock.
 */
#ifndef HEDDLE_MOVES_H_INCLUDED
#define HEDDLE_MOVES_H_INCLUDED

#include "heddle.h"

/* A buffer as the engine sees it. */
static inline heddle_side MPIDI_UCX_side(const void *buf, MPI_Aint count, MPI_Datatype datatype)
{
    const heddle_side side = {(void *)buf, count, MPIR_Typerep_committed(datatype), 0};
    return side;
}

/* MPI's error for how a message ended; `rank`: of its other end. */
static inline int MPIDI_UCX_message_error(int error, int rank)
{
    if (error == HEDDLE_ERR_LOST)
        return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                    MPIX_ERR_PROC_FAILED, "**comm_fail", "**comm_fail %d", rank);
    return MPIR_Typerep_error(error);
}

/* ---- heddle_tickets.c */

void MPIDI_UCX_tickets_forget(int vni);
/* An envelope was received by a tag. */
void MPIDI_UCX_note_matched(int vni, uint64_t ucx_tag, const heddle_ticket *next);
/* Gives one for a receive that is posted next, before all that takes time: its sender may look for
 * it at this very moment. False where there is no use in it, or its buffer is none for it. */
bool MPIDI_UCX_ticket_give(int vni, uint64_t ucx_tag, uint64_t tag_mask, const void *buf,
                           MPI_Aint count, MPI_Datatype datatype, const MPIDI_av_entry_t *addr,
                           heddle_ticket *ticket);

/* ---- heddle_moves.c */

/* A pack or an unpack: a member of what it belongs to. Buffers, types and the move itself stay
 * until `moved`. */
struct MPIDI_UCX_move {
    heddle_move move;
    void (*moved)(struct MPIDI_UCX_move *move); /* called once, by moves_move_on */
    int error;                                  /* HEDDLE_*; known then */
    struct heddle_request *request;             /* of one that goes alone */
    struct MPIDI_UCX_move *prev, *next;
};

void MPIDI_UCX_move_begin(int vni, struct MPIDI_UCX_move *move);
/* There is nothing to move after all: `moved` is called as ever. */
void MPIDI_UCX_move_none(int vni, struct MPIDI_UCX_move *move);
void MPIDI_UCX_moves_move_on(int vni);

/* A send that keeps MPI's order. */
struct MPIDI_UCX_turn {
    void (*post)(struct MPIDI_UCX_turn *turn); /* called once it is ready, and all before it were
                                                  posted */
    bool ready;
    struct MPIDI_UCX_turn *prev, *next;
};

/* Puts it behind all that did not have their turn yet. It may be posted at once, and be gone. */
void MPIDI_UCX_take_turn(int vni, struct MPIDI_UCX_turn *turn);
void MPIDI_UCX_turn_ready(int vni, struct MPIDI_UCX_turn *turn);
/* Returns when all had their turn. */
void MPIDI_UCX_wait_turn(int vni);

/* Envelopes that nobody has received. */
void MPIDI_UCX_parked_free(int vni);
/* Memory that receives keep for later ones. */
void MPIDI_UCX_landings_free(int vni);

#endif /* HEDDLE_MOVES_H_INCLUDED */
