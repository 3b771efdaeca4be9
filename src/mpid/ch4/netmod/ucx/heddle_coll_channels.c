/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives of neighbours. A persistent one is a persistent request for each edge, and a start is
 * an MPI_Startall of these. So, within a node, data are written to their place from the second
 * start on (RTRs: heddle_recv.c). The edges are those of the schedule that MPICH has made.
 *
 * An RTR can only follow the last message of one tag. So parallel edges have tags of their own: the
 * n-th one between two ranks, as its sender counts its sends and its receiver its receives. All
 * members agree at first on how many tags that takes, and whether any of them has device memory.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include "heddle_coll_direct.h"

#include "mpidu_sched.h"
#include "tsp_impl.h"

#if MPIR_TYPEREP_SENDS_DEVICE

struct channels {
    struct MPIDI_UCX_coll_call call;
    int n;
    int over; /* all before this one */
    MPIR_Request *channel[];
};

/* ---- edges ----------------------------------------------------------------------------------- */

/* What a schedule says of an edge. */
struct edge {
    void *buf;
    MPI_Aint count;
    MPI_Datatype type;
    int peer;
    bool is_sent;
};

/* False: the entry is no edge of this process's. */
static bool edge_of(const struct MPIDU_Sched_entry *entry, struct edge *edge)
{
    if (entry->type == MPIDU_SCHED_ENTRY_SEND)
        *edge = (struct edge){(void *)entry->u.send.buf, entry->u.send.count,
                              entry->u.send.datatype, entry->u.send.dest, true};
    else if (entry->type == MPIDU_SCHED_ENTRY_RECV)
        *edge = (struct edge){entry->u.recv.buf, entry->u.recv.count, entry->u.recv.datatype,
                              entry->u.recv.src, false};
    else
        return false;
    return edge->peer != MPI_PROC_NULL;
}

static bool is_on_device(const struct edge *edge)
{
    return ENABLE_GPU && edge->count > 0 &&
           MPIR_Typerep_message_memory(edge->buf, edge->type) != MPIR_TYPEREP_HOST;
}

/* How many edges have come of each peer and direction. Null: there is no memory. */
struct counts {
    int *of;
};

static int next_of(struct counts *counts, const struct edge *edge)
{
    return counts->of[2 * edge->peer + edge->is_sent]++;
}

static struct counts no_edges(const MPIR_Comm *comm)
{
    return (struct counts){MPL_calloc(2 * (size_t)comm->local_size, sizeof(int), MPL_MEM_COLL)};
}

/* ---- deciding -------------------------------------------------------------------------------- */

/* The greatest of what members say is what all know. */
struct needs {
    int parallel; /* edges between two ranks */
    int has_device;
    int is_scheduled; /* its schedule is not made of edges alone, or there is no memory */
};

static struct needs needs_of(MPIR_Comm *comm, const struct MPIDU_Sched *sched)
{
    struct counts counts = no_edges(comm);
    struct needs needs = {.is_scheduled = counts.of == NULL};
    for (int i = 0; !needs.is_scheduled && i < sched->num_entries; i++) {
        const enum MPIDU_Sched_entry_type type = sched->entries[i].type;
        struct edge edge;
        if (type != MPIDU_SCHED_ENTRY_SEND && type != MPIDU_SCHED_ENTRY_RECV)
            needs.is_scheduled = type != MPIDU_SCHED_ENTRY_NOP;
        if (!edge_of(&sched->entries[i], &edge))
            continue;
        needs.parallel = MPL_MAX(needs.parallel, next_of(&counts, &edge) + 1);
        needs.has_device |= is_on_device(&edge);
    }
    MPL_free(counts.of);
    return needs;
}

static int agree(MPIR_Comm *comm, struct needs *needs)
{
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    const int mpi_errno = MPIR_Allreduce(MPI_IN_PLACE, needs, sizeof(*needs) / sizeof(int), MPI_INT,
                                         MPI_MAX, comm, &errflag);
    return MPIR_Coll_result(mpi_errno, &errflag);
}

/* ---- a start --------------------------------------------------------------------------------- */

static void finish(struct MPIDI_UCX_coll_call *call)
{
    struct channels *c = MPL_container_of(call, struct channels, call);
    for (int i = 0; i < c->n; i++) {
        MPI_Status status;
        const int error = MPIR_Request_completion_processing(c->channel[i], &status);
        if (call->error == MPI_SUCCESS)
            call->error = error;
    }
    call->state = MPIDI_UCX_OVER;
}

bool MPIDI_UCX_channels_are_over(struct MPIDI_UCX_coll_call *call)
{
    struct channels *c = MPL_container_of(call, struct channels, call);
    while (c->over < c->n && MPIR_Request_is_complete(c->channel[c->over]))
        c->over++;
    return c->over == c->n;
}

void MPIDI_UCX_channels_start(struct MPIDI_UCX_coll_call *call)
{
    struct channels *c = MPL_container_of(call, struct channels, call);
    c->over = 0;
    call->state = MPIDI_UCX_UNDER_WAY;
    call->waits_for = MPIDI_UCX_WAITS_FOR_CHANNELS;
    call->then = finish;
    call->error = MPID_Startall(c->n, c->channel);
    heddle_collective_count(call->name, HEDDLE_COLLECTIVE_BY_CHANNEL, call->bytes,
                            "it is persistent");
}

/* ---- making and freeing ---------------------------------------------------------------------- */

static void forget(struct MPIDI_UCX_coll_call *call)
{
    struct channels *c = MPL_container_of(call, struct channels, call);
    for (int i = 0; i < c->n; i++)
        MPIR_Request_free(c->channel[i]);
}

static int add(struct channels *c, const struct edge *edge, int tag)
{
    MPIR_Comm *comm = c->call.comm;
    MPIR_Request **channel = &c->channel[c->n];
    const int mpi_errno = edge->is_sent
                              ? MPID_Send_init(edge->buf, edge->count, edge->type, edge->peer, tag,
                                               comm, MPIR_CONTEXT_INTRA_COLL, channel)
                              : MPID_Recv_init(edge->buf, edge->count, edge->type, edge->peer, tag,
                                               comm, MPIR_CONTEXT_INTRA_COLL, channel);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    c->n++;
    if (!edge->is_sent)
        c->call.bytes += edge->count * MPIR_Coll_size(edge->type);
    return MPI_SUCCESS;
}

/* The schedule's edges, each with the tag of its place among parallel ones. */
static int add_all(struct channels *c, const struct MPIDU_Sched *sched, const int *tags)
{
    struct counts counts = no_edges(c->call.comm);
    int mpi_errno = counts.of == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    for (int i = 0; mpi_errno == MPI_SUCCESS && i < sched->num_entries; i++) {
        struct edge edge;
        if (edge_of(&sched->entries[i], &edge))
            mpi_errno = add(c, &edge, tags[next_of(&counts, &edge)]);
    }
    MPL_free(counts.of);
    return mpi_errno;
}

/* The first tag is the schedule's own, for it goes by another way now. */
static int take_tags(MPIR_Comm *comm, const struct MPIDU_Sched *sched, int n, int *tags)
{
    int mpi_errno = MPI_SUCCESS;
    tags[0] = sched->tag;
    for (int i = 1; mpi_errno == MPI_SUCCESS && i < n; i++)
        mpi_errno = MPIR_Sched_next_tag(comm, &tags[i]);
    return mpi_errno;
}

static int make(MPIR_Request *persistent, const char *name, int parallel)
{
    const struct MPIDU_Sched *sched = persistent->u.persist_coll.sched;
    const size_t most = (size_t)sched->num_entries;
    struct channels *c = MPL_malloc(sizeof(*c) + most * sizeof(MPIR_Request *), MPL_MEM_COLL);
    int *tags = MPL_malloc((size_t)MPL_MAX(parallel, 1) * sizeof(int), MPL_MEM_COLL);
    int mpi_errno = c == NULL || tags == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    if (mpi_errno != MPI_SUCCESS)
        goto fn_fail;
    *c = (struct channels){
        .call = {.name = name, .comm = persistent->comm, .forget = forget},
    };
    c->call.usual.persistent = persistent;
    mpi_errno = take_tags(persistent->comm, sched, parallel, tags);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = add_all(c, sched, tags);
    if (mpi_errno != MPI_SUCCESS) {
        forget(&c->call);
        goto fn_fail;
    }
    persistent->u.persist_coll.direct = &c->call;
    MPL_free(tags);
    return MPI_SUCCESS;
fn_fail:
    MPL_free(tags);
    MPL_free(c);
    return mpi_errno;
}

int MPIR_Direct_channels(MPIR_Request *persistent, const char *name)
{
    struct needs needs = {.is_scheduled = true};
    if (persistent->u.persist_coll.sched_type == MPIR_SCHED_NORMAL)
        needs = needs_of(persistent->comm, persistent->u.persist_coll.sched);
    const int mpi_errno = agree(persistent->comm, &needs);
    if (mpi_errno != MPI_SUCCESS || !needs.has_device || needs.is_scheduled)
        return mpi_errno;
    return make(persistent, name, needs.parallel);
}

/* ---- those that are not persistent ----------------------------------------------------------- */

int MPIR_Direct_start_together(int sched_type, void *sched, MPIR_Comm *comm, MPIR_Request **request)
{
    MPIR_TYPEREP_SENDER(GATHERS);
    const int mpi_errno = sched_type == MPIR_SCHED_NORMAL
                              ? MPIR_Sched_start(sched, comm, request)
                              : MPIR_TSP_sched_start(sched, comm, request);
    MPIR_TYPEREP_SENDER(LEAVES);
    MPIR_TYPEREP_ALL_STARTED();
    return mpi_errno;
}

#endif
