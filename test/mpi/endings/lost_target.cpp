/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank is killed while long one-sided operations on its memory wait for it, which it would have
 * to take part in. Their origins are told within five seconds, at each synchronization and request,
 * and so are those who begin others later. What concerns living ranks goes on.
 */
#include "survivor.hpp"

#include <csignal>
#include <unistd.h>

using namespace survivor;

namespace {

constexpr int elements = 100000, victim = 2;
MPI_Win win;

/* Of whatever class. */
template <class Call> void expect_error(bool failed, const char *what, Call call)
{
    check((answer_of(what, call) != MPI_SUCCESS) == failed,
          std::string(what) + (failed ? ": no error" : ": an error"));
}

/* It is not in MPI, and so answers nothing. */
void wait_for_death()
{
    usleep(300000);
    if (rank == victim)
        kill(getpid(), SIGKILL);
}

void operate(const Buffer &origin, const Buffer &result, int to)
{
    const int n = elements / 4;
    const auto part = [&](const Buffer &of, int i) {
        return static_cast<char *>(of.at()) + MPI_Aint{8} * n * i;
    };
    MPI_Put(origin.at(), n, MPI_DOUBLE, to, 0, n, MPI_DOUBLE, win);
    MPI_Get(part(result, 1), n, MPI_DOUBLE, to, n, n, MPI_DOUBLE, win);
    MPI_Accumulate(part(origin, 2), n, MPI_DOUBLE, to, 2 * n, n, MPI_DOUBLE, MPI_SUM, win);
    MPI_Get_accumulate(part(origin, 3), n, MPI_DOUBLE, part(result, 3), n, MPI_DOUBLE, to, 3 * n, n,
                       MPI_DOUBLE, MPI_SUM, win);
}

void lose_target(const Buffer &origin, const Buffer &result, MPI_Comm living)
{
    MPI_Request put = MPI_REQUEST_NULL, get = MPI_REQUEST_NULL;
    MPI_Win_lock_all(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != victim) {
        MPI_Rput(origin.at(), elements, MPI_DOUBLE, victim, 0, elements, MPI_DOUBLE, win, &put);
        MPI_Rget(result.at(), elements, MPI_DOUBLE, victim, 0, elements, MPI_DOUBLE, win, &get);
    }
    wait_for_death();
    expect_error(true, "a put that waits", [&] { return MPI_Wait(&put, MPI_STATUS_IGNORE); });
    expect_error(true, "a get that waits", [&] { return MPI_Wait(&get, MPI_STATUS_IGNORE); });
    expect_error(true, "flush", [&] { return MPI_Win_flush(victim, win); });
    operate(origin, result, victim);
    expect_error(true, "flush of later ones", [&] { return MPI_Win_flush(victim, win); });
    MPI_Barrier(living);
    operate(origin, result, 1 - rank);
    expect_error(false, "flush of a living one", [&] { return MPI_Win_flush(1 - rank, win); });
    expect_error(false, "unlock", [&] { return MPI_Win_unlock_all(win); });
    MPI_Barrier(living);
}

void run_test()
{
    MPI_Comm living;
    MPI_Comm_split(MPI_COMM_WORLD, rank == victim, rank, &living);
    const Layout layout = contiguous(elements);
    Buffer memory(gpu::Kind::device, layout), origin(gpu::Kind::device, layout),
        result(gpu::Kind::device, layout);
    origin.fill(rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* of requests, too */
    MPI_Win_create(memory.at(), layout.bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    lose_target(origin, result, living);
    MPI_Comm_free(&living);
}

} // namespace

int main(int argc, char **argv) { return survivor::run(argc, argv, run_test); }
