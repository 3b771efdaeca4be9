/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Direct collectives (heddle_coll_direct.h) that combine: a member reads the vectors of all, in the
 * order of their ranks, and combines them in one launch (heddle_fold_run).
 *
 * - Where each member can combine all of what it needs, it does so. What is long, among more than
 *   two members, would cross each link several times: then each combines a slice, and takes the
 *   others' slices.
 * - The same bits on all members: they combine in one order, or each slice is combined once.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include "heddle_coll_direct.h"

#if MPIR_TYPEREP_SENDS_DEVICE

/* So many bytes more over a link take as long as two meetings and a launch. */
#define BYTES_OF_A_STEP (INT64_C(2) << 20)
/* In place, without slices, the result waits in scratch memory for the others to have read. */
#define MOST_SCRATCH (INT64_C(512) << 10)
#define SLICE_ALIGNMENT 512

struct reduction {
    struct MPIDI_UCX_coll_call call;
    heddle_op op;
    heddle_predefined element;
    const char *from;             /* this member's vector */
    int64_t bytes;                /* of it */
    char *result;                 /* null: none here */
    struct MPIDI_UCX_buffer near; /* it */
    heddle_import *sent[MPIDI_UCX_COLL_MOST], *made[MPIDI_UCX_COLL_MOST];
};

/* ---- memory ---------------------------------------------------------------------------------- */

static bool may_combine(struct reduction *r, const struct MPIR_Direct_reduce *call)
{
    int op, element;
    if (!MPIR_Typerep_device_combines(call->op, call->type, &op, &element))
        return false;
    r->op = (heddle_op)op;
    r->element = (heddle_predefined)element;
    return true;
}

/* Begins a reduction of `count` elements, of which this member receives `received`. */
static bool begin(struct reduction *r, const struct MPIR_Direct_reduce *call, MPI_Aint count,
                  MPI_Aint received)
{
    const bool is_in_place = call->sendbuf == MPI_IN_PLACE;
    struct MPIDI_UCX_data data = {is_in_place ? call->recvbuf : call->sendbuf, count, call->type};
    r->call.why_not = may_combine(r, call) ? MPIDI_UCX_COLL_CAN : MPIDI_UCX_COLL_OPERATOR;
    if (!MPIDI_UCX_coll_begin(&r->call))
        return false;
    r->call.own->is_in_place = is_in_place;
    r->bytes = MPIDI_UCX_data_bytes(&data);
    r->from = data.buf;
    r->result = received > 0 ? call->recvbuf : NULL;
    MPIDI_UCX_coll_tell(&r->call, &data, 1);
    if (received == 0 || r->call.own->why_not != MPIDI_UCX_COLL_CAN || r->bytes == 0)
        return true;
    MPIDI_UCX_describe_any(call->recvbuf, received, call->type, &r->near);
    if (!MPIDI_UCX_is_of_device(&r->near))
        r->call.own->why_not = MPIDI_UCX_COLL_RESULT;
    return true;
}

/* All members have the same number of elements: else the call goes its usual way. */
static bool decide(struct reduction *r, int64_t received)
{
    if (!MPIDI_UCX_coll_decide(&r->call, received))
        return false;
    for (int rank = 0; rank < r->call.comm->local_size; rank++)
        if (MPIDI_UCX_coll_block(&r->call, rank)->bytes != MPIDI_UCX_coll_block(&r->call, 0)->bytes)
            return false;
    return true;
}

static void open_of(struct reduction *r, int rank, const heddle_exported *exported,
                    heddle_import **import)
{
    *import = NULL;
    if (rank != r->call.comm->rank && !r->call.is_unopened)
        r->call.is_unopened =
            heddle_import_open(exported, &r->near.described, import) != HEDDLE_SUCCESS;
}

static void open_all(struct reduction *r, bool with_results)
{
    for (int rank = 0; rank < r->call.comm->local_size; rank++) {
        const struct MPIDI_UCX_record *record = MPIDI_UCX_coll_record(&r->call, rank);
        r->made[rank] = NULL;
        open_of(r, rank, &record->sent, &r->sent[rank]);
        if (with_results)
            open_of(r, rank, &record->result, &r->made[rank]);
    }
}

static void close_all(const struct reduction *r)
{
    for (int rank = 0; rank < r->call.comm->local_size; rank++) {
        heddle_import_release(r->sent[rank]);
        heddle_import_release(r->made[rank]);
    }
}

/* ---- combining ------------------------------------------------------------------------------- */

/* Combines bytes `at` to `at + bytes` of all vectors into `to`. */
static void fold(struct reduction *r, int64_t at, int64_t bytes, char *to)
{
    heddle_operand from[MPIDI_UCX_COLL_MOST];
    const int size = r->call.comm->local_size;
    if (bytes <= 0 || r->call.error != MPI_SUCCESS || r->call.is_unopened)
        return;
    for (int rank = 0; rank < size; rank++) {
        const struct MPIDI_UCX_block *block = MPIDI_UCX_coll_block(&r->call, rank);
        const char *base = r->sent[rank] == NULL
                               ? r->from
                               : (char *)heddle_import_address(r->sent[rank]) + block->shift;
        from[rank] = (heddle_operand){base + at, r->sent[rank]};
    }
    const heddle_fold combined = {.size = sizeof(combined),
                                  .from = from,
                                  .n = size,
                                  .to = &r->near.described,
                                  .at = to,
                                  .bytes = bytes,
                                  .op = r->op,
                                  .basic = r->element};
    MPIDI_UCX_coll_fail(&r->call, heddle_fold_run(&combined));
}

static void copy(struct reduction *r, void *from, void *to, int64_t bytes)
{
    const heddle_type *byte = heddle_type_predefined(HEDDLE_BYTE);
    const heddle_move move = {
        {from, bytes, byte, 0}, {to, bytes, byte, 0}, bytes, HEDDLE_OP_REPLACE};
    MPIDI_UCX_coll_fail(&r->call, heddle_transfer(&move, 1));
}

/* Each member that has a result combines all of it: bytes `at` to `at + bytes`. `is_read`: others
 * may read the result's memory until all have combined. */
static void combine_whole(struct reduction *r, int64_t at, int64_t bytes, bool is_read)
{
    void *scratch = NULL;
    const bool is_mine = r->result != NULL && bytes > 0;
    r->call.is_unopened = false;
    if (is_mine)
        open_all(r, false);
    if (is_mine && is_read)
        MPIDI_UCX_coll_fail(&r->call, heddle_scratch_alloc(bytes, r->result, &scratch));
    if (is_mine)
        fold(r, at, bytes, is_read ? scratch : r->result);
    const enum MPIDI_UCX_outcome worst = MPIDI_UCX_coll_agree(&r->call);
    if (worst <= MPIDI_UCX_COLL_FAILED && r->call.error == MPI_SUCCESS && scratch != NULL)
        copy(r, scratch, r->result, bytes);
    heddle_scratch_free(scratch);
    if (is_mine)
        close_all(r);
    MPIDI_UCX_coll_end(&r->call, worst, false);
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

/* Takes what the others have combined. */
static void take_slices(struct reduction *r)
{
    heddle_packing packing[MPIDI_UCX_COLL_MOST];
    heddle_side side[MPIDI_UCX_COLL_MOST];
    const heddle_type *byte = heddle_type_predefined(HEDDLE_BYTE);
    const int size = r->call.comm->local_size;
    struct heddle_request *request = NULL;
    int n = 0;
    for (int i = 1; i < size; i++) {
        int64_t bytes;
        const int rank = (r->call.comm->rank + i) % size;
        const int64_t at = slice_of(r, rank, &bytes);
        if (bytes == 0)
            continue;
        side[n] = (heddle_side){r->result + at, bytes, byte, 0};
        packing[n] = (heddle_packing){
            .buffer = &r->near.described,
            .bytes = bytes,
            .unpacks = 1,
            .remote = {(char *)heddle_import_address(r->made[rank]) + at, bytes, byte, 0},
            .import = r->made[rank],
            .side = &side[n]};
        n++;
    }
    int error = heddle_packing_begin(packing, n, &request);
    if (error == HEDDLE_SUCCESS)
        error = heddle_wait(&request);
    MPIDI_UCX_coll_fail(&r->call, error);
}

/* Before anything is written, all have opened what they need: vectors may be results, too. */
static void combine_slices(struct reduction *r)
{
    int64_t bytes;
    const int64_t at = slice_of(r, r->call.comm->rank, &bytes);
    open_all(r, true);
    enum MPIDI_UCX_outcome worst = MPIDI_UCX_coll_agree(&r->call);
    if (worst <= MPIDI_UCX_COLL_FAILED) {
        fold(r, at, bytes, r->result + at);
        worst = MPIDI_UCX_coll_agree(&r->call);
    }
    const bool is_wrong = worst == MPIDI_UCX_COLL_FAILED;
    if (worst == MPIDI_UCX_COLL_DONE) {
        take_slices(r);
        worst = MPIDI_UCX_coll_agree(&r->call);
    }
    close_all(r);
    MPIDI_UCX_coll_end(&r->call, worst, is_wrong);
}

static bool is_in_slices(const struct reduction *r, bool is_in_place)
{
    const int64_t size = r->call.comm->local_size;
    const int64_t twice_over_links = r->bytes / size * (size - 1) * (size - 2);
    return twice_over_links > BYTES_OF_A_STEP || (is_in_place && r->bytes > MOST_SCRATCH);
}

/* ---- MPI's collectives ----------------------------------------------------------------------- */

#define CALL(what)                                                                                 \
    {                                                                                              \
        .name = what, .comm = call->comm, .errflag = call->errflag, .mpi_errno = call->mpi_errno   \
    }

int MPIDI_UCX_coll_reduce(const struct MPIR_Direct_reduce *call)
{
    struct reduction r;
    const bool to_all = call->root < 0;
    const bool receives = to_all || call->comm->rank == call->root;
    r.call = (struct MPIDI_UCX_coll_call)CALL(to_all ? "allreduce" : "reduce");
    if (!begin(&r, call, call->count, receives ? call->count : 0))
        return r.call.is_over;
    if (to_all && is_in_slices(&r, true)) /* whether another is in place, is not known yet */
        MPIDI_UCX_coll_tell_result(&r.call, call->recvbuf, r.bytes);
    if (!decide(&r, receives ? r.bytes : 0))
        return r.call.is_over;
    if (to_all && is_in_slices(&r, r.call.is_in_place))
        combine_slices(&r);
    else
        combine_whole(&r, 0, r.bytes, to_all && r.call.is_in_place);
    return r.call.is_over;
}

int MPIDI_UCX_coll_reduce_scatter(const struct MPIR_Direct_reduce *call)
{
    struct reduction r;
    MPI_Aint total = 0, before = 0, own = 0;
    const MPI_Aint size = MPIR_Coll_size(call->type);
    for (int i = 0; i < call->comm->local_size; i++) {
        const MPI_Aint count = call->counts == NULL ? call->count : call->counts[i];
        if (i == call->comm->rank) {
            before = total;
            own = count;
        }
        total += count;
    }
    r.call = (struct MPIDI_UCX_coll_call)CALL(call->counts == NULL ? "reduce_scatter_block"
                                                                   : "reduce_scatter");
    if (!begin(&r, call, total, own))
        return r.call.is_over;
    if (!decide(&r, own * size))
        return r.call.is_over;
    combine_whole(&r, before * size, own * size, r.call.is_in_place);
    return r.call.is_over;
}

#endif
