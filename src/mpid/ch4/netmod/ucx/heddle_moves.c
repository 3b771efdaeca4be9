/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packs and unpacks of short messages. A pack that finds none running begins at once; those that
 * come while some run wait for them, and begin together: many messages to neighbours take two
 * launches, not one each. What MPI_Startall sends, and what one progress receives, takes one.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include "heddle_internal.h"
#include "utlist.h"

#define MOST_TOGETHER 64

/* They end with the next progress: nobody is told within the call that began them. */
static void end(struct MPIDI_UCX_moves *of, struct MPIDI_UCX_move *first, int error)
{
    for (struct MPIDI_UCX_move *m = first; m != NULL; m = m->with) {
        m->error = error;
        DL_APPEND(of->over, m);
    }
}

/* False where they do not run together. What cannot begin together may begin one by one; then only
 * those fail that must. */
static bool begin(struct MPIDI_UCX_moves *of, struct MPIDI_UCX_move *first)
{
    heddle_packing all[MOST_TOGETHER];
    struct MPIDI_UCX_move *m, *next;
    int n = 0;
    for (m = first; m != NULL; m = m->with)
        all[n++] = m->packing;
    const int error = heddle_packing_begin(all, n, &first->request);
    if (error == HEDDLE_SUCCESS) {
        DL_APPEND(of->running, first);
        return true;
    }
    for (m = n > 1 ? first : NULL; m != NULL; m = next) {
        next = m->with;
        m->with = NULL;
        begin(of, m);
    }
    if (n == 1)
        end(of, first, error);
    return false;
}

static void begin_waiting(struct MPIDI_UCX_moves *of)
{
    struct MPIDI_UCX_move *first = of->waiting, **link = &first;
    for (int n = 0; n < MOST_TOGETHER && of->waiting != NULL; n++) {
        *link = of->waiting;
        DL_DELETE(of->waiting, *link);
        link = &(*link)->with;
    }
    of->together = begin(of, first) ? first : NULL;
}

/* Long ones keep a device busy by themselves, and short ones should not wait for them. An access to
 * another's memory (heddle_win_access.c) is long where it takes longer than a launch. */
static bool is_long(const struct MPIDI_UCX_move *m)
{
    const int64_t longer_than_a_launch = 1 << 20;
    return m->packing.bytes >
           (m->packing.staging == NULL ? longer_than_a_launch : MPIR_Typerep_most_whole());
}

void MPIDI_UCX_move_soon(int vni, struct MPIDI_UCX_move *m)
{
    struct MPIDI_UCX_moves *of = &MPIDI_UCX_vnis[vni].moves;
    of->any = true;
    if (m->error != HEDDLE_SUCCESS || m->packing.bytes == 0) {
        end(of, m, m->error);
    } else if (is_long(m)) {
        begin(of, m);
    } else {
        DL_APPEND(of->waiting, m);
    }
}

void MPIDI_UCX_move_begin(int vni, struct MPIDI_UCX_move *m)
{
    struct MPIDI_UCX_moves *of = &MPIDI_UCX_vnis[vni].moves;
    MPIDI_UCX_move_soon(vni, m);
    if (of->together == NULL && of->waiting != NULL)
        begin_waiting(of);
}

void MPIDI_UCX_moves_progress(int vni)
{
    struct MPIDI_UCX_moves *of = &MPIDI_UCX_vnis[vni].moves;
    struct MPIDI_UCX_move *m, *next;
    DL_FOREACH_SAFE(of->running, m, next)
    {
        int done = 0;
        const int error = heddle_test(&m->request, &done);
        if (error == HEDDLE_SUCCESS && !done)
            continue;
        if (m->request != NULL) /* it still uses the buffers */
            (void)heddle_wait(&m->request);
        if (m == of->together)
            of->together = NULL;
        DL_DELETE(of->running, m);
        end(of, m, error);
    }
    if (of->together == NULL && of->waiting != NULL)
        begin_waiting(of);
    while (of->over != NULL) { /* a callback may begin others, or send and wait for a turn */
        m = of->over;
        DL_DELETE(of->over, m);
        m->moved(m); /* it may be gone then */
    }
    of->any = of->running != NULL || of->waiting != NULL;
}
