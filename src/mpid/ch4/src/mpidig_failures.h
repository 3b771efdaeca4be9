/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A device that fails amid one-sided or partitioned communication. Stock takes no notice of what
 * packing and unpacking return there. The law here: every protocol runs to its end, so that nobody
 * waits in vain, and the failure goes with it.
 *
 * What fails stands in the status of its request (at either end). A message of a request that
 * failed goes without data (MPIDI_UCX_am_pack), and who gets it, a null pointer, writes nothing and
 * has failed as well; answers without data say so in a field. An answer says so to the origin: its
 * window remembers the failure of its operations until a synchronization returns it; requests
 * return their own as well.
 */
#ifndef MPIDIG_FAILURES_H_INCLUDED
#define MPIDIG_FAILURES_H_INCLUDED

/* The first failure stays. */
MPL_STATIC_INLINE_PREFIX void MPIDIG_fail(MPIR_Request *req, int error)
{
    if (unlikely(error != MPI_SUCCESS) && req->status.MPI_ERROR == MPI_SUCCESS)
        req->status.MPI_ERROR = error;
}

/* What failed at another process. */
MPL_STATIC_INLINE_PREFIX int MPIDIG_elsewhere(void)
{
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                MPI_ERR_OTHER, "**heddleoperation", 0);
}
#define MPIDIG_fail_elsewhere(req) MPIDIG_fail((req), MPIDIG_elsewhere())

/* What came goes to its place: MPIR_Typerep_copy, and MPIR_Typerep_unpack. */
#define MPIDIG_place(rreq, ...) MPIDIG_fail((rreq), MPIR_Typerep_copy(__VA_ARGS__))
MPL_STATIC_INLINE_PREFIX void MPIDIG_place_typed(MPIR_Request *rreq, const void *from,
                                                 MPI_Aint bytes, void *buf, MPI_Aint count,
                                                 MPI_Datatype datatype, MPI_Aint offset,
                                                 MPI_Aint *placed)
{
    *placed = 0;
    MPIDIG_fail(rreq, MPIR_Typerep_unpack(from, bytes, buf, count, datatype, offset, placed));
}

/* Whether two values are the same. */
MPL_STATIC_INLINE_PREFIX int MPIDIG_equal(MPIR_Request *rreq, const void *one, const void *other,
                                          MPI_Datatype datatype)
{
    int error = MPI_SUCCESS;
    const int equal = MPIR_Typerep_equal(one, other, datatype, &error);
    MPIDIG_fail(rreq, error);
    return equal;
}

/* An operation is over, at its origin. The window keeps no error code, for MPICH forgets those
 * after 128 others. */
MPL_STATIC_INLINE_PREFIX void MPIDIG_win_note(MPIR_Win *win, const MPIR_Request *req)
{
    if (unlikely(req->status.MPI_ERROR != MPI_SUCCESS))
        MPL_atomic_store_int(&MPIDIG_WIN(win, failed), 1);
}

/* ---- processes that have ended --------------------------------------------------------------- */

/* ch4_init.c: somebody has ended, and is waited for no more. */
extern int MPIDI_left_somebody;
#if defined(HAVE_CH4_NETMOD_UCX) && MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_HEDDLE
/* A member of a communicator has ended before its time. */
bool MPIDI_UCX_member_has_ended(MPIR_Comm *comm, int rank);
/* And all that it sent to a window's VCI has been seen there. */
bool MPIDI_UCX_member_is_silent(const MPIR_Win *win, int rank);
/* A target has ended, and nothing tells of what is still under way to it. */
bool MPIDI_UCX_target_is_lost(const MPIR_Win *win, int rank);
#else
#define MPIDI_UCX_member_has_ended(comm, rank) false
#define MPIDI_UCX_member_is_silent(win, rank) false
#define MPIDI_UCX_target_is_lost(win, rank) false
#endif

/* Whether to wait for so many operations that are under way to a target, under the VCI's lock. What
 * is lost stays counted: `told` says of how many a synchronization knows. */
MPL_STATIC_INLINE_PREFIX bool MPIDIG_waits_for(MPIR_Win *win, int rank, int under_way, int *told)
{
    if (under_way == 0) {
        *told = 0;
        return false;
    }
    if (likely(!MPIDI_UCX_target_is_lost(win, rank)))
        return true;
    if (under_way > *told)
        MPL_atomic_store_int(&MPIDIG_WIN(win, failed), 1);
    *told = under_way;
    return false;
}
/* `counter`: one of MPICH's, of a target. */
#define MPIDIG_WAITS_FOR(win, target, counter)                                                     \
    MPIDIG_waits_for((win), (target)->rank, MPIR_cc_get((target)->counter), &(target)->lost.counter)

/* Tells another process where an epoch begins or is over. Who has ended is not told. Who cannot be
 * reached keeps nobody from telling the others: the synchronization fails once it is over. */
#define MPIDIG_TELL(told, win, rank, what, msg, vci, is_local)                                     \
    do {                                                                                           \
        int error_ = MPI_SUCCESS;                                                                  \
        (told) = !MPIDI_UCX_member_has_ended((win)->comm_ptr, rank);                               \
        if (told)                                                                                  \
            CH4_CALL(am_send_hdr(rank, (win)->comm_ptr, what, msg, sizeof(*(msg)), vci, vci),      \
                     is_local, error_);                                                            \
        if (error_ != MPI_SUCCESS) {                                                               \
            MPL_atomic_store_int(&MPIDIG_WIN(win, failed), 1);                                     \
            (told) = false;                                                                        \
        }                                                                                          \
    } while (0)
#define MPIDIG_TELL_ONE(win, rank, what, msg, vci, is_local, mpi_errno)                            \
    do {                                                                                           \
        bool told_ ATTRIBUTE((unused));                                                            \
        MPIDIG_TELL(told_, win, rank, what, msg, vci, is_local);                                   \
        mpi_errno = MPI_SUCCESS;                                                                   \
    } while (0)

/* MPI_Win_lock_all and MPI_Win_unlock_all wait for the answers of all whom they told. Who has ended
 * counts as one that answered. `step` is what an answer adds to the number of locks. */
#define MPIDIG_TELL_ALL(win, rank, what, step, msg, vci, is_local, mpi_errno)                      \
    do {                                                                                           \
        bool told_;                                                                                \
        MPIDIG_TELL(told_, win, rank, what, msg, vci, is_local);                                   \
        if (!told_)                                                                                \
            MPIDIG_answered(win, rank, step);                                                      \
        mpi_errno = MPI_SUCCESS;                                                                   \
    } while (0)
MPL_STATIC_INLINE_PREFIX void MPIDIG_ask_all(MPIR_Win *win)
{
    MPIDIG_WIN(win, answered) = MPL_calloc(win->comm_ptr->local_size, sizeof(char), MPL_MEM_RMA);
    MPIR_Assert(MPIDIG_WIN(win, answered) != NULL);
}
MPL_STATIC_INLINE_PREFIX void MPIDIG_answered(MPIR_Win *win, int rank, int step)
{
    if (!MPIDIG_WIN(win, answered)[rank])
        MPIDIG_WIN(win, sync).lockall.allLocked += step;
    MPIDIG_WIN(win, answered)[rank] = true;
}
MPL_STATIC_INLINE_PREFIX bool MPIDIG_waits_for_all(MPIR_Win *win, int step)
{
    const int size = win->comm_ptr->local_size;
    for (int rank = 0; MPIDI_left_somebody && rank < size; rank++)
        if (MPIDI_UCX_member_has_ended(win->comm_ptr, rank))
            MPIDIG_answered(win, rank, step);
    return (int)MPIDIG_WIN(win, sync).lockall.allLocked != (step > 0 ? size : 0);
}
MPL_STATIC_INLINE_PREFIX void MPIDIG_all_answered(MPIR_Win *win)
{
    MPL_free(MPIDIG_WIN(win, answered));
    MPIDIG_WIN(win, answered) = NULL;
}

/* A target has posted, or an origin has completed (mpidig_posts.h). */
MPL_STATIC_INLINE_PREFIX void MPIDIG_note_by_rank(MPIR_Win *win, unsigned **counts, int rank)
{
    if (*counts == NULL)
        *counts = MPL_calloc(win->comm_ptr->local_size, sizeof(**counts), MPL_MEM_RMA);
    MPIR_Assert(*counts != NULL);
    (*counts)[rank]++;
}

/* ---- unlocking ------------------------------------------------------------------------------- */

/* The lock of who cannot be told is over, too: nobody answers. */
#define MPIDIG_TELL_UNLOCK(win, rank, slock, msg, vci, is_local, mpi_errno)                        \
    do {                                                                                           \
        bool told_;                                                                                \
        MPIDIG_TELL(told_, win, rank, MPIDIG_WIN_UNLOCK, msg, vci, is_local);                      \
        if (!told_)                                                                                \
            (slock)->locked = 0;                                                                   \
        mpi_errno = MPI_SUCCESS;                                                                   \
    } while (0)

/* MPI_Win_unlock returns once the operations are over at the target. The lock is given back by a
 * message that is on its way then. Its answer is awaited before the window goes. Messages to one
 * target keep their order, so a later lock comes behind it. */
MPL_STATIC_INLINE_PREFIX bool MPIDIG_unlock_answered(MPIR_Win *win, int rank)
{
    MPIDIG_win_target_t *target = NULL;
    HASH_FIND(hash_handle, MPIDIG_WIN(win, targets), &rank, sizeof(int), target);
    if (target == NULL || target->sync.lock.unlocks == 0)
        return false;
    target->sync.lock.unlocks--;
    return true;
}
#define MPIDIG_AWAIT_UNLOCKS(win)                                                                  \
    do {                                                                                           \
        const int vci_ = MPIDI_WIN(win, am_vci);                                                   \
        MPIDIG_win_target_t *target_, *next_;                                                      \
        MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vci_).lock);                                           \
        HASH_ITER(hash_handle, MPIDIG_WIN(win, targets), target_, next_)                           \
        {                                                                                          \
            while (mpi_errno == MPI_SUCCESS &&                                                     \
                   MPIDIG_waits_for(win, target_->rank, target_->sync.lock.unlocks,                \
                                    &target_->lost.unlocks))                                       \
                mpi_errno = MPIDI_progress_test_vci(vci_);                                         \
        }                                                                                          \
        MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vci_).lock);                                            \
        if (mpi_errno != MPI_SUCCESS)                                                              \
            goto fn_fail;                                                                          \
    } while (0)

/* What a synchronization returns. */
MPL_STATIC_INLINE_PREFIX int MPIDIG_win_result(MPIR_Win *win, int mpi_errno)
{
    if (unlikely(MPL_atomic_load_int(&MPIDIG_WIN(win, failed)))) {
        const int failed = MPL_atomic_swap_int(&MPIDIG_WIN(win, failed), 0);
        if (mpi_errno == MPI_SUCCESS && failed)
            mpi_errno = MPIDIG_elsewhere();
    }
    return mpi_errno;
}

void MPIDIG_precv_matched(MPIR_Request *part_req);

/* Partitions were sent or received. */
MPL_STATIC_INLINE_PREFIX void MPIDIG_part_over(MPIR_Request *part, const MPIR_Request *req)
{
    part->status.MPI_ERROR = MPI_SUCCESS; /* the one of an earlier start is over */
    if (part->kind == MPIR_REQUEST_KIND__PART_RECV)
        MPIDIG_precv_matched(part); /* says whether the sizes at both ends agree */
    MPIDIG_fail(part, req->status.MPI_ERROR);
}

#endif /* MPIDIG_FAILURES_H_INCLUDED */
