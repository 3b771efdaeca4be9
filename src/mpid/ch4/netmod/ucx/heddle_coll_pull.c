/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Direct collectives (heddle_coll_direct.h) that move data: each member takes what it is to receive
 * straight out of the others' buffers, all of it in one launch or a few.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include "heddle_coll_direct.h"

#if MPIR_TYPEREP_SENDS_DEVICE

#define NOTHING (-1) /* the count of what is not received at all */

/* The moves of a member. */
struct pulls {
    struct MPIDI_UCX_buffer near; /* the first that is received in */
    int n;
    heddle_packing packing[MPIDI_UCX_COLL_MOST];
    heddle_side side[MPIDI_UCX_COLL_MOST]; /* that is received in */
    heddle_import *import[MPIDI_UCX_COLL_MOST];
};

/* What this member sends, and what it receives from each. */
struct exchange {
    struct MPIDI_UCX_coll_call call;
    int blocks; /* that are sent, as in the record */
    struct MPIDI_UCX_data send[MPIDI_UCX_COLL_MOST];
    struct MPIDI_UCX_data take[MPIDI_UCX_COLL_MOST];
    struct MPIDI_UCX_data own; /* taken from itself */
    bool must_pack;
    struct MPIDI_UCX_packed packed;
    struct pulls pulls;
};

static struct exchange *of(struct MPIDI_UCX_coll_call *call) { return (struct exchange *)call; }

/* ---- moving ---------------------------------------------------------------------------------- */

static heddle_side side_of(const struct MPIDI_UCX_data *data)
{
    return (heddle_side){(void *)data->buf, data->count, MPIR_Typerep_committed(data->type), 0};
}

/* The driver is asked once, for the blocks of a buffer lie together. */
static int describe(struct exchange *x)
{
    for (int rank = 0; rank < x->call.comm->local_size; rank++) {
        const struct MPIDI_UCX_data *take = &x->take[rank];
        if (MPIDI_UCX_data_bytes(take) == 0)
            continue;
        MPIDI_UCX_describe_any(take->buf, take->count, take->type, &x->pulls.near);
        return x->pulls.near.error;
    }
    return HEDDLE_SUCCESS;
}

/* Adds the move of what comes from `rank`. False: its memory could not be opened. */
static bool add(struct exchange *x, int rank)
{
    struct pulls *p = &x->pulls;
    const bool is_own = rank == x->call.comm->rank;
    const int64_t room = MPIDI_UCX_data_bytes(&x->take[rank]);
    const int64_t sent =
        is_own ? MPIDI_UCX_data_bytes(&x->own) : MPIDI_UCX_coll_block(&x->call, rank)->bytes;
    heddle_packing *packing = &p->packing[p->n];
    int error = HEDDLE_SUCCESS;
    if (x->take[rank].count == NOTHING)
        return true;
    if (sent > room)
        MPIDI_UCX_coll_fail(&x->call, HEDDLE_ERR_TRUNCATE);
    if (room == 0 || sent == 0)
        return true;
    p->import[p->n] = NULL;
    if (!is_own && heddle_import_open(&MPIDI_UCX_coll_record(&x->call, rank)->sent,
                                      &p->near.described, &p->import[p->n]) != HEDDLE_SUCCESS)
        return false;
    p->side[p->n] = side_of(&x->take[rank]);
    *packing = (heddle_packing){.buffer = &p->near.described,
                                .bytes = MPL_MIN(sent, room),
                                .unpacks = 1,
                                .import = p->import[p->n],
                                .side = &p->side[p->n]};
    if (is_own)
        packing->remote = side_of(&x->own);
    else
        error = MPIDI_UCX_coll_side(&x->call, rank, packing->import, &packing->remote);
    MPIDI_UCX_coll_fail(&x->call, error);
    p->n++;
    return true;
}

/* Members begin with different ones: not all read the same memory first. */
static void open_all(struct exchange *x)
{
    const int size = x->call.comm->local_size;
    for (int i = 0; i < size && !x->call.is_unopened; i++)
        x->call.is_unopened = !add(x, (x->call.comm->rank + i) % size);
}

static void close_all(struct pulls *p)
{
    for (int i = 0; i < p->n; i++) {
        if (p->import[i] != NULL)
            heddle_type_release((struct heddle_type *)p->packing[i].remote.type);
        heddle_import_release(p->import[i]);
    }
    p->n = 0;
}

static void release(struct MPIDI_UCX_coll_call *call)
{
    close_all(&of(call)->pulls);
    MPIDI_UCX_coll_forget_packed(&of(call)->packed);
}

static void agreed(struct MPIDI_UCX_coll_call *call)
{
    MPIDI_UCX_coll_end(call, MPIDI_UCX_coll_worst(call), false);
}

static void moved(struct MPIDI_UCX_coll_call *call)
{
    close_all(&of(call)->pulls);
    MPIDI_UCX_coll_agree(call, agreed);
}

static void move(struct MPIDI_UCX_coll_call *call)
{
    struct pulls *p = &of(call)->pulls;
    struct heddle_request *work = NULL;
    int error = HEDDLE_SUCCESS;
    if (!call->is_unopened && p->n > 0)
        error = heddle_packing_begin(p->packing, p->n, &work);
    MPIDI_UCX_coll_await_work(call, error, work, moved);
}

static void opened(struct MPIDI_UCX_coll_call *call)
{
    const enum MPIDI_UCX_outcome worst = MPIDI_UCX_coll_worst(call);
    if (worst == MPIDI_UCX_COLL_UNOPENED)
        MPIDI_UCX_coll_end(call, worst, false);
    else
        move(call);
}

/* In place the usual way needs what a move overwrites, so all have opened what they need before. */
static void pull(struct MPIDI_UCX_coll_call *call)
{
    struct exchange *x = of(call);
    MPIDI_UCX_coll_fail(call, describe(x));
    if (call->error == MPI_SUCCESS)
        open_all(x);
    if (x->must_pack)
        MPIDI_UCX_coll_agree(call, opened);
    else
        move(call);
}

/* Where packing has failed, this member's call fails, and the others get the data all the same. */
static void tell_packed(struct MPIDI_UCX_coll_call *call)
{
    struct exchange *x = of(call);
    call->is_packed = call->error == MPI_SUCCESS;
    MPIDI_UCX_coll_tell(call, call->is_packed ? x->packed.data : x->send, x->blocks);
    MPIDI_UCX_coll_told(call);
}

static bool sends_to_others(const struct exchange *x)
{
    for (int rank = 0; rank < x->call.comm->local_size; rank++)
        if (rank != x->call.comm->rank && MPIDI_UCX_data_bytes(&x->send[rank]) > 0)
            return true;
    return false;
}

/* False: what it sends is not packed. */
static bool packs(struct exchange *x, bool always)
{
    struct heddle_request *work = NULL;
    if (!MPIDI_UCX_coll_pack(&x->call, x->send, x->blocks, always, &x->packed, &work))
        return false;
    MPIDI_UCX_coll_await_work(&x->call, HEDDLE_SUCCESS, work, tell_packed);
    return true;
}

static void tell(struct MPIDI_UCX_coll_call *call)
{
    struct exchange *x = of(call);
    uint32_t *why_not = &call->own->why_not;
    if (packs(x, x->must_pack))
        return;
    if (x->must_pack && *why_not == MPIDI_UCX_COLL_CAN && sends_to_others(x))
        *why_not = MPIDI_UCX_COLL_IN_PLACE;
    MPIDI_UCX_coll_tell(call, x->send, x->blocks);
    if (*why_not == MPIDI_UCX_COLL_CLOSED) {
        *why_not = MPIDI_UCX_COLL_CAN;
        if (packs(x, true))
            return;
        *why_not = MPIDI_UCX_COLL_CLOSED;
    }
    MPIDI_UCX_coll_told(call);
}

/* ---- types that stay until the call is over -------------------------------------------------- */

static void for_each_type(const struct exchange *x, void (*does)(MPI_Datatype type))
{
    for (int i = 0; i < x->blocks; i++)
        does(x->send[i].type);
    for (int rank = 0; rank < x->call.comm->local_size; rank++)
        if (x->take[rank].count != NOTHING)
            does(x->take[rank].type);
    if (x->own.count != 0)
        does(x->own.type);
}

static void keep_type(MPI_Datatype type) { MPIR_Datatype_add_ref_if_not_builtin(type); }
static void forget_type(MPI_Datatype type) { MPIR_Datatype_release_if_not_builtin(type); }
static void forget(struct MPIDI_UCX_coll_call *call) { for_each_type(of(call), forget_type); }

/* ---- beginning ------------------------------------------------------------------------------- */

static struct exchange *begin(struct MPIDI_UCX_coll_call what, const struct MPIR_Direct_ends *ends,
                              struct exchange *place)
{
    what.tell = tell;
    what.decided = pull;
    what.release = release;
    what.forget = forget;
    struct exchange *x = MPIDI_UCX_coll_begin(&what, ends, place, sizeof(*place));
    if (x == NULL)
        return NULL;
    for (int rank = 0; rank < what.comm->local_size; rank++)
        x->take[rank].count = NOTHING;
    x->own.count = 0;
    x->blocks = 0;
    x->pulls.n = 0;
    x->must_pack = false;
    x->packed.is_packed = false;
    return x;
}

/* What MPICH's file is answered. */
static int end(struct exchange *x, const struct MPIR_Direct_ends *ends)
{
    x->call.bytes = 0;
    for (int rank = 0; rank < x->call.comm->local_size; rank++)
        x->call.bytes += MPIDI_UCX_data_bytes(&x->take[rank]);
    if (!x->call.is_blocking)
        for_each_type(x, keep_type);
    return MPIDI_UCX_coll_go(&x->call, ends);
}

/* ---- MPI's collectives ----------------------------------------------------------------------- */

#define CALL(what)                                                                                 \
    (struct MPIDI_UCX_coll_call) { .name = what, .comm = call->comm }

/* Block `displ` of a buffer, in extents of its type. */
static struct MPIDI_UCX_data block_of(const void *buf, MPI_Aint displ, MPI_Aint count,
                                      MPI_Datatype type)
{
    return (struct MPIDI_UCX_data){MPIR_Coll_displaced((void *)buf, displ, type), count, type};
}

int MPIDI_UCX_coll_bcast(const struct MPIR_Direct_bcast *call)
{
    struct exchange place, *x = begin(CALL("bcast"), &call->ends, &place);
    if (x == NULL)
        return false;
    x->send[0] = (struct MPIDI_UCX_data){call->buf, call->count, call->type};
    if (call->comm->rank == call->root)
        x->blocks = 1;
    else
        x->take[call->root] = x->send[0];
    return end(x, &call->ends);
}

/* A member's own block stays where it is, in place. Others read it if all receive all. */
static void send_block(struct exchange *x, bool is_in_place, bool to_all, bool to_root)
{
    const int rank = x->call.comm->rank;
    if (is_in_place) {
        x->send[0] = x->take[rank];
        x->take[rank].count = NOTHING;
    } else {
        x->own = x->send[0];
    }
    x->blocks = to_all || to_root;
}

int MPIDI_UCX_coll_gather(const struct MPIR_Direct_equal *call)
{
    const bool to_all = call->root < 0, is_root = call->comm->rank == call->root;
    struct exchange place, *x = begin(CALL(to_all ? "allgather" : "gather"), &call->ends, &place);
    if (x == NULL)
        return false;
    for (int i = 0; (to_all || is_root) && i < call->comm->local_size; i++)
        x->take[i] = block_of(call->recvbuf, i * call->recvcount, call->recvcount, call->recvtype);
    x->send[0] = (struct MPIDI_UCX_data){call->sendbuf, call->sendcount, call->sendtype};
    send_block(x, call->sendbuf == MPI_IN_PLACE, to_all, !is_root);
    return end(x, &call->ends);
}

int MPIDI_UCX_coll_gatherv(const struct MPIR_Direct_gatherv *call)
{
    const bool to_all = call->root < 0, is_root = call->comm->rank == call->root;
    struct exchange place, *x = begin(CALL(to_all ? "allgatherv" : "gatherv"), &call->ends, &place);
    if (x == NULL)
        return false;
    for (int i = 0; (to_all || is_root) && i < call->comm->local_size; i++)
        x->take[i] = block_of(call->recvbuf, call->displs[i], call->recvcounts[i], call->recvtype);
    x->send[0] = (struct MPIDI_UCX_data){call->sendbuf, call->sendcount, call->sendtype};
    send_block(x, call->sendbuf == MPI_IN_PLACE, to_all, !is_root);
    return end(x, &call->ends);
}

/* What a member of a scatter takes. */
static void take_block(struct exchange *x, int root, const struct MPIDI_UCX_data *block)
{
    if (block->buf != MPI_IN_PLACE)
        x->take[root] = *block;
    if (x->call.comm->rank == root) {
        x->blocks = x->call.comm->local_size;
        x->own = x->send[root];
        if (block->buf == MPI_IN_PLACE)
            x->own.count = 0;
    }
}

int MPIDI_UCX_coll_scatter(const struct MPIR_Direct_equal *call)
{
    const struct MPIDI_UCX_data block = {call->recvbuf, call->recvcount, call->recvtype};
    struct exchange place, *x = begin(CALL("scatter"), &call->ends, &place);
    if (x == NULL)
        return false;
    for (int i = 0; call->comm->rank == call->root && i < call->comm->local_size; i++)
        x->send[i] = block_of(call->sendbuf, i * call->sendcount, call->sendcount, call->sendtype);
    take_block(x, call->root, &block);
    return end(x, &call->ends);
}

int MPIDI_UCX_coll_scatterv(const struct MPIR_Direct_scatterv *call)
{
    const struct MPIDI_UCX_data block = {call->recvbuf, call->recvcount, call->recvtype};
    struct exchange place, *x = begin(CALL("scatterv"), &call->ends, &place);
    if (x == NULL)
        return false;
    for (int i = 0; call->comm->rank == call->root && i < call->comm->local_size; i++)
        x->send[i] = block_of(call->sendbuf, call->displs[i], call->sendcounts[i], call->sendtype);
    take_block(x, call->root, &block);
    return end(x, &call->ends);
}

/* What a member of an exchange of all with all sends to itself. In place it sends what it receives
 * in, which must be packed: blocks are overwritten before others have read them. */
static int end_alltoall(struct exchange *x, bool is_in_place, const struct MPIR_Direct_ends *ends)
{
    const int rank = x->call.comm->rank;
    x->blocks = x->call.comm->local_size;
    x->must_pack = is_in_place;
    if (is_in_place)
        x->take[rank].count = NOTHING;
    else
        x->own = x->send[rank];
    return end(x, ends);
}

int MPIDI_UCX_coll_alltoall(const struct MPIR_Direct_equal *call)
{
    const bool is_in_place = call->sendbuf == MPI_IN_PLACE;
    struct exchange place, *x = begin(CALL("alltoall"), &call->ends, &place);
    if (x == NULL)
        return false;
    for (int i = 0; i < call->comm->local_size; i++) {
        x->take[i] = block_of(call->recvbuf, i * call->recvcount, call->recvcount, call->recvtype);
        x->send[i] = is_in_place ? x->take[i]
                                 : block_of(call->sendbuf, i * call->sendcount, call->sendcount,
                                            call->sendtype);
    }
    return end_alltoall(x, is_in_place, &call->ends);
}

int MPIDI_UCX_coll_alltoallv(const struct MPIR_Direct_alltoallv *call)
{
    const bool is_in_place = call->sendbuf == MPI_IN_PLACE;
    struct exchange place, *x = begin(CALL("alltoallv"), &call->ends, &place);
    if (x == NULL)
        return false;
    for (int i = 0; i < call->comm->local_size; i++) {
        x->take[i] = block_of(call->recvbuf, call->rdispls[i], call->recvcounts[i], call->recvtype);
        x->send[i] = is_in_place ? x->take[i]
                                 : block_of(call->sendbuf, call->sdispls[i], call->sendcounts[i],
                                            call->sendtype);
    }
    return end_alltoall(x, is_in_place, &call->ends);
}

int MPIDI_UCX_coll_alltoallw(const struct MPIR_Direct_alltoallw *call)
{
    const bool is_in_place = call->sendbuf == MPI_IN_PLACE;
    struct exchange place, *x = begin(CALL("alltoallw"), &call->ends, &place);
    if (x == NULL)
        return false;
    for (int i = 0; i < call->comm->local_size; i++) {
        x->take[i] = (struct MPIDI_UCX_data){(const char *)call->recvbuf + call->rdispls[i],
                                             call->recvcounts[i], call->recvtypes[i]};
        if (is_in_place)
            x->send[i] = x->take[i];
        else
            x->send[i] = (struct MPIDI_UCX_data){(const char *)call->sendbuf + call->sdispls[i],
                                                 call->sendcounts[i], call->sendtypes[i]};
    }
    return end_alltoall(x, is_in_place, &call->ends);
}

#endif
