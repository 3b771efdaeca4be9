/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Direct collectives (heddle_coll_direct.h) that combine: a member reads the vectors of all, in the
 * order of their ranks, and combines them in one launch (heddle_fold_run).
 *
 * - Where each member can combine all of what it needs, it does so. What is long, among more than
 *   two members, would cross a link several times: then each combines a slice, and writes it to all
 *   who receive it. Nobody else touches that slice, so vectors may be results.
 * - The same bits on all members: they combine in one order, or each slice is combined once.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include "heddle_coll_direct.h"

#if MPIR_TYPEREP_SENDS_DEVICE

/* So many bytes more over a link take as long as a meeting. */
#define BYTES_OF_A_MEETING (INT64_C(512) << 10)
/* In place, without slices, the result waits in scratch memory for the others to have read. */
#define MOST_SCRATCH (INT64_C(512) << 10)
#define SLICE_ALIGNMENT 512

struct reduction {
    struct MPIDI_UCX_coll_call call;
    heddle_op op;
    heddle_predefined element;
    struct MPIDI_UCX_data sent; /* this member's vector, */
    int64_t bytes;              /* of so many */
    char *result;               /* null: none here */
    MPI_Aint received;          /* elements of it; and where they are in the vectors: */
    int64_t at;
    bool is_in_place;             /* this member */
    bool to_all;                  /* all receive all, */
    bool is_scattered;            /* or each its part, */
    int root;                     /* or this one all */
    struct MPIDI_UCX_buffer near; /* the result, or what is sent */
    void *scratch;
    bool is_open;
    heddle_import *others[MPIDI_UCX_COLL_MOST], *made[MPIDI_UCX_COLL_MOST];
};

static struct reduction *of(struct MPIDI_UCX_coll_call *call) { return (struct reduction *)call; }

/* ---- memory ---------------------------------------------------------------------------------- */

static void open_of(struct reduction *r, int rank, const heddle_exported *exported,
                    heddle_import **import)
{
    *import = NULL;
    if (rank != r->call.comm->rank && !r->call.is_unopened)
        r->call.is_unopened =
            heddle_import_open(exported, &r->near.described, import) != HEDDLE_SUCCESS;
}

static bool receives_all(const struct reduction *r, int rank)
{
    return r->to_all || rank == r->root;
}

static void open_all(struct reduction *r, bool with_results)
{
    r->is_open = true;
    for (int rank = 0; rank < r->call.comm->local_size; rank++) {
        const struct MPIDI_UCX_record *record = MPIDI_UCX_coll_record(&r->call, rank);
        r->made[rank] = NULL;
        open_of(r, rank, &record->sent, &r->others[rank]);
        if (with_results && receives_all(r, rank))
            open_of(r, rank, &record->result, &r->made[rank]);
    }
}

/* Before the meeting after which its owner may free it. */
static void close_all(struct reduction *r)
{
    for (int rank = 0; r->is_open && rank < r->call.comm->local_size; rank++) {
        heddle_import_release(r->others[rank]);
        heddle_import_release(r->made[rank]);
    }
    r->is_open = false;
}

static void release(struct MPIDI_UCX_coll_call *call)
{
    struct reduction *r = of(call);
    heddle_scratch_free(r->scratch);
    r->scratch = NULL;
    close_all(r);
}

/* ---- combining ------------------------------------------------------------------------------- */

/* Combines bytes `at` to `at + bytes` of all vectors into each of `to`; then goes on with `then`.
 */
static void fold(struct reduction *r, int64_t at, int64_t bytes, const heddle_target *to, int n_to,
                 MPIDI_UCX_coll_step then)
{
    heddle_operand from[MPIDI_UCX_COLL_MOST];
    const int size = r->call.comm->local_size;
    struct heddle_request *work = NULL;
    int error = HEDDLE_SUCCESS;
    if (bytes > 0 && r->call.error == MPI_SUCCESS && !r->call.is_unopened) {
        for (int rank = 0; rank < size; rank++) {
            const struct MPIDI_UCX_block *block = MPIDI_UCX_coll_block(&r->call, rank);
            const char *base = r->others[rank] == NULL
                                   ? r->sent.buf
                                   : (char *)heddle_import_address(r->others[rank]) + block->shift;
            from[rank] = (heddle_operand){base + at, r->others[rank]};
        }
        const heddle_fold combined = {.size = sizeof(combined),
                                      .from = from,
                                      .n = size,
                                      .to = to,
                                      .n_to = n_to,
                                      .near = &r->near.described,
                                      .bytes = bytes,
                                      .op = r->op,
                                      .basic = r->element};
        error =
            r->call.is_blocking ? heddle_fold_run(&combined) : heddle_fold_begin(&combined, &work);
    }
    MPIDI_UCX_coll_await_work(&r->call, error, work, then);
}

static void copy(struct reduction *r, void *from, void *to, int64_t bytes, MPIDI_UCX_coll_step then)
{
    const heddle_type *byte = heddle_type_predefined(HEDDLE_BYTE);
    const heddle_move move = {
        {from, bytes, byte, 0}, {to, bytes, byte, 0}, bytes, HEDDLE_OP_REPLACE};
    struct heddle_request *work = NULL;
    const int error =
        r->call.is_blocking ? heddle_transfer(&move, 1) : heddle_transfer_begin(&move, 1, &work);
    MPIDI_UCX_coll_await_work(&r->call, error, work, then);
}

static void copied(struct MPIDI_UCX_coll_call *call)
{
    MPIDI_UCX_coll_end(call, MPIDI_UCX_coll_worst(call), false);
}

static void all_combined(struct MPIDI_UCX_coll_call *call)
{
    struct reduction *r = of(call);
    if (MPIDI_UCX_coll_worst(call) <= MPIDI_UCX_COLL_FAILED && call->error == MPI_SUCCESS &&
        r->scratch != NULL)
        copy(r, r->scratch, r->result, call->bytes, copied);
    else
        copied(call);
}

static void combined(struct MPIDI_UCX_coll_call *call)
{
    close_all(of(call));
    MPIDI_UCX_coll_agree(call, all_combined);
}

/* Each member that has a result combines all of it. In place, where others may read the result's
 * memory until all have combined, it waits in scratch memory. */
static void combine_whole(struct reduction *r)
{
    const int64_t bytes = r->result != NULL ? r->call.bytes : 0;
    const bool is_read = r->call.is_in_place && (r->to_all || r->is_scattered);
    if (bytes > 0)
        open_all(r, false);
    if (bytes > 0 && is_read)
        MPIDI_UCX_coll_fail(&r->call, heddle_scratch_alloc(bytes, r->result, &r->scratch));
    const heddle_target to = {is_read ? r->scratch : r->result, NULL};
    fold(r, r->at, bytes, &to, 1, combined);
}

/* ---- slices ---------------------------------------------------------------------------------- */

/* Member `rank` combines these bytes. */
static int64_t slice_of(const struct reduction *r, int rank, int64_t *bytes)
{
    const int64_t each = MPL_ROUND_UP_ALIGN(
        (r->bytes + r->call.comm->local_size - 1) / r->call.comm->local_size, SLICE_ALIGNMENT);
    const int64_t at = MPL_MIN(rank * each, r->bytes);
    *bytes = MPL_MIN(each, r->bytes - at);
    return at;
}

/* Where a slice is wrong, so are the results. */
static void slices_combined(struct MPIDI_UCX_coll_call *call)
{
    MPIDI_UCX_coll_end(call, MPIDI_UCX_coll_worst(call), true);
}

static void combined_slice(struct MPIDI_UCX_coll_call *call)
{
    close_all(of(call));
    MPIDI_UCX_coll_agree(call, slices_combined);
}

static void slices_opened(struct MPIDI_UCX_coll_call *call)
{
    struct reduction *r = of(call);
    heddle_target to[MPIDI_UCX_COLL_MOST];
    const int size = call->comm->local_size;
    int64_t bytes;
    int n = 0;
    const int64_t at = slice_of(r, call->comm->rank, &bytes);
    const enum MPIDI_UCX_outcome worst = MPIDI_UCX_coll_worst(call);
    if (worst > MPIDI_UCX_COLL_FAILED) {
        MPIDI_UCX_coll_end(call, worst, false);
        return;
    }
    for (int i = 0; i < size; i++) { /* each begins with itself: not all write to one at a time */
        const int rank = (call->comm->rank + i) % size;
        if (receives_all(r, rank)) {
            heddle_import *made = r->made[rank];
            char *result = made == NULL ? r->result : heddle_import_address(made);
            to[n++] = (heddle_target){result + at, made};
        }
    }
    call->is_written = receives_all(r, call->comm->rank);
    fold(r, at, bytes, to, n, combined_slice);
}

/* Before anything is written, all have opened what they need: vectors may be results, too. */
static void combine_slices(struct reduction *r)
{
    open_all(r, true);
    MPIDI_UCX_coll_agree(&r->call, slices_opened);
}

static bool is_beyond_scratch(const struct reduction *r, bool is_in_place)
{
    return r->to_all && is_in_place && r->bytes > MOST_SCRATCH;
}

static bool is_in_slices(const struct reduction *r, bool is_in_place)
{
    const int64_t size = r->call.comm->local_size;
    const int64_t twice_over_links = r->bytes / size * (size - 1) * (size - 2);
    return !r->is_scattered &&
           (twice_over_links > BYTES_OF_A_MEETING || is_beyond_scratch(r, is_in_place));
}

/* ---- a call ---------------------------------------------------------------------------------- */

static void tell(struct MPIDI_UCX_coll_call *call)
{
    struct reduction *r = of(call);
    call->own->is_in_place = r->is_in_place;
    call->own->is_result_open = false;
    MPIDI_UCX_coll_tell(call, &r->sent, 1);
    if (call->own->why_not == MPIDI_UCX_COLL_CAN && r->bytes > 0) {
        /* Whether another is in place, is not known yet. */
        const bool may_be_in_slices = is_in_slices(r, true);
        if (r->received > 0) {
            MPIDI_UCX_describe_any(r->result, r->received, r->sent.type, &r->near);
            if (!MPIDI_UCX_is_of_device(&r->near))
                call->own->why_not = MPIDI_UCX_COLL_RESULT;
            if (may_be_in_slices)
                MPIDI_UCX_coll_tell_result(call, r->result, r->bytes);
        } else if (may_be_in_slices) {
            MPIDI_UCX_describe_any(r->sent.buf, r->sent.count, r->sent.type, &r->near);
        }
    }
    MPIDI_UCX_coll_told(call);
}

/* Others write slices there. */
static bool are_results_open(const struct reduction *r)
{
    for (int rank = 0; rank < r->call.comm->local_size; rank++)
        if (receives_all(r, rank) && !MPIDI_UCX_coll_record(&r->call, rank)->is_result_open)
            return false;
    return true;
}

/* All members have the same number of elements: else the call goes its usual way. */
static void decided(struct MPIDI_UCX_coll_call *call)
{
    struct reduction *r = of(call);
    for (int rank = 0; rank < call->comm->local_size; rank++)
        if (MPIDI_UCX_coll_block(call, rank)->bytes != MPIDI_UCX_coll_block(call, 0)->bytes) {
            MPIDI_UCX_coll_decline(call);
            return;
        }
    if (is_in_slices(r, call->is_in_place) && are_results_open(r))
        combine_slices(r);
    else if (is_beyond_scratch(r, call->is_in_place))
        MPIDI_UCX_coll_decline(call);
    else
        combine_whole(r);
}

/* Operators and types of devices are MPI's own, and stay. */
static void forget(struct MPIDI_UCX_coll_call *call) { (void)call; }

/* A reduction of `count` elements, of which this member receives `received`, from element `before`
 * on. */
static int reduce(const struct MPIR_Direct_reduce *call, const char *name, MPI_Aint count,
                  MPI_Aint received, MPI_Aint before, bool is_scattered)
{
    int op = 0, element = 0;
    const bool is_in_place = call->sendbuf == MPI_IN_PLACE;
    const MPI_Aint size = MPIR_Coll_size(call->type);
    const bool may_combine = MPIR_Typerep_device_combines(call->op, call->type, &op, &element);
    const struct MPIDI_UCX_coll_call what = {.name = name,
                                             .comm = call->comm,
                                             .why_not = may_combine ? MPIDI_UCX_COLL_CAN
                                                                    : MPIDI_UCX_COLL_OPERATOR,
                                             .tell = tell,
                                             .decided = decided,
                                             .release = release,
                                             .forget = forget,
                                             .bytes = received * size};
    struct reduction place, *r = MPIDI_UCX_coll_begin(&what, &call->ends, &place, sizeof(place));
    if (r == NULL)
        return false;
    r->op = (heddle_op)op;
    r->element = (heddle_predefined)element;
    r->sent =
        (struct MPIDI_UCX_data){is_in_place ? call->recvbuf : call->sendbuf, count, call->type};
    r->bytes = MPIDI_UCX_data_bytes(&r->sent);
    r->result = received > 0 ? call->recvbuf : NULL;
    r->received = received;
    r->at = before * size;
    r->is_in_place = is_in_place;
    r->to_all = !is_scattered && call->root < 0;
    r->is_scattered = is_scattered;
    r->root = call->root;
    r->scratch = NULL;
    r->is_open = false;
    return MPIDI_UCX_coll_go(&r->call, &call->ends);
}

/* ---- MPI's collectives ----------------------------------------------------------------------- */

int MPIDI_UCX_coll_reduce(const struct MPIR_Direct_reduce *call)
{
    const bool to_all = call->root < 0;
    const bool receives = to_all || call->comm->rank == call->root;
    return reduce(call, to_all ? "allreduce" : "reduce", call->count, receives ? call->count : 0, 0,
                  false);
}

int MPIDI_UCX_coll_reduce_scatter(const struct MPIR_Direct_reduce *call)
{
    MPI_Aint total = 0, before = 0, own = 0;
    for (int i = 0; i < call->comm->local_size; i++) {
        const MPI_Aint count = call->counts == NULL ? call->count : call->counts[i];
        if (i == call->comm->rank) {
            before = total;
            own = count;
        }
        total += count;
    }
    return reduce(call, call->counts == NULL ? "reduce_scatter_block" : "reduce_scatter", total,
                  own, before, true);
}

#endif
