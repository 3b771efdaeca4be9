/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The locks of windows within a node (heddle_win.h): words in memory that the members share.
 * Whoever waits makes all progress, so that nobody waits for it in turn. If the holder has ended,
 * the wait ends with MPIX_ERR_PROC_FAILED. MPICH keeps the epochs: to it each lock is one with
 * MPI_MODE_NOCHECK. In other windows the target gives the lock, unless it has ended.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include "heddle_direct.h"

/* One try to get a lock. */
struct attempt {
    MPIR_Win *win;
    int target;
    bool is_exclusive;
    int lost; /* who has ended and holds it; -1: nobody */
};

static uint64_t mark_of(const MPIR_Win *win) { return (uint64_t)win->comm_ptr->rank + 1; }

/* ---- the lock of MPI_Win_lock ---------------------------------------------------------------- */

static bool get_exclusive(const struct attempt *a, struct MPIDI_UCX_member *member)
{
    return MPL_atomic_cas_uint64(&member->lock, 0, mark_of(a->win) << 32) == 0;
}

/* The flag tells who shares, before it does: who ends in between leaves a trace. */
static bool get_shared(const struct attempt *a, struct MPIDI_UCX_member *member)
{
    MPL_atomic_uint64_t *flag = MPIDI_UCX_shares(a->win, a->target, a->win->comm_ptr->rank);
    const uint64_t held = MPL_atomic_load_uint64(&member->lock);
    if (held >> 32 != 0)
        return false;
    MPL_atomic_store_uint64(flag, 1);
    if (MPL_atomic_cas_uint64(&member->lock, held, held + 1) == held)
        return true;
    MPL_atomic_store_uint64(flag, 0);
    return false;
}

/* Who waits says that it is next: nobody else gets the lock before it. */
static bool get(const struct attempt *a, struct MPIDI_UCX_member *member)
{
    const uint64_t mark = mark_of(a->win), next = MPL_atomic_load_uint64(&member->next);
    if (next != 0 && next != mark)
        return false;
    const bool is_mine = a->is_exclusive ? get_exclusive(a, member) : get_shared(a, member);
    (void)MPL_atomic_cas_uint64(&member->next, is_mine ? mark : 0, is_mine ? 0 : mark);
    return is_mine;
}

/* Who has ended and keeps `a` waiting; -1: nobody. Who shared the lock keeps only an exclusive one
 * waiting. */
static int find_lost(const struct attempt *a, struct MPIDI_UCX_member *member)
{
    if (!MPIDI_left_somebody)
        return -1;
    const uint64_t holder = MPL_atomic_load_uint64(&member->lock) >> 32;
    const uint64_t next = MPL_atomic_load_uint64(&member->next);
    if (next != 0 && MPIDI_UCX_member_has_ended(a->win->comm_ptr, (int)next - 1))
        (void)MPL_atomic_cas_uint64(&member->next, next, 0);
    if (holder != 0)
        return MPIDI_UCX_member_has_ended(a->win->comm_ptr, (int)holder - 1) ? (int)holder - 1 : -1;
    for (int rank = 0; a->is_exclusive && rank < a->win->comm_ptr->local_size; rank++)
        if (MPL_atomic_load_uint64(MPIDI_UCX_shares(a->win, a->target, rank)) != 0 &&
            MPIDI_UCX_member_has_ended(a->win->comm_ptr, rank))
            return rank;
    return -1;
}

/* Whether there is nothing to wait for any more. */
static bool try_lock(struct attempt *a)
{
    struct MPIDI_UCX_member *member = MPIDI_UCX_member(a->win, a->target);
    if (get(a, member))
        return true;
    a->lost = find_lost(a, member);
    if (a->lost >= 0)
        (void)MPL_atomic_cas_uint64(&member->next, mark_of(a->win), 0);
    return a->lost >= 0;
}

static void release(MPIR_Win *win, int target)
{
    struct MPIDI_UCX_member *member = MPIDI_UCX_member(win, target);
    MPL_atomic_uint64_t *flag = MPIDI_UCX_shares(win, target, win->comm_ptr->rank);
    if (MPL_atomic_load_uint64(flag) != 0) {
        (void)MPL_atomic_fetch_sub_uint64(&member->lock, 1);
        MPL_atomic_store_uint64(flag, 0);
    } else {
        MPL_atomic_store_uint64(&member->lock, 0);
    }
    MPIDI_UCX_WIN(win).direct->is_held[target] = false;
}

static int wait_for(struct attempt *a, bool (*attempt)(struct attempt *))
{
    int mpi_errno = MPI_SUCCESS;
    const int vci = MPIDI_WIN(a->win, am_vci);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vci).lock);
    MPIDIU_PROGRESS_WHILE(!attempt(a), vci);
    if (a->lost >= 0)
        mpi_errno = MPIDI_UCX_member_error(a->lost);
fn_exit:
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vci).lock);
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

static int acquire(MPIR_Win *win, int target, int lock_type)
{
    struct attempt a = {win, target, lock_type == MPI_LOCK_EXCLUSIVE, -1};
    const int mpi_errno = wait_for(&a, try_lock);
    MPIDI_UCX_WIN(win).direct->is_held[target] = mpi_errno == MPI_SUCCESS;
    return mpi_errno;
}

static void release_all(MPIR_Win *win)
{
    for (int rank = 0; rank < win->comm_ptr->local_size; rank++)
        if (MPIDI_UCX_WIN(win).direct->is_held[rank])
            release(win, rank);
}

/* ---- epochs ---------------------------------------------------------------------------------- */

/* An epoch that has not ended, for one of its targets has. MPICH says so before it tells the
 * others, and only once: to end the epoch again tells them. */
static bool is_open(const MPIR_Win *win, int epoch)
{
    return MPIDI_left_somebody && MPIDIG_WIN(win, sync).access_epoch_type == epoch;
}

/* The lock of a target that gives it. To MPICH who has ended gave its lock, too. */
static int ask_for_lock(int lock_type, int rank, int assert, MPIR_Win *win)
{
    const int mpi_errno = MPIDIG_mpi_win_lock(lock_type, rank, assert, win);
    if (assert & MPI_MODE_NOCHECK || !MPIDI_UCX_member_has_ended(win->comm_ptr, rank))
        return mpi_errno;
    if (mpi_errno == MPI_SUCCESS)
        (void)MPIDIG_win_result(win, MPIDIG_mpi_win_unlock(rank, win));
    return MPIDI_UCX_member_error(rank);
}

static int ask_for_all_locks(int assert, MPIR_Win *win)
{
    const int mpi_errno = MPIDIG_mpi_win_lock_all(assert, win);
    if (mpi_errno != MPI_SUCCESS || assert & MPI_MODE_NOCHECK)
        return mpi_errno;
    for (int rank = 0; rank < win->comm_ptr->local_size; rank++)
        if (MPIDI_UCX_member_has_ended(win->comm_ptr, rank)) {
            (void)MPIDIG_win_result(win, MPIDIG_mpi_win_unlock_all(win));
            return MPIDI_UCX_member_error(rank);
        }
    return mpi_errno;
}

/* MPICH first sees whether there may be such an epoch. */
int MPIDI_UCX_direct_lock(int lock_type, int rank, int assert, MPIR_Win *win)
{
    if (MPIDI_UCX_WIN(win).direct == NULL)
        return ask_for_lock(lock_type, rank, assert, win);
    int mpi_errno = MPIDIG_mpi_win_lock(lock_type, rank, assert | MPI_MODE_NOCHECK, win);
    if (mpi_errno != MPI_SUCCESS || assert & MPI_MODE_NOCHECK)
        return mpi_errno;
    mpi_errno = acquire(win, rank, lock_type);
    if (mpi_errno != MPI_SUCCESS)
        (void)MPIDIG_mpi_win_unlock(rank, win);
    return mpi_errno;
}

/* The same of one target. */
static bool is_locked(MPIR_Win *win, int rank)
{
    if (!is_open(win, MPIDIG_EPOTYPE_LOCK))
        return false;
    const MPIDIG_win_target_t *target = MPIDIG_win_target_find(win, rank);
    return target != NULL && target->sync.lock.locked > 0;
}

/* Whatever fails in an unlock, the others get the lock. */
int MPIDI_UCX_direct_unlock(int rank, MPIR_Win *win)
{
    const bool is_held = MPIDI_UCX_WIN(win).direct != NULL &&
                         MPIDIG_WIN(win, sync).access_epoch_type == MPIDIG_EPOTYPE_LOCK &&
                         MPIDI_UCX_WIN(win).direct->is_held[rank];
    const int mpi_errno = MPIDIG_mpi_win_unlock(rank, win);
    if (is_locked(win, rank))
        (void)MPIDIG_mpi_win_unlock(rank, win);
    if (is_held)
        release(win, rank);
    return mpi_errno;
}

int MPIDI_UCX_direct_lock_all(int assert, MPIR_Win *win)
{
    if (MPIDI_UCX_WIN(win).direct == NULL)
        return ask_for_all_locks(assert, win);
    int mpi_errno = MPIDIG_mpi_win_lock_all(assert | MPI_MODE_NOCHECK, win);
    if (mpi_errno != MPI_SUCCESS || assert & MPI_MODE_NOCHECK)
        return mpi_errno;
    for (int rank = 0; rank < win->comm_ptr->local_size && mpi_errno == MPI_SUCCESS; rank++)
        mpi_errno = acquire(win, rank, MPI_LOCK_SHARED);
    if (mpi_errno != MPI_SUCCESS) {
        (void)MPIDIG_mpi_win_unlock_all(win);
        release_all(win);
    }
    return mpi_errno;
}

int MPIDI_UCX_direct_unlock_all(MPIR_Win *win)
{
    const bool is_held = MPIDI_UCX_WIN(win).direct != NULL &&
                         MPIDIG_WIN(win, sync).access_epoch_type == MPIDIG_EPOTYPE_LOCK_ALL;
    const int mpi_errno = MPIDIG_mpi_win_unlock_all(win);
    if (is_open(win, MPIDIG_EPOTYPE_LOCK_ALL))
        (void)MPIDIG_mpi_win_unlock_all(win);
    if (is_held)
        release_all(win);
    return mpi_errno;
}

int MPIDI_UCX_direct_complete(MPIR_Win *win)
{
    const int mpi_errno = MPIDIG_mpi_win_complete(win);
    if (is_open(win, MPIDIG_EPOTYPE_START))
        (void)MPIDIG_mpi_win_complete(win);
    return mpi_errno;
}

/* ---- the update lock ------------------------------------------------------------------------- */

static bool try_update(struct attempt *a)
{
    MPL_atomic_uint64_t *update = &MPIDI_UCX_member(a->win, a->target)->update;
    const uint64_t holder = MPL_atomic_cas_uint64(update, 0, mark_of(a->win));
    if (holder == 0)
        return true;
    if (MPIDI_UCX_member_has_ended(a->win->comm_ptr, (int)holder - 1))
        a->lost = (int)holder - 1;
    return a->lost >= 0;
}

int MPIDI_UCX_update_begin(MPIR_Win *win, int rank)
{
    struct attempt a = {win, rank, true, -1};
    return wait_for(&a, try_update);
}

void MPIDI_UCX_update_end(MPIR_Win *win, int rank)
{
    MPL_atomic_store_uint64(&MPIDI_UCX_member(win, rank)->update, 0);
}
