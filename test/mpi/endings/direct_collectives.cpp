/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank is killed while the others wait for it in collectives on device memory, which go straight
 * between the buffers; these block, or do not, or are persistent. They are told within five
 * seconds, then and whenever they call again. A communicator of the living serves as before.
 */
#include "survivor.hpp"

#include <csignal>
#include <unistd.h>

using namespace survivor;

namespace {

constexpr int elements = 1000, victim = 3;

struct Calls {
    const Layout layout = contiguous(elements);
    Buffer mine{gpu::Kind::device, layout}, sum{gpu::Kind::device, layout},
        all{gpu::Kind::device, layout, size};

    int allreduce(MPI_Comm comm)
    {
        return MPI_Allreduce(mine.at(), sum.at(), elements, MPI_DOUBLE, MPI_SUM, comm);
    }
    int wait(MPI_Request request)
    {
        const int error = MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (request != MPI_REQUEST_NULL)
            MPI_Request_free(&request);
        return error;
    }
    MPI_Request begin_allgather(MPI_Comm comm)
    {
        MPI_Request request;
        MPI_Iallgather(mine.at(), 1, layout.type, all.at(), 1, layout.type, comm, &request);
        return request;
    }
    int bcast(MPI_Comm comm) { return MPI_Bcast(mine.at(), elements, MPI_DOUBLE, 0, comm); }
    int allgather(MPI_Comm comm)
    {
        return MPI_Allgather(mine.at(), 1, layout.type, all.at(), 1, layout.type, comm);
    }
};

void run_test()
{
    MPI_Comm living, everyone;
    MPI_Comm_split(MPI_COMM_WORLD, rank == victim, rank, &living);
    MPI_Comm_dup(MPI_COMM_WORLD, &everyone);
    MPI_Comm_set_errhandler(everyone, MPI_ERRORS_RETURN);
    Calls calls;
    calls.mine.fill(rank);
    for (int i = 0; i < 4; ++i) {
        calls.allreduce(living);
        calls.allreduce(everyone);
    }
    const int64_t before = counted("collectives_direct");
    calls.allreduce(everyone);
    check(!expects_direct() || counted("collectives_direct") == before + 1, "not a direct one");
    MPI_Request persistent;
    MPI_Allreduce_init(calls.mine.at(), calls.sum.at(), elements, MPI_DOUBLE, MPI_SUM, everyone,
                       MPI_INFO_NULL, &persistent);
    if (rank == victim) {
        usleep(300000); /* the others wait by then */
        kill(getpid(), SIGKILL);
    }
    MPI_Request many[6]; /* more than can be under way */
    for (MPI_Request &request : many)
        request = calls.begin_allgather(everyone);
    MPI_Start(&persistent);
    for (MPI_Request &request : many)
        expect(true, "one that does not block", [&] { return calls.wait(request); });
    expect(true, "a persistent one", [&] { return calls.wait(persistent); });
    expect(true, "the call that it does not come to", [&] { return calls.allreduce(everyone); });
    expect(true, "a broadcast later", [&] { return calls.bcast(everyone); });
    expect(true, "one that does not block, later",
           [&] { return calls.wait(calls.begin_allgather(everyone)); });
    expect(true, "an allgather later", [&] { return calls.allgather(everyone); });
    expect(false, "a sum of the living", [&] { return calls.allreduce(living); });
    for (int64_t i = 0; i < elements; ++i)
        calls.sum.put(i, Buffer::value(0, i) + Buffer::value(1, i) + Buffer::value(2, i));
    calls.sum.verify("a sum of the living");
    MPI_Comm_free(&living);
}

} // namespace

int main(int argc, char **argv) { return survivor::run(argc, argv, run_test); }
