/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Direct collectives (heddle_coll_direct.h): the steps of a call, which meet with those of the
 * other members, and how all decide alike.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include "heddle_coll_direct.h"

#if MPIR_TYPEREP_SENDS_DEVICE

/* ---- slots ----------------------------------------------------------------------------------- */

static struct MPIDI_UCX_slot *slot_of(const struct MPIDI_UCX_coll_call *call, int rank)
{
    const struct MPIDI_UCX_coll *coll = call->coll;
    return (struct MPIDI_UCX_slot *)(coll->parts + rank * coll->part_bytes +
                                     call->number % coll->slots * coll->slot_bytes);
}

struct MPIDI_UCX_record *MPIDI_UCX_coll_record(const struct MPIDI_UCX_coll_call *call, int rank)
{
    return (struct MPIDI_UCX_record *)slot_of(call, rank)->record;
}

/* What all have come to when they left the slot's last call. */
static uint64_t came_before(const struct MPIDI_UCX_coll_call *call)
{
    return call->number / call->coll->slots * MPIDI_UCX_COLL_MEETINGS;
}

static bool has_come(const struct MPIDI_UCX_coll_call *call, int rank)
{
    return MPL_atomic_load_uint64(&slot_of(call, rank)->came) >= call->expected;
}

static bool have_come(struct MPIDI_UCX_coll_call *call)
{
    while (call->come < call->comm->local_size && has_come(call, call->come))
        call->come++;
    return call->come == call->comm->local_size;
}

/* Who has ended and will not come; -1: nobody, or a living one may write to this member's buffer
 * until it has come. */
static int find_lost(const struct MPIDI_UCX_coll_call *call)
{
    int lost = -1;
    if (!MPIDI_left_somebody || call->waits_for != MPIDI_UCX_WAITS_FOR_MEMBERS)
        return -1;
    for (int rank = call->come; rank < call->comm->local_size; rank++) {
        if (has_come(call, rank))
            continue;
        const bool has_ended = MPIDI_UCX_member_has_ended(call->comm, rank);
        if (!has_ended && call->is_written)
            return -1;
        if (has_ended && !has_come(call, rank)) /* nor just before */
            lost = rank;
    }
    return lost;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void await_members(struct MPIDI_UCX_coll_call *call, uint64_t expected,
                          MPIDI_UCX_coll_step then)
{
    call->waits_for = MPIDI_UCX_WAITS_FOR_MEMBERS;
    call->expected = expected;
    call->come = 0;
    call->then = then;
}

/* Comes to the next meeting. */
static void meet(struct MPIDI_UCX_coll_call *call, MPIDI_UCX_coll_step then)
{
    struct MPIDI_UCX_slot *slot = slot_of(call, call->comm->rank);
    const uint64_t came = MPL_atomic_load_uint64(&slot->came) + 1;
    MPL_atomic_store_uint64(&slot->came, came);
    await_members(call, came, then);
}

void MPIDI_UCX_coll_await_work(struct MPIDI_UCX_coll_call *call, int error,
                               struct heddle_request *work, MPIDI_UCX_coll_step then)
{
    MPIDI_UCX_coll_fail(call, error);
    call->waits_for = MPIDI_UCX_WAITS_FOR_WORK;
    call->work = work;
    call->then = then;
    if (call->is_blocking) /* sooner seen than by looking */
        MPIDI_UCX_coll_fail(call, heddle_wait(&call->work));
}

static bool has_worked(struct MPIDI_UCX_coll_call *call)
{
    int done = 1;
    if (call->work != NULL)
        MPIDI_UCX_coll_fail(call, heddle_test(&call->work, &done));
    return done;
}

static bool goes_on(struct MPIDI_UCX_coll_call *call)
{
    switch (call->waits_for) {
    case MPIDI_UCX_WAITS_FOR_SEGMENT:
        return MPIDI_UCX_coll_is_made(call->coll);
    case MPIDI_UCX_WAITS_FOR_MEMBERS:
        return have_come(call);
    case MPIDI_UCX_WAITS_FOR_CHANNELS:
        return MPIDI_UCX_channels_are_over(call);
    default:
        return has_worked(call);
    }
}

/* ---- the end of a call ----------------------------------------------------------------------- */

static void finish(struct MPIDI_UCX_coll_call *call, enum MPIDI_UCX_coll_state state)
{
    call->release(call);
    call->state = state;
}

/* Others may take the slot for another call, once all have left. */
static void leave(struct MPIDI_UCX_coll_call *call, enum MPIDI_UCX_coll_state state)
{
    MPL_atomic_store_uint64(&slot_of(call, call->comm->rank)->came,
                            came_before(call) + MPIDI_UCX_COLL_MEETINGS);
    finish(call, state);
}

/* It is never left, so later calls find out, too. */
static void lose(struct MPIDI_UCX_coll_call *call, int lost)
{
    call->error = MPIDI_UCX_member_error(lost);
    MPIDI_UCX_coll_forget_types(call->coll); /* no other call reads them */
    finish(call, MPIDI_UCX_OVER);
}

static const char *reason_of(uint32_t why_not)
{
    switch (why_not) {
    case MPIDI_UCX_COLL_CAN:
        return "all buffers can be opened";
    case MPIDI_UCX_COLL_HOST:
        return "what a member sends is in host memory";
    case MPIDI_UCX_COLL_CLOSED:
        return "a member's memory cannot be opened by others";
    case MPIDI_UCX_COLL_LONG:
        return "a type takes too many bytes to be told";
    case MPIDI_UCX_COLL_OPERATOR:
        return "no device combines these";
    case MPIDI_UCX_COLL_IN_PLACE:
        return "in place, and a member cannot pack what it sends";
    case MPIDI_UCX_COLL_UNUSABLE:
        return "a member could not open memory before";
    default:
        return "a result is not in device memory";
    }
}

void MPIDI_UCX_coll_end(struct MPIDI_UCX_coll_call *call, enum MPIDI_UCX_outcome worst, bool shared)
{
    if (worst == MPIDI_UCX_COLL_UNOPENED) {
        heddle_collective_count(call->name, HEDDLE_COLLECTIVE_BY_MESSAGE, call->bytes,
                                "a member could not open memory");
        call->coll->is_closed = true;
        call->coll->is_unusable = true; /* as all members know; each tells so from now on */
        leave(call, MPIDI_UCX_DECLINED);
        return;
    }
    heddle_collective_count(call->name,
                            call->is_packed ? HEDDLE_COLLECTIVE_PACKED : HEDDLE_COLLECTIVE_DIRECT,
                            call->bytes, reason_of(MPIDI_UCX_COLL_CAN));
    call->coll->is_closed = false;
    call->wrong = call->any_errflag;
    if (call->wrong == MPIR_ERR_NONE && shared && worst == MPIDI_UCX_COLL_FAILED)
        call->wrong = MPIR_ERR_OTHER;
    leave(call, MPIDI_UCX_OVER);
}

/* ---- deciding -------------------------------------------------------------------------------- */

static MPIR_Errflag_t worse_of(MPIR_Errflag_t a, MPIR_Errflag_t b)
{
    return b == MPIR_ERR_PROC_FAILED || a == MPIR_ERR_NONE ? b : a;
}

static void decide(struct MPIDI_UCX_coll_call *call)
{
    uint32_t why_not = MPIDI_UCX_COLL_CAN;
    bool on_device = false, any = false;
    for (int rank = 0; rank < call->comm->local_size; rank++) {
        const struct MPIDI_UCX_record *record = MPIDI_UCX_coll_record(call, rank);
        if (why_not == MPIDI_UCX_COLL_CAN)
            why_not = record->why_not;
        on_device |= record->on_device;
        any |= record->blocks > 0;
        call->any_errflag = worse_of(call->any_errflag, record->errflag);
        call->is_in_place |= record->is_in_place;
    }
    if (why_not == MPIDI_UCX_COLL_CAN && on_device && any) {
        call->decided(call);
        return;
    }
    if (on_device)
        heddle_collective_count(call->name, HEDDLE_COLLECTIVE_BY_MESSAGE, call->bytes,
                                reason_of(why_not));
    if (why_not == MPIDI_UCX_COLL_CLOSED)
        call->coll->is_closed = true;
    leave(call, MPIDI_UCX_DECLINED);
}

void MPIDI_UCX_coll_decline(struct MPIDI_UCX_coll_call *call) { leave(call, MPIDI_UCX_DECLINED); }

static void tell(struct MPIDI_UCX_coll_call *call)
{
    struct MPIDI_UCX_record *own = MPIDI_UCX_coll_record(call, call->comm->rank);
    call->own = own;
    own->why_not = call->coll->is_unusable ? MPIDI_UCX_COLL_UNUSABLE : call->why_not;
    own->on_device = own->is_in_place = false;
    own->errflag = call->errflag;
    own->blocks = 0;
    call->tell(call);
}

void MPIDI_UCX_coll_told(struct MPIDI_UCX_coll_call *call) { meet(call, decide); }

static void take_slot(struct MPIDI_UCX_coll_call *call)
{
    if (call->coll->segment != NULL) {
        await_members(call, came_before(call), tell);
        return;
    }
    call->error = call->coll->mpi_errno;
    finish(call, call->error == MPI_SUCCESS ? MPIDI_UCX_DECLINED : MPIDI_UCX_OVER);
}

void MPIDI_UCX_coll_take_place(struct MPIDI_UCX_coll_call *call)
{
    call->state = MPIDI_UCX_UNDER_WAY;
    call->waits_for = MPIDI_UCX_WAITS_FOR_SEGMENT;
    call->then = take_slot;
    call->number = call->coll->calls++;
    call->work = NULL;
    call->step = 0;
    call->any_errflag = call->wrong = MPIR_ERR_NONE;
    call->is_in_place = call->is_unopened = call->is_packed = call->is_written = false;
    call->error = MPI_SUCCESS;
}

bool MPIDI_UCX_coll_poll(struct MPIDI_UCX_coll_call *call)
{
    while (call->state == MPIDI_UCX_UNDER_WAY && goes_on(call))
        call->then(call);
    const int lost = call->state == MPIDI_UCX_UNDER_WAY ? find_lost(call) : -1;
    if (lost >= 0)
        lose(call, lost);
    return call->state != MPIDI_UCX_UNDER_WAY;
}

/* ---- how it went ----------------------------------------------------------------------------- */

void MPIDI_UCX_coll_fail(struct MPIDI_UCX_coll_call *call, int error)
{
    if (error != HEDDLE_SUCCESS && call->error == MPI_SUCCESS)
        call->error = MPIDI_UCX_message_error(error, call->comm->rank);
}

/* Each step has a word of its own: a member may be in the next one while others read it. */
void MPIDI_UCX_coll_agree(struct MPIDI_UCX_coll_call *call, MPIDI_UCX_coll_step then)
{
    const int own = call->is_unopened            ? MPIDI_UCX_COLL_UNOPENED
                    : call->error != MPI_SUCCESS ? MPIDI_UCX_COLL_FAILED
                                                 : MPIDI_UCX_COLL_DONE;
    MPIR_Assert(call->step < MPIDI_UCX_COLL_STEPS);
    MPL_atomic_store_int(&call->own->outcome[call->step++], own);
    meet(call, then);
}

enum MPIDI_UCX_outcome MPIDI_UCX_coll_worst(const struct MPIDI_UCX_coll_call *call)
{
    int worst = MPIDI_UCX_COLL_DONE;
    for (int rank = 0; rank < call->comm->local_size; rank++)
        worst = MPL_MAX(worst, MPL_atomic_load_int(
                                   &MPIDI_UCX_coll_record(call, rank)->outcome[call->step - 1]));
    return (enum MPIDI_UCX_outcome)worst;
}

#endif
