/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The origin of announced one-sided operations (heddle_announced.h): how they begin, and when they
 * are over.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include "heddle_announced.h"
#include "utlist.h"

/* An operation that is not over. Holds references to the types of its buffers. */
struct MPIDI_UCX_announced {
    uint64_t name; /* by which the target answers, who may do so when this is gone */
    MPIR_Win *win;
    int rank;
    int vni;
    ucp_ep_h ep;
    struct MPIDI_UCX_buffer out, in; /* no bytes: nothing is sent, or received */
    uint64_t message;                /* that sends, at this port; 0: none */
    MPIR_cc_t *local_count;          /* MPICH's, of operations that are not over here */
    MPIR_Request *request;           /* null: nobody waits for it alone */
    int awaited;                     /* a message that sends; the answer, and what it brings */
    bool is_update;
    bool is_answered;
    int error; /* HEDDLE_*, the first */
    struct MPIDI_UCX_announced *prev, *next;
};

/* ---- ends ------------------------------------------------------------------------------------ */

static int error_of(const struct MPIDI_UCX_announced *o)
{
    return o->error == HEDDLE_ERR_PEER ? MPIDIG_elsewhere()
                                       : MPIDI_UCX_message_error(o->error, o->rank);
}

static void hold_types(const struct MPIDI_UCX_announced *o)
{
    if (o->out.bytes > 0)
        MPIR_Datatype_add_ref_if_not_builtin(o->out.datatype);
    if (o->in.bytes > 0)
        MPIR_Datatype_add_ref_if_not_builtin(o->in.datatype);
}

static void release_types(const struct MPIDI_UCX_announced *o)
{
    if (o->out.bytes > 0)
        MPIR_Datatype_release_if_not_builtin(o->out.datatype);
    if (o->in.bytes > 0)
        MPIR_Datatype_release_if_not_builtin(o->in.datatype);
}

static void over(struct MPIDI_UCX_announced *o)
{
    DL_DELETE(MPIDI_UCX_vnis[o->vni].announced, o);
    if (o->error != HEDDLE_SUCCESS) {
        MPL_atomic_store_int(&MPIDIG_WIN(o->win, failed), 1);
        if (o->request != NULL)
            MPIDIG_fail(o->request, error_of(o));
    }
    if (o->is_update)
        MPIDIG_win_remote_acc_cmpl_cnt_decr(o->win, o->rank);
    MPIDIG_win_remote_cmpl_cnt_decr(o->win, o->rank);
    MPIR_cc_dec(o->local_count);
    release_types(o);
    if (o->request != NULL)
        MPIDIU_request_complete(o->request);
    MPL_free(o);
}

/* Something that was awaited has come, or will not; it may be over then. */
static void note(struct MPIDI_UCX_announced *o, int error)
{
    if (o->error == HEDDLE_SUCCESS)
        o->error = error;
    if (--o->awaited == 0)
        over(o);
}

static void message_is_over(void *argument, int error, int64_t bytes)
{
    (void)bytes;
    note(argument, error);
}

static void note_answer(struct MPIDI_UCX_announced *o, int error)
{
    o->is_answered = true;
    note(o, error);
}

static struct MPIDI_UCX_announced *find(int vni, uint64_t name)
{
    struct MPIDI_UCX_announced *o = MPIDI_UCX_vnis[vni].announced;
    while (o != NULL && (o->name != name || o->is_answered))
        o = o->next;
    return o;
}

static void not_sent(int vni, uint64_t name)
{
    struct MPIDI_UCX_announced *o = find(vni, name);
    if (o != NULL)
        note_answer(o, HEDDLE_ERR_PEER);
}

void MPIDI_UCX_announced_lost(int vni, ucp_ep_h ep)
{
    struct MPIDI_UCX_announced *o, *next;
    DL_FOREACH_SAFE(MPIDI_UCX_vnis[vni].announced, o, next)
    {
        if (o->ep == ep && !o->is_answered)
            note_answer(o, HEDDLE_ERR_LOST);
    }
}

/* Those that were announced end all the same; MPICH's own active messages do not. What they were
 * answered before their target ended may be on its way yet. */
bool MPIDI_UCX_target_is_lost(const MPIR_Win *win, int rank)
{
    const struct MPIDI_UCX_announced *o;
    if (!MPIDI_UCX_member_is_silent(win, rank))
        return false;
    DL_FOREACH(MPIDI_UCX_vnis[MPIDI_UCX_get_win_vni((MPIR_Win *)win)].announced, o)
    {
        if (o->win == win && o->rank == rank)
            return false;
    }
    return true;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Who failed may have matched no message. Null: it was given up. */
static void is_done(struct MPIDI_UCX_announced *o, bool failed)
{
    if (o == NULL)
        return;
    if (failed && o->message != 0)
        (void)heddle_message_abandon(MPIDI_UCX_port(o->vni), o->message, HEDDLE_ERR_PEER);
    note_answer(o, failed ? HEDDLE_ERR_PEER : HEDDLE_SUCCESS);
}

/* An operation that was given up wants no data. */
static void receive(struct MPIDI_UCX_announced *o, struct MPIDI_UCX_arrived *a)
{
    const struct MPIDI_UCX_buffer none = {.error = HEDDLE_ERR_PEER};
    const bool is_wanted = o != NULL && o->in.bytes > 0;
    if (is_wanted)
        o->is_answered = true;
    const int error =
        MPIDI_UCX_announced_receive(a, is_wanted ? &o->in : &none, message_is_over, o);
    if (is_wanted && error != HEDDLE_SUCCESS)
        note(o, error);
}

const struct MPIDI_UCX_buffer *MPIDI_UCX_awaited(int vni, uint64_t operation)
{
    const struct MPIDI_UCX_announced *o = find(vni, operation);
    return o != NULL && o->in.bytes > 0 ? &o->in : NULL;
}

void MPIDI_UCX_answered(struct MPIDI_UCX_arrived *a)
{
    struct MPIDI_UCX_announced *o = find(a->vni, a->it.operation);
    if (o != NULL && a->error != HEDDLE_SUCCESS)
        note_answer(o, a->error);
    else if (a->it.word == MPIDI_UCX_WORD_DATA && a->error == HEDDLE_SUCCESS)
        receive(o, a);
    else
        is_done(o, a->it.failed);
}

/* ---- which are announced --------------------------------------------------------------------- */

/* A process's own are moved at once. */
bool MPIDI_UCX_may_announce(const MPIR_Win *win, int rank, MPI_Aint bytes, MPI_Aint least)
{
    return MPIDI_UCX_watch & MPIDI_UCX_WATCH_GPU && rank != win->comm_ptr->rank &&
           rank != MPI_PROC_NULL && bytes > least;
}

static bool is_update(const struct MPIDI_UCX_candidate *c)
{
    return c->word == MPIDI_UCX_WORD_UPDATE || c->word == MPIDI_UCX_WORD_FETCH;
}

static bool moves_device_memory(const struct MPIDI_UCX_buffer *buffer)
{
    return buffer->bytes > 0 && MPIDI_UCX_is_of_device(buffer);
}

/* As far as an origin can know: what is on the host alone stays MPICH's. */
static bool has_device(const struct MPIDI_UCX_candidate *c)
{
    return MPIDI_UCX_WIN(c->at->win).has_devices || moves_device_memory(&c->out) ||
           moves_device_memory(&c->in);
}

static int check(const struct MPIDI_UCX_candidate *c)
{
    const int mpi_errno = MPIDI_UCX_check_epoch(c->at->win, c->at->rank);
    const int error = c->out.bytes > 0 && c->out.error != HEDDLE_SUCCESS ? c->out.error
                      : c->in.bytes > 0                                  ? c->in.error
                                                                         : HEDDLE_SUCCESS;
    return mpi_errno != MPI_SUCCESS || error == HEDDLE_SUCCESS ? mpi_errno
                                                               : MPIR_Typerep_error(error);
}

/* ---- how they begin -------------------------------------------------------------------------- */

static struct MPIDI_UCX_announced *make(const struct MPIDI_UCX_candidate *c)
{
    const int vni = MPIDI_UCX_get_win_vni(c->at->win);
    struct MPIDI_UCX_announced *o = MPL_malloc(sizeof(*o), MPL_MEM_RMA);
    if (o == NULL)
        return NULL;
    *o = (struct MPIDI_UCX_announced){
        .win = c->at->win,
        .rank = c->at->rank,
        .vni = vni,
        .ep = MPIDI_UCX_WIN_TO_EP(c->at->win, c->at->rank, vni),
        .out = c->out,
        .in = c->in,
        .awaited = c->out.bytes > 0 ? 2 : 1,
        .is_update = is_update(c),
    };
    if (c->at->request == NULL)
        return o;
    o->request = MPIR_Request_create_from_pool(MPIR_REQUEST_KIND__RMA, vni, 2);
    if (o->request != NULL)
        return o;
    MPL_free(o);
    return NULL;
}

/* Nothing of it has begun. */
static void drop(struct MPIDI_UCX_announced *o)
{
    if (o->request != NULL) {
        MPIDIU_request_complete(o->request);
        MPIDI_CH4_REQUEST_FREE(o->request);
    }
    MPL_free(o);
}

/* The type at the target: predefined, bytes, or flattened. The flattened bytes are the type's. */
static void tell_target(const struct MPIDI_UCX_access *at, struct MPIDI_UCX_telling *t,
                        bool as_bytes)
{
    int is_contig, bytes = 0;
    MPI_Aint size, true_lb;
    MPIR_Datatype_is_contig(at->type, &is_contig);
    t->it.disp = at->disp;
    t->it.count = at->count;
    t->it.type = at->type;
    if (MPIR_DATATYPE_IS_PREDEFINED(at->type))
        return;
    if (is_contig && as_bytes) {
        MPIR_Datatype_get_size_macro(at->type, size);
        MPIR_Datatype_get_true_lb(at->type, &true_lb);
        t->it.count = at->count * size;
        t->it.offset = true_lb;
        t->it.type = MPI_BYTE;
        return;
    }
    t->it.type = MPI_DATATYPE_NULL;
    MPIR_Datatype_get_flattened(at->type, (void **)&t->flattened, &bytes);
    t->flattened_bytes = bytes;
}

/* What an update sends, in elements of a predefined type. */
static void tell_elements(const struct MPIDI_UCX_candidate *c, struct MPIDI_UCX_telling *t)
{
    MPIR_Datatype *dtp;
    MPI_Aint size;
    t->it.op = c->op;
    t->it.element = c->out.datatype;
    if (c->out.bytes == 0)
        return;
    if (!HANDLE_IS_BUILTIN(c->out.datatype)) {
        MPIR_Datatype_get_ptr(c->out.datatype, dtp);
        t->it.element = dtp->basic_type;
    }
    MPIR_Datatype_get_size_macro(t->it.element, size);
    t->it.elements = c->out.bytes / size;
}

/* The window waits for it from now on. */
static void add(struct MPIDI_UCX_announced *o)
{
    hold_types(o);
    MPIDIG_win_cmpl_cnts_incr(o->win, o->rank, &o->local_count);
    if (o->is_update)
        MPIDIG_win_remote_acc_cmpl_cnt_incr(o->win, o->rank);
    DL_APPEND(MPIDI_UCX_vnis[o->vni].announced, o);
    const MPI_Aint bytes = MPL_MAX(o->out.bytes, o->in.bytes);
    heddle_access_count(MPIDI_UCX_goes_whole(o->win, o->rank, bytes) ? HEDDLE_ACCESS_BY_MESSAGE
                                                                     : HEDDLE_ACCESS_IN_CHUNKS,
                        bytes);
}

/* HEDDLE_*: with an error nothing has begun. */
static int begin(struct MPIDI_UCX_announced *o, struct MPIDI_UCX_telling *t)
{
    t->it.operation = o->name = ++MPIDI_UCX_vnis[o->vni].last_announced;
    if (o->out.bytes > 0) {
        const int error = MPIDI_UCX_announced_send(t, &o->out, message_is_over, o);
        if (error != HEDDLE_SUCCESS)
            return error;
        o->message = t->message;
    }
    add(o);
    MPIDI_UCX_announce(t); /* if that fails it may be over */
    return HEDDLE_SUCCESS;
}

static int announce(const struct MPIDI_UCX_candidate *c)
{
    struct MPIDI_UCX_announced *o = make(c);
    if (o == NULL)
        return MPI_ERR_NO_MEM;
    struct MPIDI_UCX_telling t = {
        .it = {.word = c->word}, .win = o->win, .to = o->rank, .vni = o->vni, .lost = not_sent};
    MPIR_Request *const request = o->request;
    tell_target(c->at, &t, !o->is_update);
    if (o->is_update)
        tell_elements(c, &t);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(t.vni).lock);
    const int error = begin(o, &t);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(t.vni).lock);
    if (error != HEDDLE_SUCCESS) {
        drop(o);
        return MPIR_Typerep_error(error);
    }
    if (c->at->request != NULL)
        *c->at->request = request;
    return MPI_SUCCESS;
}

/* ---- what waits for others ------------------------------------------------------------------- */

/* So many at a target keep the link busy; all of them are looked at in each call of progress. */
#define MOST_AT_A_TARGET 64

struct pause {
    MPIR_Win *win;
    int vni;
    int rank;
};

static bool has_updates(const struct pause *p)
{
    const struct MPIDI_UCX_announced *o = MPIDI_UCX_vnis[p->vni].announced;
    while (o != NULL && !(o->is_update && o->win == p->win && o->rank == p->rank))
        o = o->next;
    return o != NULL;
}

static bool is_full(const struct pause *p)
{
    const ucp_ep_h ep = MPIDI_UCX_WIN_TO_EP(p->win, p->rank, p->vni);
    const struct MPIDI_UCX_announced *o;
    int n = 0;
    DL_FOREACH(MPIDI_UCX_vnis[p->vni].announced, o) { n += o->ep == ep; }
    return n >= MOST_AT_A_TARGET;
}

/* MPICH's own. In fence epochs it counts those at all targets together. */
static bool has_messages(const struct pause *p)
{
    const MPIDIG_win_target_t *target = MPIDIG_win_target_find(p->win, p->rank);
    return MPIR_cc_get(MPIDIG_WIN(p->win, remote_acc_cmpl_cnts)) != 0 ||
           (target != NULL && MPIR_cc_get(target->remote_acc_cmpl_cnts) != 0);
}

/* Who has ended and so keeps `holds` true; -1: nobody. In a fence epoch nobody knows whose messages
 * are missing: then it is any. */
static int find_lost(bool (*holds)(const struct pause *p), const struct pause *p)
{
    if (!MPIDI_left_somebody)
        return -1;
    const bool is_any =
        holds == has_messages && MPIR_cc_get(MPIDIG_WIN(p->win, remote_acc_cmpl_cnts)) != 0;
    for (int rank = 0; is_any && rank < p->win->comm_ptr->local_size; rank++)
        if (MPIDI_UCX_member_is_silent(p->win, rank))
            return rank;
    return MPIDI_UCX_member_is_silent(p->win, p->rank) ? p->rank : -1;
}

/* Or until who would end it has ended, which is an error. */
static int wait_while(bool (*holds)(const struct pause *p), MPIR_Win *win, int rank)
{
    int mpi_errno = MPI_SUCCESS;
    const struct pause p = {win, MPIDI_UCX_get_win_vni(win), rank};
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(p.vni).lock);
    MPIDIU_PROGRESS_WHILE(holds(&p) && find_lost(holds, &p) < 0, MPIDI_WIN(win, am_vci));
    if (holds(&p))
        mpi_errno = MPIDI_UCX_member_error(find_lost(holds, &p));
fn_fail:
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(p.vni).lock);
    return mpi_errno;
}

static bool is_ordered(const MPIR_Win *win)
{
    return MPIDIG_WIN(win, info_args).accumulate_ordering != 0;
}

int MPIDI_UCX_wait_for_updates(MPIR_Win *win, int rank)
{
    return is_ordered(win) ? wait_while(has_updates, win, rank) : MPI_SUCCESS;
}

int MPIDI_UCX_wait_for_messages(MPIR_Win *win, int rank)
{
    return wait_while(has_messages, win, rank);
}

/* MPICH tells a long type to the target before it sends the data: these may come after what was
 * announced later. */
static int wait_for_earlier(MPIR_Win *win, int rank)
{
    const int mpi_errno = MPIDI_UCX_wait_for_updates(win, rank);
    return mpi_errno == MPI_SUCCESS && is_ordered(win) ? MPIDI_UCX_wait_for_messages(win, rank)
                                                       : mpi_errno;
}

/* ---- whatever it is -------------------------------------------------------------------------- */

bool MPIDI_UCX_announce_candidate(const struct MPIDI_UCX_candidate *c, int *mpi_errno)
{
    if (!has_device(c))
        return false;
    *mpi_errno = check(c);
    if (*mpi_errno == MPI_SUCCESS && is_update(c))
        *mpi_errno = wait_for_earlier(c->at->win, c->at->rank);
    if (*mpi_errno == MPI_SUCCESS)
        *mpi_errno = wait_while(is_full, c->at->win, c->at->rank);
    if (*mpi_errno == MPI_SUCCESS)
        *mpi_errno = announce(c);
    return true;
}
