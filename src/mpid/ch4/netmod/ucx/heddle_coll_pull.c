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

/* What this member sends, and what it receives from each. */
struct exchange {
    struct MPIDI_UCX_coll_call call;
    int blocks; /* that are sent, as in the record */
    struct MPIDI_UCX_data send[MPIDI_UCX_COLL_MOST];
    struct MPIDI_UCX_data take[MPIDI_UCX_COLL_MOST];
    struct MPIDI_UCX_data own; /* taken from itself */
};

/* The moves of a member. */
struct pulls {
    struct MPIDI_UCX_buffer near; /* the first that is received in */
    int n;
    heddle_packing packing[MPIDI_UCX_COLL_MOST];
    heddle_side side[MPIDI_UCX_COLL_MOST]; /* that is received in */
    heddle_import *import[MPIDI_UCX_COLL_MOST];
};

/* ---- moving ---------------------------------------------------------------------------------- */

static heddle_side side_of(const struct MPIDI_UCX_data *data)
{
    return (heddle_side){(void *)data->buf, data->count, MPIR_Typerep_committed(data->type), 0};
}

/* The driver is asked once, for the blocks of a buffer lie together. */
static int describe(const struct exchange *x, struct pulls *p)
{
    for (int rank = 0; rank < x->call.comm->local_size; rank++) {
        const struct MPIDI_UCX_data *take = &x->take[rank];
        if (MPIDI_UCX_data_bytes(take) == 0)
            continue;
        MPIDI_UCX_describe_any(take->buf, take->count, take->type, &p->near);
        return p->near.error;
    }
    return HEDDLE_SUCCESS;
}

/* Adds the move of what comes from `rank`. False: its memory could not be opened. */
static bool add(struct exchange *x, struct pulls *p, int rank)
{
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
static void open_all(struct exchange *x, struct pulls *p)
{
    const int size = x->call.comm->local_size;
    for (int i = 0; i < size && !x->call.is_unopened; i++)
        x->call.is_unopened = !add(x, p, (x->call.comm->rank + i) % size);
}

static void move(struct exchange *x, struct pulls *p)
{
    struct heddle_request *request = NULL;
    int error = heddle_packing_begin(p->packing, p->n, &request);
    if (error == HEDDLE_SUCCESS)
        error = heddle_wait(&request);
    MPIDI_UCX_coll_fail(&x->call, error);
}

static void pull(struct exchange *x)
{
    struct pulls p;
    p.n = 0;
    MPIDI_UCX_coll_fail(&x->call, describe(x, &p));
    if (x->call.error != MPI_SUCCESS)
        return;
    open_all(x, &p);
    if (!x->call.is_unopened && p.n > 0)
        move(x, &p);
    for (int i = 0; i < p.n; i++)
        heddle_import_release(p.import[i]);
}

static int64_t bytes_of(const struct exchange *x)
{
    int64_t bytes = 0;
    for (int rank = 0; rank < x->call.comm->local_size; rank++)
        bytes += MPIDI_UCX_data_bytes(&x->take[rank]);
    return bytes;
}

static bool begin(struct exchange *x)
{
    if (!MPIDI_UCX_coll_begin(&x->call))
        return false;
    for (int rank = 0; rank < x->call.comm->local_size; rank++)
        x->take[rank].count = NOTHING;
    x->own.count = 0;
    x->blocks = 0;
    return true;
}

/* What MPICH's file is answered. */
static int end(struct exchange *x)
{
    MPIDI_UCX_coll_tell(&x->call, x->send, x->blocks);
    if (!MPIDI_UCX_coll_decide(&x->call, bytes_of(x)))
        return x->call.is_over;
    pull(x);
    MPIDI_UCX_coll_end(&x->call, MPIDI_UCX_coll_agree(&x->call), false);
    return x->call.is_over;
}

/* ---- MPI's collectives ----------------------------------------------------------------------- */

#define CALL(what)                                                                                 \
    {                                                                                              \
        .name = what, .comm = call->comm, .errflag = call->errflag, .mpi_errno = call->mpi_errno   \
    }

/* Block `displ` of a buffer, in extents of its type. */
static struct MPIDI_UCX_data block_of(const void *buf, MPI_Aint displ, MPI_Aint count,
                                      MPI_Datatype type)
{
    return (struct MPIDI_UCX_data){MPIR_Coll_displaced((void *)buf, displ, type), count, type};
}

int MPIDI_UCX_coll_bcast(const struct MPIR_Direct_bcast *call)
{
    struct exchange x;
    x.call = (struct MPIDI_UCX_coll_call)CALL("bcast");
    if (!begin(&x))
        return x.call.is_over;
    x.send[0] = (struct MPIDI_UCX_data){call->buf, call->count, call->type};
    if (call->comm->rank == call->root)
        x.blocks = 1;
    else
        x.take[call->root] = x.send[0];
    return end(&x);
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
    struct exchange x;
    const bool to_all = call->root < 0, is_root = call->comm->rank == call->root;
    x.call = (struct MPIDI_UCX_coll_call)CALL(to_all ? "allgather" : "gather");
    if (!begin(&x))
        return x.call.is_over;
    for (int i = 0; (to_all || is_root) && i < call->comm->local_size; i++)
        x.take[i] = block_of(call->recvbuf, i * call->recvcount, call->recvcount, call->recvtype);
    x.send[0] = (struct MPIDI_UCX_data){call->sendbuf, call->sendcount, call->sendtype};
    send_block(&x, call->sendbuf == MPI_IN_PLACE, to_all, !is_root);
    return end(&x);
}

int MPIDI_UCX_coll_gatherv(const struct MPIR_Direct_gatherv *call)
{
    struct exchange x;
    const bool to_all = call->root < 0, is_root = call->comm->rank == call->root;
    x.call = (struct MPIDI_UCX_coll_call)CALL(to_all ? "allgatherv" : "gatherv");
    if (!begin(&x))
        return x.call.is_over;
    for (int i = 0; (to_all || is_root) && i < call->comm->local_size; i++)
        x.take[i] = block_of(call->recvbuf, call->displs[i], call->recvcounts[i], call->recvtype);
    x.send[0] = (struct MPIDI_UCX_data){call->sendbuf, call->sendcount, call->sendtype};
    send_block(&x, call->sendbuf == MPI_IN_PLACE, to_all, !is_root);
    return end(&x);
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
    struct exchange x;
    const struct MPIDI_UCX_data block = {call->recvbuf, call->recvcount, call->recvtype};
    x.call = (struct MPIDI_UCX_coll_call)CALL("scatter");
    if (!begin(&x))
        return x.call.is_over;
    for (int i = 0; call->comm->rank == call->root && i < call->comm->local_size; i++)
        x.send[i] = block_of(call->sendbuf, i * call->sendcount, call->sendcount, call->sendtype);
    take_block(&x, call->root, &block);
    return end(&x);
}

int MPIDI_UCX_coll_scatterv(const struct MPIR_Direct_scatterv *call)
{
    struct exchange x;
    const struct MPIDI_UCX_data block = {call->recvbuf, call->recvcount, call->recvtype};
    x.call = (struct MPIDI_UCX_coll_call)CALL("scatterv");
    if (!begin(&x))
        return x.call.is_over;
    for (int i = 0; call->comm->rank == call->root && i < call->comm->local_size; i++)
        x.send[i] = block_of(call->sendbuf, call->displs[i], call->sendcounts[i], call->sendtype);
    take_block(&x, call->root, &block);
    return end(&x);
}

/* What a member of an exchange of all with all sends to itself. In place there is nothing to send
 * from: blocks are overwritten before others have read them. */
static int end_alltoall(struct exchange *x, bool is_in_place)
{
    if (!is_in_place) {
        x->blocks = x->call.comm->local_size;
        x->own = x->send[x->call.comm->rank];
    }
    return end(x);
}

int MPIDI_UCX_coll_alltoall(const struct MPIR_Direct_equal *call)
{
    struct exchange x;
    const bool is_in_place = call->sendbuf == MPI_IN_PLACE;
    x.call = (struct MPIDI_UCX_coll_call)CALL("alltoall");
    x.call.why_not = is_in_place ? MPIDI_UCX_COLL_IN_PLACE : MPIDI_UCX_COLL_CAN;
    if (!begin(&x))
        return x.call.is_over;
    for (int i = 0; !is_in_place && i < call->comm->local_size; i++) {
        x.send[i] = block_of(call->sendbuf, i * call->sendcount, call->sendcount, call->sendtype);
        x.take[i] = block_of(call->recvbuf, i * call->recvcount, call->recvcount, call->recvtype);
    }
    return end_alltoall(&x, is_in_place);
}

int MPIDI_UCX_coll_alltoallv(const struct MPIR_Direct_alltoallv *call)
{
    struct exchange x;
    const bool is_in_place = call->sendbuf == MPI_IN_PLACE;
    x.call = (struct MPIDI_UCX_coll_call)CALL("alltoallv");
    x.call.why_not = is_in_place ? MPIDI_UCX_COLL_IN_PLACE : MPIDI_UCX_COLL_CAN;
    if (!begin(&x))
        return x.call.is_over;
    for (int i = 0; !is_in_place && i < call->comm->local_size; i++) {
        x.send[i] = block_of(call->sendbuf, call->sdispls[i], call->sendcounts[i], call->sendtype);
        x.take[i] = block_of(call->recvbuf, call->rdispls[i], call->recvcounts[i], call->recvtype);
    }
    return end_alltoall(&x, is_in_place);
}

int MPIDI_UCX_coll_alltoallw(const struct MPIR_Direct_alltoallw *call)
{
    struct exchange x;
    const bool is_in_place = call->sendbuf == MPI_IN_PLACE;
    x.call = (struct MPIDI_UCX_coll_call)CALL("alltoallw");
    x.call.why_not = is_in_place ? MPIDI_UCX_COLL_IN_PLACE : MPIDI_UCX_COLL_CAN;
    if (!begin(&x))
        return x.call.is_over;
    for (int i = 0; !is_in_place && i < call->comm->local_size; i++) {
        x.send[i] = (struct MPIDI_UCX_data){(const char *)call->sendbuf + call->sdispls[i],
                                            call->sendcounts[i], call->sendtypes[i]};
        x.take[i] = (struct MPIDI_UCX_data){(const char *)call->recvbuf + call->rdispls[i],
                                            call->recvcounts[i], call->recvtypes[i]};
    }
    return end_alltoall(&x, is_in_place);
}

#endif
