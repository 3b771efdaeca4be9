/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Put and get of direct windows (heddle_win.h): moves from layout to layout. They begin and end
 * with the packs of short messages (heddle_moves.c), so that many of them share a launch. And those
 * of host memory that have a request of their own, which UCX carries out: they end when their
 * target does.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include "heddle_announced.h"
#include "utlist.h"

/* An operation that is on its way. It holds references to its types. */
struct operation {
    struct MPIDI_UCX_move move;
    struct MPIDI_UCX_buffer local;
    MPI_Datatype remote_type;
    MPIR_Win *win;
    int rank;
    MPIR_Request *request; /* null: nobody waits for it alone */
};

static void hold_types(const struct operation *o)
{
    MPIR_Datatype_add_ref_if_not_builtin(o->local.datatype);
    MPIR_Datatype_add_ref_if_not_builtin(o->remote_type);
}

static void over(struct MPIDI_UCX_move *move)
{
    struct operation *o = MPL_container_of(move, struct operation, move);
    if (move->error != HEDDLE_SUCCESS) {
        MPL_atomic_store_int(&MPIDIG_WIN(o->win, failed), 1);
        if (o->request != NULL)
            MPIDIG_fail(o->request, MPIR_Typerep_error(move->error));
    }
    MPIDI_UCX_WIN(o->win).direct->outstanding[o->rank]--;
    heddle_import_release((heddle_import *)move->packing.import);
    MPIR_Datatype_release_if_not_builtin(o->local.datatype);
    MPIR_Datatype_release_if_not_builtin(o->remote_type);
    if (o->request != NULL)
        MPIDIU_request_complete(o->request);
    MPL_free(o);
}

static void begin(struct operation *o, const struct MPIDI_UCX_access *a,
                  const struct MPIDI_UCX_target *target, bool is_get)
{
    const int vni = MPIDI_UCX_get_win_vni(a->win);
    o->move.packing = (heddle_packing){
        .buffer = &o->local.described,
        .bytes = o->local.bytes,
        .unpacks = is_get,
        .remote = {target->buf, a->count, MPIR_Typerep_committed(a->type), 0},
        .import = target->import,
    };
    o->move.moved = over;
    o->remote_type = a->type;
    o->win = a->win;
    o->rank = a->rank;
    hold_types(o);
    heddle_access_count(HEDDLE_ACCESS_DIRECT, o->local.bytes);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vni).lock);
    MPIDI_UCX_WIN(a->win).direct->outstanding[a->rank]++;
    MPIDI_UCX_move_begin(vni, &o->move);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vni).lock);
}

static int make_request(const struct MPIDI_UCX_access *a, struct operation *o)
{
    if (a->request == NULL)
        return MPI_SUCCESS;
    o->request =
        MPIR_Request_create_from_pool(MPIR_REQUEST_KIND__RMA, MPIDI_UCX_get_win_vni(a->win), 2);
    *a->request = o->request;
    return o->request == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
}

/* What is not to be moved at all is left to active messages, which know what then to do. */
static bool is_candidate(const struct MPIDI_UCX_access *a)
{
    MPI_Aint origin_size, size;
    if (!MPIDI_UCX_direct_exports(a->win, a->rank))
        return false;
    MPIR_Datatype_get_size_macro(a->origin_type, origin_size);
    MPIR_Datatype_get_size_macro(a->type, size);
    return a->origin_count * origin_size > 0 && a->count * size > 0;
}

/* False where it goes by active messages. */
static bool try_access(const struct MPIDI_UCX_access *a, bool is_get, int *mpi_errno)
{
    struct MPIDI_UCX_target target;
    if (!is_candidate(a))
        return false;
    *mpi_errno = MPIDI_UCX_check_epoch(a->win, a->rank);
    if (*mpi_errno != MPI_SUCCESS)
        return true;
    struct operation *o = MPL_calloc(1, sizeof(*o), MPL_MEM_RMA);
    if (o == NULL) {
        *mpi_errno = MPI_ERR_NO_MEM;
        return true;
    }
    MPIDI_UCX_describe_any(a->origin, a->origin_count, a->origin_type, &o->local);
    o->move.error = o->local.error;
    enum MPIDI_UCX_way way = MPIDI_UCX_direct_find(a, &o->local.described, &target, mpi_errno);
    if (way == MPIDI_UCX_WAY_DIRECT) {
        *mpi_errno = make_request(a, o);
        if (*mpi_errno == MPI_SUCCESS) {
            begin(o, a, &target, is_get);
            return true;
        }
        heddle_import_release(target.import);
    }
    MPL_free(o);
    return way != MPIDI_UCX_WAY_MESSAGES;
}

int MPIDI_UCX_put(const struct MPIDI_UCX_access *put)
{
    int mpi_errno = MPI_SUCCESS;
    if (try_access(put, false, &mpi_errno) || MPIDI_UCX_announce_access(put, false, &mpi_errno))
        return mpi_errno;
    MPIDI_UCX_count_by_message(put->count, put->type);
    return put->request == NULL
               ? MPIDIG_mpi_put(put->origin, put->origin_count, put->origin_type, put->rank,
                                put->disp, put->count, put->type, put->win)
               : MPIDIG_mpi_rput(put->origin, put->origin_count, put->origin_type, put->rank,
                                 put->disp, put->count, put->type, put->win, put->request);
}

int MPIDI_UCX_get(const struct MPIDI_UCX_access *get)
{
    int mpi_errno = MPI_SUCCESS;
    if (try_access(get, true, &mpi_errno) || MPIDI_UCX_announce_access(get, true, &mpi_errno))
        return mpi_errno;
    MPIDI_UCX_count_by_message(get->count, get->type);
    return get->request == NULL
               ? MPIDIG_mpi_get((void *)get->origin, get->origin_count, get->origin_type, get->rank,
                                get->disp, get->count, get->type, get->win)
               : MPIDIG_mpi_rget((void *)get->origin, get->origin_count, get->origin_type,
                                 get->rank, get->disp, get->count, get->type, get->win,
                                 get->request);
}

void MPIDI_UCX_direct_flush(MPIR_Win *win, int first, int end)
{
    const int vni = MPIDI_UCX_get_win_vni(win);
    const int *outstanding = MPIDI_UCX_WIN(win).direct->outstanding;
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vni).lock);
    for (int rank = first; rank < end; rank++)
        while (outstanding[rank] > 0)
            MPIDI_UCX_watch_progress(vni);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vni).lock);
}

/* ---- what UCX carries out -------------------------------------------------------------------- */

/* Where it packs them into messages, the target's answer may never come. */
struct MPIDI_UCX_remote {
    MPIR_Request **request;
    ucp_ep_h ep;
    int rank;
    int vni;
    struct MPIDI_UCX_remote *prev, *next;
};

static struct MPIDI_UCX_remote **remote_of(MPIR_Request *request)
{
    return (struct MPIDI_UCX_remote **)&MPIDI_UCX_REQ(request).ucp_request;
}

void MPIDI_UCX_rma_begins(MPIR_Request **request, ucp_ep_h ep, int rank, int vni)
{
    struct MPIDI_UCX_remote *r =
        MPIDI_UCX_MEETS_ENVELOPES ? MPL_malloc(sizeof(*r), MPL_MEM_RMA) : NULL;
    *remote_of(*request) = r;
    if (r == NULL)
        return;
    *r = (struct MPIDI_UCX_remote){request, ep, rank, vni, NULL, NULL};
    DL_APPEND(MPIDI_UCX_vnis[vni].remote, r);
}

static void end_remote(struct MPIDI_UCX_remote *r, int error)
{
    DL_DELETE(MPIDI_UCX_vnis[r->vni].remote, r);
    if (error != HEDDLE_SUCCESS)
        MPIDIG_fail(*r->request, MPIDI_UCX_message_error(error, r->rank));
    MPL_free(r);
}

void MPIDI_UCX_rma_ends(MPIR_Request *request, ucs_status_t status)
{
    struct MPIDI_UCX_remote *r = *remote_of(request);
    if (r != NULL)
        end_remote(r, MPIDI_UCX_read_error_of(r->vni, r->ep, status));
    else if (status != UCS_OK)
        MPIDIG_fail_elsewhere(request);
}

void MPIDI_UCX_rma_lost(int vni, ucp_ep_h ep)
{
    struct MPIDI_UCX_remote *r, *next;
    DL_FOREACH_SAFE(MPIDI_UCX_vnis[vni].remote, r, next)
    {
        MPIR_Request **const at = r->request, *const request = *at;
        if (r->ep != ep)
            continue;
        end_remote(r, HEDDLE_ERR_LOST);
        *at = NULL; /* the callback has nothing to do any more */
        MPIDIU_request_complete(request);
    }
}
