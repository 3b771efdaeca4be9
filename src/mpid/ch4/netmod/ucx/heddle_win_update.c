/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Accumulates of direct windows (heddle_win.h): under the target's update lock its data are read,
 * combined and written by the origin's device. What cannot be opened here goes by active messages,
 * under the same lock, and is over before that is given back.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include "heddle_announced.h"

/* ---- begin and end --------------------------------------------------------------------------- */

/* An accumulate to a target that exports memory. */
struct update {
    struct MPIDI_UCX_access at; /* its target, and the buffer that is near it */
    MPI_Op op;
    struct MPIDI_UCX_target target;
    bool is_direct;
    bool is_locked;
};

/* Without data there is nothing to lock. */
static bool is_candidate(const struct update *u)
{
    MPI_Aint size;
    MPIR_Datatype_get_size_macro(u->at.type, size);
    return u->at.count * size > 0 && MPIDI_UCX_direct_exports(u->at.win, u->at.rank);
}

/* Takes the lock, and finds the target. */
static int lock_target(struct update *u)
{
    struct MPIDI_UCX_buffer near;
    int mpi_errno = MPIDI_UCX_check_epoch(u->at.win, u->at.rank);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    MPIDI_UCX_describe_any(u->at.origin, u->at.origin_count, u->at.origin_type, &near);
    const bool is_near = near.error == HEDDLE_SUCCESS && near.bytes > 0;
    const enum MPIDI_UCX_way way =
        MPIDI_UCX_direct_find(&u->at, is_near ? &near.described : NULL, &u->target, &mpi_errno);
    if (way == MPIDI_UCX_WAY_FAILS)
        return mpi_errno;
    u->is_direct = way == MPIDI_UCX_WAY_DIRECT;
    mpi_errno = MPIDI_UCX_update_begin(u->at.win, u->at.rank);
    u->is_locked = mpi_errno == MPI_SUCCESS;
    if (u->is_direct && !u->is_locked)
        heddle_import_release(u->target.import);
    return mpi_errno;
}

/* Without an error `end` must be called. */
static int begin(struct update *u)
{
    u->is_direct = u->is_locked = false;
    return is_candidate(u) ? lock_target(u) : MPI_SUCCESS;
}

/* `mpi_errno`: of the operation, which is over, or has been handed to active messages. */
static int end(struct update *u, int mpi_errno)
{
    if (!u->is_locked)
        return mpi_errno;
    if (u->is_direct) {
        MPI_Aint size;
        MPIR_Datatype_get_size_macro(u->at.type, size);
        heddle_import_release(u->target.import);
        heddle_access_count(HEDDLE_ACCESS_DIRECT, u->at.count * size);
    } else if (mpi_errno == MPI_SUCCESS) {
        mpi_errno = MPIDI_UCX_wait_for_messages(u->at.win, u->at.rank);
    }
    MPIDI_UCX_update_end(u->at.win, u->at.rank);
    return mpi_errno;
}

/* The request of an operation that is over. */
static int complete(MPIR_Request **request)
{
    if (request == NULL)
        return MPI_SUCCESS;
    *request = MPIR_Request_create_complete(MPIR_REQUEST_KIND__RMA);
    return *request == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
}

static int fetch(const struct update *u, void *result, MPI_Aint count, MPI_Datatype type)
{
    return MPIR_Localcopy(u->target.buf, u->at.count, u->at.type, result, count, type);
}

static int combine(const struct update *u, const void *origin, MPI_Aint count, MPI_Datatype type)
{
    return u->op == MPI_NO_OP ? MPI_SUCCESS
                              : MPIR_Typerep_accumulate(origin, count, type, u->target.buf,
                                                        u->at.count, u->at.type, u->op);
}

/* ---- by message ------------------------------------------------------------------------------ */

/* Short ones keep their order by themselves. */
static int begin_short(const struct MPIDI_UCX_access *a)
{
    const int mpi_errno = MPIDI_UCX_wait_for_updates(a->win, a->rank);
    if (mpi_errno == MPI_SUCCESS)
        MPIDI_UCX_count_by_message(a->count, a->type);
    return mpi_errno;
}

static int accumulate_by_message(const struct MPIDI_UCX_access *a, MPI_Op op)
{
    int mpi_errno = MPI_SUCCESS;
    if (MPIDI_UCX_announce_update(a, op, &mpi_errno))
        return mpi_errno;
    mpi_errno = begin_short(a);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    return a->request == NULL
               ? MPIDIG_mpi_accumulate(a->origin, a->origin_count, a->origin_type, a->rank, a->disp,
                                       a->count, a->type, op, a->win)
               : MPIDIG_mpi_raccumulate(a->origin, a->origin_count, a->origin_type, a->rank,
                                        a->disp, a->count, a->type, op, a->win, a->request);
}

static int get_accumulate_by_message(const struct update *u,
                                     const struct MPIDI_UCX_get_accumulate *a)
{
    int mpi_errno = MPI_SUCCESS;
    if (MPIDI_UCX_announce_fetch(a, &mpi_errno))
        return mpi_errno;
    mpi_errno = begin_short(&u->at);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    return a->request == NULL
               ? MPIDIG_mpi_get_accumulate(a->origin, a->origin_count, a->origin_type, a->result,
                                           a->result_count, a->result_type, a->rank, a->disp,
                                           a->count, a->type, a->op, a->win)
               : MPIDIG_mpi_rget_accumulate(a->origin, a->origin_count, a->origin_type, a->result,
                                            a->result_count, a->result_type, a->rank, a->disp,
                                            a->count, a->type, a->op, a->win, a->request);
}

static int fetch_and_op_by_message(const struct update *u, const struct MPIDI_UCX_fetch_and_op *a)
{
    const int mpi_errno = begin_short(&u->at);
    return mpi_errno != MPI_SUCCESS ? mpi_errno
                                    : MPIDIG_mpi_fetch_and_op(a->origin, a->result, a->type,
                                                              a->rank, a->disp, a->op, a->win);
}

static int compare_and_swap_by_message(const struct update *u,
                                       const struct MPIDI_UCX_compare_and_swap *a)
{
    const int mpi_errno = begin_short(&u->at);
    return mpi_errno != MPI_SUCCESS
               ? mpi_errno
               : MPIDIG_mpi_compare_and_swap(a->origin, a->compare, a->result, a->type, a->rank,
                                             a->disp, a->win);
}

/* ---- MPI's operations ------------------------------------------------------------------------ */

int MPIDI_UCX_accumulate(const struct MPIDI_UCX_access *a, MPI_Op op)
{
    struct update u = {.at = *a, .op = op};
    int mpi_errno = begin(&u);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    if (!u.is_direct)
        mpi_errno = accumulate_by_message(a, op);
    else
        mpi_errno = combine(&u, a->origin, a->origin_count, a->origin_type);
    if (u.is_direct && mpi_errno == MPI_SUCCESS)
        mpi_errno = complete(a->request);
    return end(&u, mpi_errno);
}

int MPIDI_UCX_get_accumulate(const struct MPIDI_UCX_get_accumulate *a)
{
    struct update u = {.at = {a->result, a->result_count, a->result_type, a->rank, a->disp,
                              a->count, a->type, a->win, NULL},
                       .op = a->op};
    int mpi_errno = begin(&u);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    if (!u.is_direct)
        return end(&u, get_accumulate_by_message(&u, a));
    mpi_errno = fetch(&u, a->result, a->result_count, a->result_type);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = combine(&u, a->origin, a->origin_count, a->origin_type);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = complete(a->request);
    return end(&u, mpi_errno);
}

int MPIDI_UCX_fetch_and_op(const struct MPIDI_UCX_fetch_and_op *a)
{
    struct update u = {.at = {a->result, 1, a->type, a->rank, a->disp, 1, a->type, a->win, NULL},
                       .op = a->op};
    int mpi_errno = begin(&u);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    if (!u.is_direct)
        return end(&u, fetch_and_op_by_message(&u, a));
    mpi_errno = fetch(&u, a->result, 1, a->type);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = combine(&u, a->origin, 1, a->type);
    return end(&u, mpi_errno);
}

/* Values that the host compares are few bytes: it works on copies. */
static int swap_if_equal(const struct update *u, const struct MPIDI_UCX_compare_and_swap *a)
{
    _Alignas(16) char held[64], compared[64];
    MPI_Aint size;
    MPIR_Datatype_get_size_macro(a->type, size);
    MPIR_Assert(size <= (MPI_Aint)sizeof(held));
    int mpi_errno = MPIR_Typerep_read(u->target.buf, 1, a->type, held, size);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = MPIR_Typerep_read(a->compare, 1, a->type, compared, size);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = MPIR_Typerep_copy(a->result, held, size);
    if (mpi_errno == MPI_SUCCESS && MPIR_Compare_equal(held, compared, a->type))
        mpi_errno = MPIR_Typerep_copy(u->target.buf, a->origin, size);
    return mpi_errno;
}

int MPIDI_UCX_compare_and_swap(const struct MPIDI_UCX_compare_and_swap *a)
{
    struct update u = {.at = {a->result, 1, a->type, a->rank, a->disp, 1, a->type, a->win, NULL}};
    const int mpi_errno = begin(&u);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    return end(&u, u.is_direct ? swap_if_equal(&u, a) : compare_and_swap_by_message(&u, a));
}
