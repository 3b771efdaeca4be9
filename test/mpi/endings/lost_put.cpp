/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A receiver is killed whose persistent receive is written to by its sender (a put), while UCX
 * still has the envelope, for the victim's queue is full. The send ends within five seconds.
 */
#include "survivor.hpp"

#include <csignal>
#include <unistd.h>

using namespace survivor;

namespace {

constexpr int victim = 1, tag = 7, rounds = 20, fillers = 1000;

/* One message, whose receive is posted before. */
void pass(MPI_Request *request)
{
    if (rank == victim)
        MPI_Start(request);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != victim)
        MPI_Start(request);
}

/* More than UCX's queue of the victim holds: it takes nothing out of it any more. */
void fill_queue()
{
    for (int i = 0; i < fillers; ++i) {
        MPI_Request request;
        MPI_Isend(&i, 1, MPI_INT, victim, tag + 1, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    }
}

void run_test()
{
    const Layout layout = strided(6000);
    Buffer buffer(gpu::Kind::device, layout);
    MPI_Request request;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* of requests, too */
    if (rank == victim)
        MPI_Recv_init(buffer.at(), 1, buffer.type(), 0, tag, MPI_COMM_WORLD, &request);
    else
        MPI_Send_init(buffer.at(), 1, buffer.type(), victim, tag, MPI_COMM_WORLD, &request);
    for (int round = 0; round < rounds; ++round) {
        pass(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    const int64_t before = counted("messages_delivered");
    if (rank == victim) {
        pass(&request);
        usleep(300000);
        kill(getpid(), SIGKILL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    fill_queue();
    MPI_Start(&request);
    expect(true, "a put", [&] { return MPI_Wait(&request, MPI_STATUS_IGNORE); });
    check(counted("messages_delivered") > before, "it was no put");
    MPI_Request_free(&request);
}

} // namespace

int main(int argc, char **argv) { return survivor::run(argc, argv, run_test); }
