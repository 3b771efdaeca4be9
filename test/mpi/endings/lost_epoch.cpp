/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank is killed that is a target of an access epoch. Who ends the epoch is told within five
 * seconds, if it had put something there, and not again at the end of a later epoch. The living
 * targets go on, and have their data: those before the victim in the order of ranks, and those
 * behind it.
 */
#include "survivor.hpp"

#include <csignal>
#include <unistd.h>

using namespace survivor;

namespace {

constexpr int origin_rank = 0, living_target = 1, victim = 2, last_target = 3;
MPI_Win win;
int elements = 0;
bool by_group = false;
bool puts_to_victim = true;
gpu::Kind kind = gpu::Kind::device;

/* It tells of the victim, by an error of whatever class. */
template <class Call> void expect_end(const char *what, Call call)
{
    check((answer_of(what, call) != MPI_SUCCESS) == puts_to_victim,
          std::string(what) + (puts_to_victim ? ": no error" : ": an error"));
}

void put(const Buffer &origin, int to)
{
    MPI_Put(origin.at(), 1, origin.type(), to, 0, 1, origin.type(), win);
}

void put_to_victim(const Buffer &origin)
{
    if (puts_to_victim)
        put(origin, victim);
}

/* MPI_Win_start, put, MPI_Win_complete. */
void lose_one_of_a_group(const Buffer &origin)
{
    const std::vector<int> of = rank == origin_rank
                                    ? std::vector<int>{living_target, victim, last_target}
                                    : std::vector<int>{origin_rank};
    MPI_Group group = group_of(win, of);
    if (rank == origin_rank) {
        MPI_Win_start(group, 0, win);
        put(origin, living_target);
        put(origin, last_target);
        usleep(300000);
        put_to_victim(origin);
        expect_end("complete", [] { return MPI_Win_complete(win); });
    } else {
        MPI_Win_post(group, 0, win);
        if (rank == victim) {
            usleep(100000);
            kill(getpid(), SIGKILL);
        }
        expect(false, "wait", [] { return MPI_Win_wait(win); });
    }
    MPI_Group_free(&group);
}

/* MPI_Win_lock_all, put, MPI_Win_unlock_all; then each living target locks its own memory. */
void lose_one_of_all(const Buffer &origin, MPI_Comm living)
{
    if (rank == origin_rank) {
        MPI_Win_lock_all(0, win);
        put(origin, living_target);
        put(origin, last_target);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == victim)
        kill(getpid(), SIGKILL);
    usleep(300000);
    if (rank == origin_rank) {
        put_to_victim(origin);
        expect_end("unlock of all", [] { return MPI_Win_unlock_all(win); });
        MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
        put(origin, living_target);
        expect(false, "a later unlock of all", [] { return MPI_Win_unlock_all(win); });
        MPI_Barrier(living);
    } else {
        MPI_Barrier(living);
        expect(false, "lock", [] { return MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win); });
        expect(false, "unlock", [] { return MPI_Win_unlock(rank, win); });
    }
}

void run_test()
{
    MPI_Comm living;
    MPI_Comm_split(MPI_COMM_WORLD, rank == victim, rank, &living);
    const Layout layout = contiguous(elements);
    Buffer memory(kind, layout), origin(kind, layout);
    origin.fill(7);
    MPI_Win_create(memory.at(), layout.bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    if (by_group)
        lose_one_of_a_group(origin);
    else
        lose_one_of_all(origin, living);
    if (rank == living_target || rank == last_target) {
        memory.expect(7, 0, memory.elements());
        memory.verify("at the living target");
    }
    MPI_Comm_free(&living);
}

} // namespace

/* Arguments: group or all; short, long, or none to the victim; device or host memory. */
int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    by_group = std::string(argv[1]) == "group";
    elements = std::string(argv[2]) == "long" ? 100000 : 100;
    puts_to_victim = std::string(argv[2]) != "none";
    kind = std::string(argv[3]) == "host" ? gpu::Kind::pageable : gpu::Kind::device;
    return survivor::run(argc, argv, run_test);
}
