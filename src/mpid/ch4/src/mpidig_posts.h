/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Win_start waits for the posts of its group. Stock counts posts, whosever they are: two that
 * come before either start keep the first one waiting, or let it begin before its target has
 * posted. Here they are counted by rank, and so are completes, for which MPI_Win_wait waits. Who
 * has ended sends neither; the window remembers that.
 */
#ifndef MPIDIG_POSTS_H_INCLUDED
#define MPIDIG_POSTS_H_INCLUDED

/* Messages of one kind by the processes of a group. */
struct MPIDIG_awaited {
    unsigned **counts; /* that came, by rank, and were not taken; null: none came yet */
    int *ranks;
    int n;
};

MPL_STATIC_INLINE_PREFIX int MPIDIG_await_begin(MPIR_Win *win, MPIR_Group *group, unsigned **counts,
                                                struct MPIDIG_awaited *a)
{
    int mpi_errno = MPI_SUCCESS;
    a->counts = counts;
    a->n = group->size;
    a->ranks = MPL_malloc((group->size + 1) * sizeof(*a->ranks), MPL_MEM_RMA);
    MPIR_ERR_CHKANDJUMP(a->ranks == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    mpi_errno = MPIDIG_fill_ranks_in_win_grp(win, group, a->ranks);
fn_fail:
    return mpi_errno;
}

MPL_STATIC_INLINE_PREFIX bool MPIDIG_has_come(const struct MPIDIG_awaited *a, int rank)
{
    return *a->counts != NULL && (*a->counts)[rank] > 0;
}

MPL_STATIC_INLINE_PREFIX bool MPIDIG_have_come(MPIR_Win *win, const struct MPIDIG_awaited *a)
{
    for (int i = 0; i < a->n; i++)
        if (!MPIDIG_has_come(a, a->ranks[i]) && !MPIDI_UCX_member_is_silent(win, a->ranks[i]))
            return false;
    return true;
}

MPL_STATIC_INLINE_PREFIX void MPIDIG_take(MPIR_Win *win, const struct MPIDIG_awaited *a)
{
    for (int i = 0; i < a->n; i++) {
        if (MPIDIG_has_come(a, a->ranks[i]))
            (*a->counts)[a->ranks[i]]--;
        else
            MPL_atomic_store_int(&MPIDIG_WIN(win, failed), 1);
    }
}

/* Under the VCI's lock. */
MPL_STATIC_INLINE_PREFIX int MPIDIG_await(MPIR_Win *win, MPIR_Group *group, unsigned **counts,
                                          int vci)
{
    struct MPIDIG_awaited a;
    int mpi_errno = MPIDIG_await_begin(win, group, counts, &a);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDIU_PROGRESS_WHILE(!MPIDIG_have_come(win, &a), vci);
    MPIDIG_take(win, &a);
fn_exit:
    MPL_free(a.ranks);
    return mpi_errno;
fn_fail:
    goto fn_exit;
}
#define MPIDIG_await_posts(win, group, vci)                                                        \
    MPIDIG_await((win), (group), &MPIDIG_WIN(win, posts), (vci))
#define MPIDIG_await_completes(win, group, vci)                                                    \
    MPIDIG_await((win), (group), &MPIDIG_WIN(win, completes), (vci))

/* The same, if there is nothing to wait for. */
MPL_STATIC_INLINE_PREFIX int MPIDIG_test_completes(MPIR_Win *win, MPIR_Group *group, bool *over)
{
    struct MPIDIG_awaited a;
    const int mpi_errno = MPIDIG_await_begin(win, group, &MPIDIG_WIN(win, completes), &a);
    *over = mpi_errno == MPI_SUCCESS && MPIDIG_have_come(win, &a);
    if (*over)
        MPIDIG_take(win, &a);
    MPL_free(a.ranks);
    return mpi_errno;
}

#endif /* MPIDIG_POSTS_H_INCLUDED */
