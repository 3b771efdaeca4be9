/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Announcements that arrive (heddle_announced.h). Long data that come whole are fetched into
 * staging memory first. All of it happens in progress.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include "heddle_announced.h"

/* One whose data are on their way. Its window stays until they are here. */
struct landing {
    struct MPIDI_UCX_arrived a;
    size_t bytes;
};

static bool is_answer(const struct MPIDI_UCX_announcement *a)
{
    return a->word == MPIDI_UCX_WORD_DATA || a->word == MPIDI_UCX_WORD_DONE;
}

/* Whoever waits hears of data that did not come. */
static void take(struct MPIDI_UCX_arrived *a)
{
    const struct MPIDI_UCX_served about = {a->win, a->vni, a->it.rank, a->it.operation};
    if (is_answer(&a->it))
        MPIDI_UCX_answered(a);
    else if (a->error == HEDDLE_SUCCESS)
        MPIDI_UCX_serve(a);
    else
        MPIDI_UCX_tell_done(&about, a->error);
    heddle_staging_free(a->staging);
}

static void set_data(struct MPIDI_UCX_arrived *a, const void *data, size_t bytes)
{
    a->whole = a->it.whole > 0 ? data : NULL;
    a->flattened = (const char *)data + a->it.whole;
    a->flattened_bytes = bytes - a->it.whole;
}

static void landed(struct landing *l, ucs_status_t status)
{
    struct MPIDI_UCX_arrived *a = &l->a;
    set_data(a, a->staging, l->bytes);
    a->error =
        MPIDI_UCX_read_error_of(a->vni, MPIDI_UCX_WIN_TO_EP(a->win, a->it.rank, a->vni), status);
    take(a);
    MPIDI_UCX_WIN(a->win).serving--;
    MPL_free(l);
}

static void fetched(void *request, ucs_status_t status, size_t length, void *user_data)
{
    (void)length;
    landed(user_data, status);
    ucp_request_release(request);
}

/* Near what they are for, as far as that is known. */
static void *stage(const struct MPIDI_UCX_arrived *a, size_t bytes)
{
    struct MPIDI_UCX_buffer target;
    const struct MPIDI_UCX_buffer *near = &target;
    if (a->it.word == MPIDI_UCX_WORD_DATA) {
        near = MPIDI_UCX_awaited(a->vni, a->it.operation);
        return near == NULL ? NULL : MPIDI_UCX_stage(near, bytes);
    }
    MPIDI_UCX_describe_any(MPIDI_UCX_place_of(a), 1, MPI_BYTE, &target);
    return MPIDI_UCX_stage(near, bytes);
}

/* Long data are still at their sender. */
static ucs_status_t fetch(struct MPIDI_UCX_arrived *a, void *data, size_t bytes)
{
    struct landing *l = MPL_malloc(sizeof(*l), MPL_MEM_RMA);
    a->staging = l == NULL ? NULL : stage(a, bytes);
    if (a->staging == NULL) {
        a->error = HEDDLE_ERR_NO_MEMORY;
        take(a);
        MPL_free(l);
        return UCS_OK;
    }
    *l = (struct landing){*a, bytes};
    MPIDI_UCX_WIN(a->win).serving++;
    ucp_request_param_t param = MPIDI_UCX_callback(l, 0);
    param.cb.recv_am = fetched;
    void *request =
        ucp_am_recv_data_nbx(MPIDI_UCX_global.ctx[a->vni].worker, data, a->staging, bytes, &param);
    if (request == NULL || UCS_PTR_IS_ERR(request))
        landed(l, UCS_PTR_STATUS(request));
    return UCS_INPROGRESS;
}

static ucs_status_t arrived(void *arg, const void *header, size_t header_bytes, void *data,
                            size_t bytes, const ucp_am_recv_param_t *param)
{
    struct MPIDI_UCX_arrived a = {.vni = (int)(intptr_t)arg};
    if (header_bytes != sizeof(a.it))
        return UCS_OK;
    memcpy(&a.it, header, sizeof(a.it));
    a.win = MPIDIU_map_lookup(MPIDI_global.win_map, a.it.win_id);
    if (a.win == MPIDIU_MAP_NOT_FOUND || a.it.rank < 0 ||
        a.it.rank >= a.win->comm_ptr->local_size || a.it.whole < 0 || bytes < (size_t)a.it.whole)
        return UCS_OK;
    MPIDIG_rma_set_am_flag();
    if (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)
        return fetch(&a, data, bytes);
    set_data(&a, data, bytes);
    take(&a);
    return UCS_OK;
}

int MPIDI_UCX_announced_init(int vni)
{
    return MPIDI_UCX_take_am(vni, MPIDI_UCX_AM_ACCESS, arrived);
}
