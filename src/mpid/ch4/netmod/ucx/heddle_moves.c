/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packs and unpacks of short messages. One that finds none running begins at once; those that come
 * while some run wait for them, and begin together: many messages to or from neighbours take two
 * launches, not one each. MPI's messages stay in order: what is to be sent waits its turn behind
 * what is still being packed.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#if MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_HEDDLE
#include "heddle_moves.h"
#include "utlist.h"

/* ---- moves --------------------------------------------------------------------------------------
 */

/* They end with the next progress: nobody is told within the call that began them. */
static void end_all(struct MPIDI_UCX_moves *of, struct MPIDI_UCX_move **list, int error)
{
    struct MPIDI_UCX_move *m;
    DL_FOREACH(*list, m)
    m->error = error;
    DL_CONCAT(of->over, *list);
    *list = NULL;
}

/* What cannot begin together may begin one by one; then only those fail that must. */
static void each_alone(struct MPIDI_UCX_moves *of)
{
    struct MPIDI_UCX_move *m, *next;
    DL_FOREACH_SAFE(of->waiting, m, next)
    {
        DL_DELETE(of->waiting, m);
        m->error = heddle_transfer(&m->move, 1);
        DL_APPEND(of->over, m);
    }
}

static void begin_waiting(struct MPIDI_UCX_moves *of)
{
    heddle_move some[16], *moves = some;
    struct MPIDI_UCX_move *m;
    int n = 0;
    DL_FOREACH(of->waiting, m)
    n++;
    if (n > 16)
        moves = MPL_malloc(n * sizeof(*moves), MPL_MEM_BUFFER);
    if (moves != NULL) {
        int i = 0;
        DL_FOREACH(of->waiting, m)
        moves[i++] = m->move;
    }
    const int error =
        moves == NULL ? HEDDLE_ERR_NO_MEMORY : heddle_transfer_begin(moves, n, &of->request);
    if (moves != some)
        MPL_free(moves);
    if (error == HEDDLE_SUCCESS) {
        of->running = of->waiting;
        of->waiting = NULL;
    } else if (n > 1) {
        each_alone(of);
    } else {
        end_all(of, &of->waiting, error);
    }
}

/* Long ones keep a device busy by themselves, and short ones should not wait for them. */
static void begin_alone(struct MPIDI_UCX_moves *of, struct MPIDI_UCX_move *m)
{
    m->error = heddle_transfer_begin(&m->move, 1, &m->request);
    if (m->error == HEDDLE_SUCCESS)
        DL_APPEND(of->alone, m);
    else
        DL_APPEND(of->over, m);
}

void MPIDI_UCX_move_begin(int vni, struct MPIDI_UCX_move *m)
{
    struct MPIDI_UCX_moves *of = &MPIDI_UCX_vni_gpu[vni].moves;
    of->any = true;
    if (m->move.bytes > MPIR_CVAR_CH4_UCX_GPU_ONESHOT) {
        begin_alone(of, m);
        return;
    }
    DL_APPEND(of->waiting, m);
    if (of->running == NULL)
        begin_waiting(of);
}

void MPIDI_UCX_move_none(int vni, struct MPIDI_UCX_move *m)
{
    struct MPIDI_UCX_moves *of = &MPIDI_UCX_vni_gpu[vni].moves;
    m->error = HEDDLE_SUCCESS;
    DL_APPEND(of->over, m);
    of->any = true;
}

/* Whether it is over; the error, if there was one. */
static bool is_over(struct heddle_request **request, int *error)
{
    int done = 0;
    *error = heddle_test(request, &done);
    if (*error != HEDDLE_SUCCESS && *request != NULL) /* it still uses the buffers */
        (void)heddle_wait(request);
    return done || *error != HEDDLE_SUCCESS;
}

void MPIDI_UCX_moves_move_on(int vni)
{
    struct MPIDI_UCX_moves *of = &MPIDI_UCX_vni_gpu[vni].moves;
    struct MPIDI_UCX_move *m, *next;
    int error;
    if (of->running != NULL && is_over(&of->request, &error))
        end_all(of, &of->running, error);
    DL_FOREACH_SAFE(of->alone, m, next)
    {
        if (is_over(&m->request, &m->error)) {
            DL_DELETE(of->alone, m);
            DL_APPEND(of->over, m);
        }
    }
    if (of->running == NULL && of->waiting != NULL)
        begin_waiting(of);
    while (of->over != NULL) { /* who is told may begin others, or send and wait for a turn */
        m = of->over;
        DL_DELETE(of->over, m);
        m->moved(m); /* it may be gone then */
    }
    of->any = of->running != NULL || of->alone != NULL;
}

/* ---- turns --------------------------------------------------------------------------------------
 */

void MPIDI_UCX_take_turn(int vni, struct MPIDI_UCX_turn *turn)
{
    struct MPIDI_UCX_turn **turns = &MPIDI_UCX_vni_gpu[vni].turns;
    if (*turns == NULL && turn->ready)
        turn->post(turn);
    else
        DL_APPEND(*turns, turn);
}

void MPIDI_UCX_turn_ready(int vni, struct MPIDI_UCX_turn *turn)
{
    struct MPIDI_UCX_turn **turns = &MPIDI_UCX_vni_gpu[vni].turns;
    turn->ready = true;
    while (*turns != NULL && (*turns)->ready) {
        struct MPIDI_UCX_turn *first = *turns;
        DL_DELETE(*turns, first);
        first->post(first);
    }
}

void MPIDI_UCX_wait_turn(int vni)
{
    while (MPIDI_UCX_vni_gpu[vni].turns != NULL)
        MPIDI_UCX_moves_move_on(vni);
}

#endif
