/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks beyond cores. A rank that waits polls; where there are more ranks than cores, it thereby
 * keeps a core from the rank that it waits for until its time slice ends. So after a number of
 * polls in a row that found nothing, it gives the core away.
 */
#ifndef HEDDLE_YIELD_H_INCLUDED
#define HEDDLE_YIELD_H_INCLUDED

#include <ucp/api/ucp.h>

/* Fruitless polls before a yield; 0: never. Set once, by MPIDI_UCX_yield_init. */
extern int MPIDI_UCX_yield_after;

/* Reads MPIR_CVAR_CH4_UCX_YIELD and counts ranks and cores. The node's ranks and hwloc's topology
 * must be known. */
void MPIDI_UCX_yield_init(void);

/* Counts a poll that found nothing, and yields when it is one too many; or starts over (`events` >
 * 0). */
void MPIDI_UCX_yield_count(unsigned events);

/* Progress of one worker, where nothing but UCX's own is waited for. */
MPL_STATIC_INLINE_PREFIX void MPIDI_UCX_yield_progress(ucp_worker_h worker)
{
    unsigned events = ucp_worker_progress(worker);
    if (unlikely(MPIDI_UCX_yield_after))
        MPIDI_UCX_yield_count(events);
}

#endif /* HEDDLE_YIELD_H_INCLUDED */
