/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Updates at their target (heddle_announced.h): what comes goes into scratch memory beside the
 * window's, and is combined when all of it is there. What is fetched is packed beside it first.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include "heddle_announced.h"

/* ---- what the origin is told ----------------------------------------------------------------- */

struct MPIDI_UCX_telling MPIDI_UCX_telling_of(const struct MPIDI_UCX_served *s,
                                              enum MPIDI_UCX_word word)
{
    return (struct MPIDI_UCX_telling){.it = {.word = word, .operation = s->operation},
                                      .win = s->win,
                                      .to = s->origin,
                                      .vni = s->vni};
}

void MPIDI_UCX_tell_done(const struct MPIDI_UCX_served *s, int error)
{
    struct MPIDI_UCX_telling t = MPIDI_UCX_telling_of(s, MPIDI_UCX_WORD_DONE);
    t.it.failed = error != HEDDLE_SUCCESS;
    MPIDI_UCX_announce(&t);
}

/* ---- updates --------------------------------------------------------------------------------- */

/* One under way. Holds a reference to the type. */
struct update {
    struct MPIDI_UCX_served about;
    struct MPIDI_UCX_data data;
    MPI_Op op;
    MPI_Datatype element; /* of what comes */
    MPI_Aint elements;
    MPI_Aint bytes; /* of the window's data */
    bool fetches;
    void *came; /* null: nothing is to come */
    void *old;  /* null: nothing is fetched */
    struct MPIDI_UCX_buffer old_buffer;
};

static void end(struct update *u)
{
    MPIR_Typerep_scratch_free(u->came);
    MPIR_Typerep_scratch_free(u->old);
    MPIR_Datatype_release_if_not_builtin(u->data.type);
    MPL_free(u);
}

/* Beside the data, or in host memory if there is no room. */
static void *scratch(const struct update *u, MPI_Aint bytes)
{
    void *memory = MPIR_Typerep_scratch(bytes, u->data.buf, u->data.buf, u->data.type);
    return memory != NULL ? memory
                          : MPIR_Typerep_scratch(bytes, MPI_IN_PLACE, NULL, MPI_DATATYPE_NULL);
}

static int fetch(struct update *u)
{
    MPI_Aint packed = 0;
    u->old = scratch(u, u->bytes);
    if (u->old == NULL)
        return MPI_ERR_NO_MEM;
    return MPIR_Typerep_pack(u->data.buf, u->data.count, u->data.type, 0, u->old, u->bytes,
                             &packed);
}

static int combine(const struct update *u)
{
    return u->op == MPI_NO_OP ? MPI_SUCCESS
                              : MPIR_Typerep_op(u->came, u->elements, u->element, u->data.buf,
                                                u->data.count, u->data.type, u->op, true, -1);
}

static void fetched_is_over(void *argument, int error, int64_t bytes)
{
    (void)error, (void)bytes; /* the origin hears of it with its data */
    end(argument);
}

/* HEDDLE_*: with an error nothing has begun. */
static int send_fetched(struct update *u)
{
    struct MPIDI_UCX_telling t = MPIDI_UCX_telling_of(&u->about, MPIDI_UCX_WORD_DATA);
    MPIDI_UCX_describe_any(u->old, u->bytes, MPI_BYTE, &u->old_buffer);
    const int error = MPIDI_UCX_announced_send(&t, &u->old_buffer, fetched_is_over, u);
    if (error == HEDDLE_SUCCESS)
        MPIDI_UCX_announce(&t);
    return error;
}

/* What was to come is here, or will not come. */
static void has_come(void *argument, int error, int64_t bytes)
{
    struct update *u = argument;
    int mpi_errno = error == HEDDLE_SUCCESS ? MPI_SUCCESS : MPI_ERR_OTHER;
    (void)bytes;
    if (mpi_errno == MPI_SUCCESS && u->fetches)
        mpi_errno = fetch(u);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = combine(u);
    if (mpi_errno == MPI_SUCCESS && u->fetches && send_fetched(u) == HEDDLE_SUCCESS)
        return;
    MPIDI_UCX_tell_done(&u->about,
                        mpi_errno == MPI_SUCCESS && !u->fetches ? HEDDLE_SUCCESS : HEDDLE_ERR_PEER);
    end(u);
}

static int receive(struct update *u, struct MPIDI_UCX_arrived *a)
{
    struct MPIDI_UCX_buffer buffer = {.error = HEDDLE_ERR_NO_MEMORY};
    MPI_Aint size;
    MPIR_Datatype_get_size_macro(u->element, size);
    u->came = scratch(u, u->elements * size);
    if (u->came != NULL)
        MPIDI_UCX_describe_any(u->came, u->elements * size, MPI_BYTE, &buffer);
    return MPIDI_UCX_announced_receive(a, &buffer, has_come, u);
}

int MPIDI_UCX_serve_update(const struct MPIDI_UCX_served *s, const struct MPIDI_UCX_data *data,
                           struct MPIDI_UCX_arrived *a)
{
    const bool fetches = a->it.word == MPIDI_UCX_WORD_FETCH;
    MPI_Aint size;
    struct update *u = MPL_malloc(sizeof(*u), MPL_MEM_RMA);
    if (u == NULL)
        return HEDDLE_ERR_NO_MEMORY;
    MPIR_Datatype_get_size_macro(data->type, size);
    *u = (struct update){.about = *s,
                         .data = *data,
                         .op = a->it.op,
                         .element = a->it.element,
                         .elements = a->it.elements,
                         .bytes = data->count * size,
                         .fetches = fetches};
    MPIR_Datatype_add_ref_if_not_builtin(data->type);
    if (a->it.elements == 0) {
        has_come(u, HEDDLE_SUCCESS, 0);
        return HEDDLE_SUCCESS;
    }
    const int error = receive(u, a);
    if (error != HEDDLE_SUCCESS)
        end(u);
    return error;
}
