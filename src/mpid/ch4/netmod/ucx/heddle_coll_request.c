/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Direct collectives (heddle_coll_direct.h): who waits in its call; and calls that do not block,
 * which go on whenever somebody makes progress. One of these that goes its usual way starts the
 * schedule that MPICH has made for it. All schedules are made in the order of calls, and have their
 * tags from then, so they may be started in any order.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include "heddle_coll_direct.h"

#include "tsp_impl.h"

#if MPIR_TYPEREP_SENDS_DEVICE

#define LOOKS_BETWEEN 50 /* at what the others have come to, before progress is made */

/* Those under way that do not block; and a lock for what all calls of a communicator share. */
static struct {
    struct MPIDI_UCX_coll_call *head;
    MPID_Thread_mutex_t lock;
    int hook;
    bool is_in_hook;
} under_way = {.hook = -1};

/* ---- who waits ------------------------------------------------------------------------------- */

static bool poll(struct MPIDI_UCX_coll_call *call)
{
    MPID_THREAD_CS_ENTER(VCI, under_way.lock);
    const bool has_ended = MPIDI_UCX_coll_poll(call);
    MPID_THREAD_CS_EXIT(VCI, under_way.lock);
    return has_ended;
}

static bool look(struct MPIDI_UCX_coll_call *call)
{
    const int looks = MPIDI_UCX_watch & MPIDI_UCX_WATCH_YIELD ? 1 : LOOKS_BETWEEN;
    for (int i = 0; i < looks; i++)
        if (poll(call))
            return true;
    return false;
}

/* Schedules of nonblocking collectives go on, too, for others may wait for those before they come.
 * An error of progress is told at the end: the other members wait for the steps of this one. */
static int wait_for(struct MPIDI_UCX_coll_call *call)
{
    int mpi_errno = MPI_SUCCESS;
    while (!look(call)) {
        const int error = MPID_Progress_test(NULL);
        mpi_errno = mpi_errno == MPI_SUCCESS ? error : mpi_errno;
        if (error != MPI_SUCCESS && call->waits_for == MPIDI_UCX_WAITS_FOR_SEGMENT)
            break;
        MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    }
    return call->error != MPI_SUCCESS ? call->error : mpi_errno;
}

static int block(struct MPIDI_UCX_coll_call *call, const struct MPIR_Direct_ends *ends)
{
    MPIDI_UCX_coll_take_place(call);
    *ends->mpi_errno = wait_for(call);
    if (call->state == MPIDI_UCX_DECLINED) { /* at all members, whatever has failed here */
        *ends->mpi_errno = MPI_SUCCESS;
        return false;
    }
    /* One over several nodes goes on with that, and so tells the other nodes. */
    if (*ends->errflag == MPIR_ERR_NONE)
        *ends->errflag = call->wrong;
    MPIR_Coll_note(ends->errflag, *ends->mpi_errno);
    return true;
}

/* ---- the usual way --------------------------------------------------------------------------- */

static int start_usual(struct MPIDI_UCX_coll_call *call)
{
    const struct MPIR_Direct_usual *usual = &call->usual;
    int mpi_errno;
    if (usual->type == MPIR_SCHED_NORMAL) {
        mpi_errno = MPIR_Sched_reset(usual->sched);
        return mpi_errno == MPI_SUCCESS ? MPIR_Sched_start(usual->sched, call->comm, &call->inner)
                                        : mpi_errno;
    }
    mpi_errno = MPIR_TSP_sched_reset(usual->sched);
    return mpi_errno == MPI_SUCCESS ? MPIR_TSP_sched_start(usual->sched, call->comm, &call->inner)
                                    : mpi_errno;
}

static void free_usual(const struct MPIR_Direct_usual *usual)
{
    if (usual->type == MPIR_SCHED_NORMAL)
        MPIR_Sched_free(usual->sched);
    else
        MPIR_TSP_sched_free(usual->sched);
}

static bool has_ended_as_usual(struct MPIDI_UCX_coll_call *call)
{
    if (!MPIR_Request_is_complete(call->inner))
        return false;
    call->error = MPIR_Coll_result(call->inner->status.MPI_ERROR, &call->inner->u.nbc.errflag);
    MPIR_Request_free(call->inner);
    call->inner = NULL;
    return true;
}

/* ---- nonblocking ----------------------------------------------------------------------------- */

/* Goes on as far as it can. False: it is still under way. */
static bool go_on(struct MPIDI_UCX_coll_call *call)
{
    if (call->inner == NULL) {
        if (!MPIDI_UCX_coll_poll(call))
            return false;
        if (call->state == MPIDI_UCX_DECLINED)
            call->error = start_usual(call);
    }
    return call->inner == NULL || has_ended_as_usual(call);
}

static void forget(struct MPIDI_UCX_coll_call *call)
{
    call->forget(call);
    MPL_free(call);
}

/* The request may be the last that keeps the communicator, and goes last. */
static void complete(struct MPIDI_UCX_coll_call *call)
{
    MPIR_Request *request = call->request;
    request->status.MPI_ERROR = MPIR_Coll_result(call->error, &call->wrong);
    call->request = NULL;
    if (call->usual.persistent == NULL) {
        free_usual(&call->usual);
        forget(call);
    }
    MPIR_Request_complete(request);
}

static int start(struct MPIDI_UCX_coll_call *call, MPIR_Request **request)
{
    int mpi_errno = MPI_SUCCESS;
    *request = call->request = MPIR_Request_create(MPIR_REQUEST_KIND__COLL);
    MPIR_ERR_CHKANDJUMP(*request == NULL, mpi_errno, MPI_ERR_OTHER, "**nomem");
    MPIR_Comm_add_ref(call->comm);
    call->request->comm = call->comm;
    MPIR_Request_add_ref(call->request); /* the caller's, and this one */
    call->inner = NULL;
    if (call->coll == NULL)
        MPIDI_UCX_channels_start(call);
    else
        MPIDI_UCX_coll_take_place(call);
    MPID_THREAD_CS_ENTER(VCI, under_way.lock);
    if (go_on(call)) {
        complete(call);
    } else {
        DL_APPEND(under_way.head, call);
        MPIR_Progress_hook_activate(under_way.hook);
    }
    MPID_THREAD_CS_EXIT(VCI, under_way.lock);
fn_fail:
    return mpi_errno;
}

static int progress(int *made_progress)
{
    struct MPIDI_UCX_coll_call *call, *next;
    if (under_way.is_in_hook)
        return MPI_SUCCESS;
    MPID_THREAD_CS_ENTER(VCI, under_way.lock);
    under_way.is_in_hook = true;
    DL_FOREACH_SAFE(under_way.head, call, next)
    {
        if (!go_on(call))
            continue;
        DL_DELETE(under_way.head, call);
        complete(call);
        *made_progress = true;
    }
    if (under_way.head == NULL)
        MPIR_Progress_hook_deactivate(under_way.hook);
    under_way.is_in_hook = false;
    MPID_THREAD_CS_EXIT(VCI, under_way.lock);
    return MPI_SUCCESS;
}

/* ---- persistent ------------------------------------------------------------------------------ */

int MPIR_Direct_start(MPIR_Request *persistent)
{
    return start(persistent->u.persist_coll.direct, &persistent->u.persist_coll.real_request);
}

void MPIR_Direct_free(MPIR_Request *persistent)
{
    struct MPIDI_UCX_coll_call *call = persistent->u.persist_coll.direct;
    while (call->request != NULL && MPID_Progress_test(NULL) == MPI_SUCCESS)
        MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    if (call->coll != NULL)
        MPIDI_UCX_coll_close(call->coll);
    forget(call);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static struct MPIDI_UCX_coll *find_coll(MPIR_Comm *comm, const struct MPIR_Direct_usual *usual)
{
    if (usual == NULL)
        return MPIDI_UCX_coll_of(comm);
    return usual->persistent != NULL ? MPIDI_UCX_coll_of_persistent(comm)
                                     : MPIDI_UCX_COMM(comm).coll; /* by MPIR_Direct_begins */
}

void *MPIDI_UCX_coll_begin(const struct MPIDI_UCX_coll_call *what,
                           const struct MPIR_Direct_ends *ends, void *place, size_t bytes)
{
    struct MPIDI_UCX_coll *coll = find_coll(what->comm, ends->usual);
    if (coll == NULL)
        return NULL;
    struct MPIDI_UCX_coll_call *call =
        ends->usual == NULL ? place : MPL_malloc(bytes, MPL_MEM_COLL);
    MPIR_Assertp(call != NULL);
    *call = *what;
    call->coll = coll;
    call->is_blocking = ends->usual == NULL;
    if (ends->usual == NULL)
        call->errflag = *ends->errflag;
    else
        call->usual = *ends->usual;
    return call;
}

int MPIDI_UCX_coll_go(struct MPIDI_UCX_coll_call *call, const struct MPIR_Direct_ends *ends)
{
    if (call->is_blocking)
        return block(call, ends);
    if (call->usual.persistent != NULL)
        call->usual.persistent->u.persist_coll.direct = call;
    else
        *ends->mpi_errno = start(call, call->usual.request);
    return true;
}

bool MPIDI_UCX_coll_init(void)
{
    int error;
    if (under_way.hook >= 0) /* since an earlier session */
        return true;
    MPID_Thread_mutex_create(&under_way.lock, &error);
    return error == 0 && MPIR_Progress_hook_register(progress, &under_way.hook) == MPI_SUCCESS;
}

void MPIDI_UCX_coll_finalize(void)
{
    int error;
    if (under_way.hook < 0)
        return;
    MPIR_Progress_hook_deregister(under_way.hook);
    MPID_Thread_mutex_destroy(&under_way.lock, &error);
    under_way.hook = -1;
}

#else

bool MPIDI_UCX_coll_init(void) { return false; }
void MPIDI_UCX_coll_finalize(void) {}

#endif
