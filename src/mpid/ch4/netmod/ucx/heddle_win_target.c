/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The target of announced one-sided operations (heddle_announced.h). All of it happens in progress:
 * what is announced begins at once, and its end is told by the port. And MPICH's own accumulates of
 * which only one half came.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include "heddle_announced.h"
#include "mpidig_halves.h"
#include "mpidig_util.h"
#include "utlist.h"

/* ---- where the data lie ---------------------------------------------------------------------- */

/* The type that came flattened; it is new. The bytes may lie anywhere, and are read as words. */
static int unflatten(const void *flattened, size_t bytes, MPI_Datatype *type)
{
    void *aligned = MPL_malloc(bytes, MPL_MEM_RMA);
    MPIR_Datatype *dt =
        aligned == NULL ? NULL : (MPIR_Datatype *)MPIR_Handle_obj_alloc(&MPIR_Datatype_mem);
    if (dt == NULL) {
        MPL_free(aligned);
        return HEDDLE_ERR_NO_MEMORY;
    }
    memcpy(aligned, flattened, bytes);
    MPIR_Object_set_ref(dt, 1);
    const int mpi_errno = MPIR_Typerep_unflatten(dt, aligned);
    MPL_free(aligned);
    *type = dt->handle;
    return mpi_errno == MPI_SUCCESS ? HEDDLE_SUCCESS : HEDDLE_ERR_FORMAT;
}

/* Whether the data lie in the window: beyond it a device would fail for good. */
static bool is_within(const MPIR_Win *win, const struct MPIDI_UCX_data *data)
{
    MPI_Aint true_lb, true_extent, extent;
    if (win->create_flavor == MPI_WIN_FLAVOR_DYNAMIC)
        return true;
    MPIR_Type_get_true_extent_impl(data->type, &true_lb, &true_extent);
    MPIR_Datatype_get_extent_macro(data->type, extent);
    const MPI_Aint span = (data->count - 1) * extent; /* may be negative */
    const MPI_Aint first = (MPI_Aint)((uintptr_t)data->buf - MPIDIG_win_base_at_target(win)) +
                           true_lb + MPL_MIN(span, 0);
    return first >= 0 && first + true_extent + MPL_MAX(span, -span) <= win->size;
}

void *MPIDI_UCX_place_of(const struct MPIDI_UCX_arrived *a)
{
    const MPI_Aint offset = a->win->disp_unit * a->it.disp + a->it.offset;
    return (void *)(MPIDIG_win_base_at_target(a->win) + (uintptr_t)offset);
}

/* Where the data are, and what they are, for the port. A type that came is the caller's to release.
 * Whether that failed is in the buffer. */
static void find_data(const struct MPIDI_UCX_arrived *arrived, struct MPIDI_UCX_data *data,
                      struct MPIDI_UCX_buffer *buffer)
{
    const struct MPIDI_UCX_announcement *a = &arrived->it;
    const MPIR_Win *win = arrived->win;
    int error = HEDDLE_SUCCESS;
    *data = (struct MPIDI_UCX_data){MPIDI_UCX_place_of(arrived), a->count, a->type};
    if (a->type == MPI_DATATYPE_NULL)
        error = unflatten(arrived->flattened, arrived->flattened_bytes, &data->type);
    if (error == HEDDLE_SUCCESS && !is_within(win, data))
        error = HEDDLE_ERR_RANGE;
    if (error == HEDDLE_SUCCESS)
        MPIDI_UCX_describe_any(data->buf, data->count, data->type, buffer);
    else
        buffer->error = error;
}

/* ---- puts and gets --------------------------------------------------------------------------- */

/* One that is under way. What a get sends holds a reference to its type. */
struct access {
    struct MPIDI_UCX_served about;
    struct MPIDI_UCX_buffer out;
};

static void put_is_over(void *argument, int error, int64_t bytes)
{
    struct access *its = argument;
    (void)bytes;
    MPIDI_UCX_tell_done(&its->about, error);
    MPL_free(its);
}

static void get_is_over(void *argument, int error, int64_t bytes)
{
    struct access *its = argument;
    (void)error, (void)bytes; /* the origin hears of it with its data */
    MPIDI_UCX_WIN(its->about.win).serving--;
    MPIR_Datatype_release_if_not_builtin(its->out.datatype);
    MPL_free(its);
}

/* The window's memory is read until the message has ended, so the window stays until then. */
static int serve_get(struct access *its)
{
    struct MPIDI_UCX_telling t = MPIDI_UCX_telling_of(&its->about, MPIDI_UCX_WORD_DATA);
    const int error = MPIDI_UCX_announced_send(&t, &its->out, get_is_over, its);
    if (error != HEDDLE_SUCCESS)
        return error;
    MPIDI_UCX_WIN(its->about.win).serving++;
    MPIR_Datatype_add_ref_if_not_builtin(its->out.datatype);
    MPIDI_UCX_announce(&t);
    return HEDDLE_SUCCESS;
}

static int serve_access(const struct MPIDI_UCX_served *about, const struct MPIDI_UCX_buffer *buffer,
                        struct MPIDI_UCX_arrived *a)
{
    struct access *its = MPL_malloc(sizeof(*its), MPL_MEM_RMA);
    if (its == NULL)
        return HEDDLE_ERR_NO_MEMORY;
    *its = (struct access){*about, *buffer};
    const int error = a->it.word == MPIDI_UCX_WORD_GET
                          ? serve_get(its)
                          : MPIDI_UCX_announced_receive(a, buffer, put_is_over, its);
    if (error != HEDDLE_SUCCESS)
        MPL_free(its);
    return error;
}

void MPIDI_UCX_serve(struct MPIDI_UCX_arrived *a)
{
    const struct MPIDI_UCX_served about = {a->win, a->vni, a->it.rank, a->it.operation};
    struct MPIDI_UCX_buffer buffer;
    struct MPIDI_UCX_data data;
    find_data(a, &data, &buffer);
    int error = buffer.error;
    if (error == HEDDLE_SUCCESS)
        error = a->it.word == MPIDI_UCX_WORD_PUT || a->it.word == MPIDI_UCX_WORD_GET
                    ? serve_access(&about, &buffer, a)
                    : MPIDI_UCX_serve_update(&about, &data, a);
    if (error != HEDDLE_SUCCESS)
        MPIDI_UCX_tell_done(&about, error);
    if (a->it.type == MPI_DATATYPE_NULL && data.type != MPI_DATATYPE_NULL)
        MPIR_Datatype_release_if_not_builtin(data.type);
}

/* ---- halves of accumulates (mpidig_halves.h) ------------------------------------------------- */

struct MPIDI_UCX_half {
    MPIR_Request *rreq;
    struct MPIDI_UCX_half *prev, *next;
};

static struct MPIDI_UCX_half **halves_of(const MPIR_Request *rreq)
{
    return &MPIDI_UCX_vnis[MPIDI_UCX_get_win_vni(rreq->u.rma.win)].halves;
}

void MPIDI_UCX_half_came(MPIR_Request *rreq)
{
    struct MPIDI_UCX_half *half =
        MPIDI_UCX_MEETS_ENVELOPES ? MPL_malloc(sizeof(*half), MPL_MEM_RMA) : NULL;
    if (half == NULL)
        return;
    half->rreq = rreq;
    DL_APPEND(*halves_of(rreq), half);
}

static void forget(struct MPIDI_UCX_half *half)
{
    DL_DELETE(*halves_of(half->rreq), half);
    MPL_free(half);
}

void MPIDI_UCX_rest_came(const MPIR_Request *rreq)
{
    struct MPIDI_UCX_half *half;
    DL_SEARCH_SCALAR(*halves_of(rreq), half, rreq, rreq);
    if (half != NULL)
        forget(half);
}

/* Its turn passes: now, or once all before it were combined. */
static int pass(MPIR_Request *rreq)
{
    const int vci = MPIDI_Request_get_vci(rreq);
    if (!MPIDIG_check_cmpl_order(rreq, vci))
        return MPI_SUCCESS;
    MPL_free(MPIDIG_REQUEST(rreq, req->areq.flattened_dt));
    MPID_Request_complete(rreq);
    MPIDIG_progress_compl_list(vci);
    return MPI_SUCCESS;
}

void MPIDI_UCX_halves_lost(int vni)
{
    struct MPIDI_UCX_half *half, *next;
    DL_FOREACH_SAFE(MPIDI_UCX_vnis[vni].halves, half, next)
    {
        MPIR_Request *const rreq = half->rreq;
        if (!MPIDI_UCX_member_is_silent(rreq->u.rma.win,
                                        MPIDIG_REQUEST(rreq, u.target.origin_rank)))
            continue;
        forget(half);
        MPIDIG_REQUEST(rreq, req->target_cmpl_cb) = pass;
        (void)pass(rreq);
    }
}
