/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Win_start waits for the posts of its group, whoever else has posted before. processes: 3
 */
#include "standard_test.hpp"

using namespace standard_test;

namespace {

MPI_Group group_of(const std::vector<int> &ranks)
{
    MPI_Group all, some;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &some);
    MPI_Group_free(&all);
    return some;
}

/* Makes progress, so that what was sent before has arrived. */
void let_all_arrive()
{
    for (const double end = MPI_Wtime() + 0.2; MPI_Wtime() < end;) {
        int flag;
        MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
}

void put(MPI_Win win, const std::vector<int> &targets, int value)
{
    MPI_Group group = group_of(targets);
    MPI_Win_start(group, 0, win);
    for (const int target : targets)
        MPI_Put(&value, 1, MPI_INT, target, 0, 1, MPI_INT, win);
    MPI_Win_complete(win);
    MPI_Group_free(&group);
}

void expose(MPI_Win win)
{
    MPI_Group origin = group_of({0});
    MPI_Win_post(origin, 0, win);
    MPI_Send(nullptr, 0, MPI_INT, 0, 2, MPI_COMM_WORLD); /* what it does not wait for any more */
    MPI_Win_wait(win);
    MPI_Group_free(&origin);
}

void await_post(int target)
{
    MPI_Recv(nullptr, 0, MPI_INT, target, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Both posts are there before the first start. */
void both_before(MPI_Win win, const int &memory)
{
    if (rank == 0) {
        await_post(1);
        await_post(2);
        let_all_arrive();
        put(win, {1}, 10);
        put(win, {2}, 20);
    } else {
        expose(win);
        check_equal(memory, 10LL * rank, "what was put, both posts before");
    }
}

/* The other one's post is there; the own one is late, and may not be taken for it. */
void late(MPI_Win win, int &memory)
{
    if (rank == 0) {
        await_post(2);
        let_all_arrive();
        MPI_Send(nullptr, 0, MPI_INT, 1, 3, MPI_COMM_WORLD);
        put(win, {1}, 30);
        await_post(1);
        put(win, {2}, 40);
    } else {
        if (rank == 1) {
            MPI_Recv(nullptr, 0, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (const double end = MPI_Wtime() + 0.1; MPI_Wtime() < end;)
                check_equal(memory, 10, "before the post nothing is put");
            memory = 5;
        }
        expose(win);
        check_equal(memory, 20 + 10LL * rank, "what was put, a late post");
    }
}

/* Groups of several, and several epochs in a row. */
void together(MPI_Win win, const int &memory)
{
    for (int turn = 0; turn < 20; ++turn) {
        if (rank == 0) {
            put(win, {1, 2}, 100 + turn);
            await_post(1);
            await_post(2);
        } else {
            expose(win);
            check_equal(memory, 100 + turn, "what was put, together");
        }
    }
}

} // namespace

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        int memory = -1;
        MPI_Win win;
        MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        both_before(win, memory);
        MPI_Barrier(MPI_COMM_WORLD);
        late(win, memory);
        MPI_Barrier(MPI_COMM_WORLD);
        together(win, memory);
        MPI_Win_free(&win);
    });
}
