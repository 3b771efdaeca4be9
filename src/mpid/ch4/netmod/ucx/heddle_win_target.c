/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The target of announced one-sided operations (heddle_announced.h). All of it happens in progress:
 * what is announced begins at once, and its end is told by the port.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include "heddle_announced.h"

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

/* Where the data are, and what they are, for the port. A type that came is the caller's to release.
 * Whether that failed is in the buffer. */
static void find_data(const MPIR_Win *win, const struct MPIDI_UCX_announcement *a,
                      const void *flattened, size_t bytes, struct MPIDI_UCX_data *data,
                      struct MPIDI_UCX_buffer *buffer)
{
    const MPI_Aint offset = win->disp_unit * a->disp + a->offset;
    int error = HEDDLE_SUCCESS;
    *data = (struct MPIDI_UCX_data){(void *)(MPIDIG_win_base_at_target(win) + (uintptr_t)offset),
                                    a->count, a->type};
    if (a->type == MPI_DATATYPE_NULL)
        error = unflatten(flattened, bytes, &data->type);
    if (error == HEDDLE_SUCCESS && !is_within(win, data))
        error = HEDDLE_ERR_RANGE;
    if (error == HEDDLE_SUCCESS)
        MPIDI_UCX_describe_any(data->buf, data->count, data->type, buffer);
    else
        buffer->error = error;
}

/* ---- puts and gets --------------------------------------------------------------------------- */

static void put_is_over(void *argument, int error, int64_t bytes)
{
    struct MPIDI_UCX_served *s = argument;
    (void)bytes;
    MPIDI_UCX_tell_done(s, error);
    MPL_free(s);
}

static void get_is_over(void *argument, int error, int64_t bytes)
{
    struct MPIDI_UCX_served *s = argument;
    (void)error, (void)bytes; /* its origin's end of the message says so as well */
    MPIDI_UCX_WIN(s->win).serving--;
    MPL_free(s);
}

/* The window's memory is read until the message has ended, so the window stays until then. */
static int serve_get(struct MPIDI_UCX_served *s, const struct MPIDI_UCX_buffer *buffer)
{
    struct MPIDI_UCX_telling t = MPIDI_UCX_telling_of(s, MPIDI_UCX_WORD_DATA);
    heddle_message_result result;
    const int error = MPIDI_UCX_announced_send(&t, buffer, get_is_over, s, &result);
    if (error != HEDDLE_SUCCESS)
        return error;
    MPIDI_UCX_WIN(s->win).serving++;
    t.message = result.message;
    memcpy(t.it.envelope, result.envelope, sizeof(t.it.envelope));
    MPIDI_UCX_announce(&t);
    return HEDDLE_SUCCESS;
}

static int serve_access(const struct MPIDI_UCX_served *about, const struct MPIDI_UCX_buffer *buffer,
                        const struct MPIDI_UCX_announcement *a)
{
    struct MPIDI_UCX_served *s = MPL_malloc(sizeof(*s), MPL_MEM_RMA);
    if (s == NULL)
        return HEDDLE_ERR_NO_MEMORY;
    *s = *about;
    const int error = a->word == MPIDI_UCX_WORD_GET
                          ? serve_get(s, buffer)
                          : MPIDI_UCX_announced_receive(s->win, s->vni, a, buffer, put_is_over, s);
    if (error != HEDDLE_SUCCESS)
        MPL_free(s);
    return error;
}

void MPIDI_UCX_serve(MPIR_Win *win, int vni, const struct MPIDI_UCX_announcement *a,
                     const void *flattened, size_t bytes)
{
    const struct MPIDI_UCX_served about = {win, vni, a->rank, a->operation};
    struct MPIDI_UCX_buffer buffer;
    struct MPIDI_UCX_data data;
    find_data(win, a, flattened, bytes, &data, &buffer);
    int error = buffer.error;
    if (error == HEDDLE_SUCCESS)
        error = a->word == MPIDI_UCX_WORD_PUT || a->word == MPIDI_UCX_WORD_GET
                    ? serve_access(&about, &buffer, a)
                    : MPIDI_UCX_serve_update(&about, &data, a);
    if (error != HEDDLE_SUCCESS)
        MPIDI_UCX_tell_done(&about, error);
    if (a->type == MPI_DATATYPE_NULL && data.type != MPI_DATATYPE_NULL)
        MPIR_Datatype_release_if_not_builtin(data.type);
}
