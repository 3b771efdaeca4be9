/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank is killed amid MPI_Rput and MPI_Rget of host memory at it, which UCX carries out. Their
 * origins are told within five seconds, by the call or the wait, and go on with each other.
 */
#include "survivor.hpp"

#include <csignal>
#include <unistd.h>

using namespace survivor;

namespace {

constexpr int elements = 1000000, victim = 2;
MPI_Win win;

int await(int error, MPI_Request *request)
{
    return error == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : error;
}

int put(const Buffer &origin, int to)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const int error =
        MPI_Rput(origin.at(), elements, MPI_DOUBLE, to, 0, elements, MPI_DOUBLE, win, &request);
    return await(error, &request);
}

int get(const Buffer &result, int from)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const int error =
        MPI_Rget(result.at(), elements, MPI_DOUBLE, from, 0, elements, MPI_DOUBLE, win, &request);
    return await(error, &request);
}

/* Until one fails. */
template <class Call> int repeat(Call call)
{
    int error = MPI_SUCCESS;
    while (error == MPI_SUCCESS)
        error = call();
    return error;
}

void run_test()
{
    const Layout layout = contiguous(elements);
    Buffer memory(gpu::Kind::pageable, layout), origin(gpu::Kind::pageable, layout),
        result(gpu::Kind::pageable, layout);
    origin.fill(rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* of requests, too */
    MPI_Win_create(memory.at(), layout.bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    put(origin, victim);
    get(result, victim);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == victim) {
        usleep(200000);
        kill(getpid(), SIGKILL);
    }
    if (rank == 0)
        answer_of("puts", [&] { return repeat([&] { return put(origin, victim); }); });
    else
        answer_of("gets", [&] { return repeat([&] { return get(result, victim); }); });
    check(answer_of("a later put", [&] { return put(origin, victim); }) != MPI_SUCCESS,
          "a later put: no error");
    check(answer_of("a later get", [&] { return get(result, victim); }) != MPI_SUCCESS,
          "a later get: no error");
    expect(false, "a put at a living one", [&] { return put(origin, 1 - rank); });
    answer_of("unlock", [] { return MPI_Win_unlock_all(win); });
}

} // namespace

int main(int argc, char **argv) { return survivor::run(argc, argv, run_test); }
