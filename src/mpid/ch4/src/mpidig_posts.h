/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Win_start waits for the posts of its group. Stock counts posts, whosever they are: two that
 * come before either start keep the first one waiting, or let it begin before its target has
 * posted. Here they are counted by rank. A target that has ended does not post; the window
 * remembers that.
 */
#ifndef MPIDIG_POSTS_H_INCLUDED
#define MPIDIG_POSTS_H_INCLUDED

MPL_STATIC_INLINE_PREFIX bool MPIDIG_have_posted(MPIR_Win *win, const int *ranks, int n)
{
    const unsigned *posts = MPIDIG_WIN(win, posts);
    for (int i = 0; i < n; i++)
        if ((posts == NULL || posts[ranks[i]] == 0) &&
            !MPIDI_UCX_member_has_ended(win->comm_ptr, ranks[i]))
            return false;
    return true;
}

/* Under the VCI's lock. */
MPL_STATIC_INLINE_PREFIX int MPIDIG_await_posts(MPIR_Win *win, MPIR_Group *group, int vci)
{
    int mpi_errno = MPI_SUCCESS;
    int *ranks = MPL_malloc((group->size + 1) * sizeof(*ranks), MPL_MEM_RMA);
    MPIR_ERR_CHKANDJUMP(ranks == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    mpi_errno = MPIDIG_fill_ranks_in_win_grp(win, group, ranks);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDIU_PROGRESS_WHILE(!MPIDIG_have_posted(win, ranks, group->size), vci);
    for (int i = 0; i < group->size; i++) {
        unsigned *posts = MPIDIG_WIN(win, posts);
        if (posts != NULL && posts[ranks[i]] > 0)
            posts[ranks[i]]--;
        else
            MPL_atomic_store_int(&MPIDIG_WIN(win, failed), 1);
    }
fn_exit:
    MPL_free(ranks);
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

#endif /* MPIDIG_POSTS_H_INCLUDED */
