/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tickets: a receive into a device's contiguous memory that can be matched by nothing but what a
 * rank of this node sends next tells that rank where it lies, and an MPI_Send that finds it so
 * writes there itself (heddle.h). What is written must be what UCX matches with that receive. So
 * the receiver names the last message of that source, tag and communicator that it has received,
 * and gives no ticket where an older receive is posted that could match as well; and the sender
 * uses it only while that message is the last that it sent there: then none is on its way.
 * (MPI_Isend does not: its caller may be away when all is written, and only it could say so.)
 */
#define MPIDI_UCX_PLAIN
#include "mpidimpl.h"
#include "ucx_impl.h"

#if MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_HEDDLE
#include "heddle_moves.h"

/* By tag, as UCX knows it: source, communicator and tag. What falls together is only remembered for
 * a shorter time. */
static struct {
    uint64_t ucx_tag;
    heddle_ticket next;
} matched[MPIDI_CH4_MAX_VCIS][MPIDI_UCX_KEYS];

/* Ranks and connections may be others in the next session. */
void MPIDI_UCX_tickets_forget(int vni)
{
    memset(MPIDI_UCX_vni_gpu[vni].last, 0, sizeof(MPIDI_UCX_vni_gpu[vni].last));
    memset(MPIDI_UCX_vni_gpu[vni].posted, 0, sizeof(MPIDI_UCX_vni_gpu[vni].posted));
    memset(matched[vni], 0, sizeof(matched[vni]));
}

void MPIDI_UCX_note_matched(int vni, uint64_t ucx_tag, const heddle_ticket *next)
{
    const unsigned key = MPIDI_UCX_key(ucx_tag & MPIDI_UCX_EXACT);
    matched[vni][key].ucx_tag = ucx_tag & MPIDI_UCX_EXACT;
    matched[vni][key].next = *next;
}

bool MPIDI_UCX_ticket_give(int vni, uint64_t ucx_tag, uint64_t tag_mask, const void *buf,
                           MPI_Aint count, MPI_Datatype datatype, const MPIDI_av_entry_t *addr,
                           heddle_ticket *ticket)
{
    const unsigned key = MPIDI_UCX_KEY_OF_RECEIVE(ucx_tag, tag_mask);
    const uint32_t *posted = MPIDI_UCX_vni_gpu[vni].posted;
    if (!ENABLE_GPU || key == MPIDI_UCX_WILDCARDS ||
        matched[vni][key].ucx_tag != (ucx_tag & MPIDI_UCX_EXACT) ||
        matched[vni][key].next.sender == 0 || posted[key] != 0 || posted[MPIDI_UCX_WILDCARDS] != 0)
        return false;
    MPI_Aint size;
    int is_contig;
    MPIR_Datatype_get_size_macro(datatype, size);
    MPIR_Datatype_is_contig(datatype, &is_contig);
    if (!is_contig || count * size < MPIDI_UCX_ENVELOPE_BYTES ||
        MPIDI_UCX_is_direct(buf, count, datatype, addr))
        return false;
    const heddle_side to = MPIDI_UCX_side(buf, count, datatype);
    int given = 0;
    *ticket = matched[vni][key].next;
    return heddle_ticket_give(MPIDI_UCX_port(vni), ticket, &to, count * size, &given) ==
               HEDDLE_SUCCESS &&
           given;
}

bool MPIDI_UCX_is_delivered(MPIR_Request *rreq)
{
    int claimed = 0;
    (void)heddle_ticket_withdraw(MPIDI_UCX_REQ(rreq).posted.ticket, &claimed);
    if (!claimed)
        MPIDI_UCX_REQ(rreq).posted.ticket = NULL;
    return claimed;
}

#endif
