/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank is killed that is an origin of an exposure epoch. Who waits for the end of the epoch, or
 * tests for it, is told within five seconds, unless the victim had completed its part. The living
 * origin's data are there, and later epochs go on.
 */
#include "survivor.hpp"

#include <csignal>
#include <unistd.h>

using namespace survivor;

namespace {

constexpr int waiting = 0, origin_rank = 1, victim = 2, testing = 3, elements = 1000;
MPI_Win win;
bool dies_amid = false;

bool is_target() { return rank == waiting || rank == testing; }

int test_until_over()
{
    int error = MPI_SUCCESS;
    for (int flag = 0; !flag && error == MPI_SUCCESS;)
        error = MPI_Win_test(win, &flag);
    return error;
}

void expose(MPI_Group group, bool lost)
{
    expect(false, "post", [&] { return MPI_Win_post(group, 0, win); });
    const int error = rank == testing ? answer_of("test", test_until_over)
                                      : answer_of("wait", [] { return MPI_Win_wait(win); });
    check((error != MPI_SUCCESS) == lost, lost ? "wait: no error" : "wait: an error");
}

void put(const Buffer &origin, int to, int part)
{
    MPI_Put(origin.at(), elements / 2, MPI_DOUBLE, to, part * (elements / 2), elements / 2,
            MPI_DOUBLE, win);
}

void access(MPI_Group targets, const Buffer &origin, bool dies)
{
    MPI_Win_start(targets, 0, win);
    for (const int to : {waiting, testing})
        put(origin, to, rank == victim);
    if (dies && dies_amid)
        kill(getpid(), SIGKILL);
    expect(false, "complete", [] { return MPI_Win_complete(win); });
    if (dies)
        kill(getpid(), SIGKILL);
}

/* Epochs of both origins, in the second of which one dies; of both again, and of who lives. */
void lose_origin(const Buffer &origin)
{
    MPI_Group targets = group_of(win, {waiting, testing}),
              both = group_of(win, {origin_rank, victim}), living = group_of(win, {origin_rank});
    const bool lost[] = {false, dies_amid, true, false, true};
    for (int epoch = 0; epoch < 5; ++epoch) {
        if (is_target())
            expose(epoch == 3 ? living : both, lost[epoch]);
        else
            access(targets, origin, rank == victim && epoch == 1);
    }
    for (MPI_Group *group : {&targets, &both, &living})
        MPI_Group_free(group);
}

void run_test(gpu::Kind kind)
{
    const Layout layout = contiguous(elements);
    Buffer memory(kind, layout), origin(kind, layout);
    origin.fill(7);
    MPI_Win_create(memory.at(), layout.bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    lose_origin(origin);
    if (is_target()) {
        memory.expect(7, 0, elements / 2);
        memory.expect(7, elements / 2, elements); /* the victim's, of the first epoch */
        memory.verify("at a target");
    }
}

gpu::Kind kind = gpu::Kind::device;

} // namespace

/* Arguments: amid (the epoch) or after; device or host memory. */
int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    dies_amid = std::string(argv[1]) == "amid";
    kind = std::string(argv[2]) == "host" ? gpu::Kind::pageable : gpu::Kind::device;
    return survivor::run(argc, argv, [] { run_test(kind); });
}
