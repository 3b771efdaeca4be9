/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A device that fails while it packs or unpacks a message: an error at both ends of each form of a
 * send, and no hang. The error handler of the program's communicator hears of it.
 */
#include "send_forms.hpp"

#include <functional>

using namespace device_test;

static MPI_Comm comm;
static int heard; /* calls of the communicator's error handler */

static void hear(MPI_Comm *, int *, ...) { ++heard; }

/* What a form of a send does for rank 0. Returns its error. */
using Send = std::function<int(Buffer &)>;

static int exchange(Buffer &buffer)
{
    int back = 0;
    return MPI_Sendrecv(buffer.at(), 1, buffer.type(), 1, 1, &back, 1, MPI_INT, 1, 3, comm,
                        MPI_STATUS_IGNORE);
}

static const std::pair<const char *, Send> sends[] = {
    {"Send", [](Buffer &b) { return MPI_Send(b.at(), 1, b.type(), 1, 1, comm); }},
    {"Ssend", [](Buffer &b) { return MPI_Ssend(b.at(), 1, b.type(), 1, 1, comm); }},
    {"Isend", [](Buffer &b) { return send_forms::by_isend(b, 1, comm); }},
    {"Send_init", [](Buffer &b) { return send_forms::by_start(b, 1, comm); }},
    {"Sendrecv", exchange}};

/* MPICH 5.0.1 ends a job that receives a part of an element into host memory. */
static bool receives_on_host()
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(version, &length);
    const char *const number = std::strpbrk(version, "0123456789");
    return !std::strstr(version, "MPICH") || !number || *number != '5';
}

/* Rank 1 receives `instances` of what rank 0 sends one of. */
static void failing_send(const std::string &name, const Send &send, const Layout &layout,
                         int instances, gpu::Kind receives)
{
    const std::string what = name + " of " + std::to_string(layout.elements()) + " doubles, " +
                             layout.name + ", received by " + std::to_string(instances);
    Buffer buffer(rank == 0 ? gpu::Kind::device : receives, layout, instances);
    buffer.fill(rank);
    int error = MPI_SUCCESS;
    heard = 0;
    MPI_Barrier(comm);
    if (rank == 0) {
        send_forms::fail_launches();
        error = send(buffer);
        gpu::Machine::get().reset();
        check(heard == 1, what + ": the handler heard " + std::to_string(heard) + " errors");
    } else {
        if (name == "Sendrecv")
            MPI_Send(&rank, 1, MPI_INT, 0, 3, comm);
        error = MPI_Recv(buffer.at(), instances, buffer.type(), 0, 1, comm, MPI_STATUS_IGNORE);
    }
    /* MPICH 4.3 returns MPI_SUCCESS behind a handler that returns. */
    check(error != MPI_SUCCESS || heard > 0, what + ": no error");
}

/* Rank 1's device fails. */
static void failing_receive(int n, bool frees)
{
    const std::string what = "Irecv of " + std::to_string(n) + " doubles";
    const Layout layout = indexed(n);
    Buffer buffer(gpu::Kind::device, layout);
    MPI_Comm own = comm;
    if (frees) {
        MPI_Comm_dup(comm, &own);
        MPI_Comm_set_errhandler(own, MPI_ERRORS_ARE_FATAL);
    }
    buffer.fill(rank);
    heard = 0;
    MPI_Barrier(comm);
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 1)
        MPI_Irecv(buffer.at(), 1, buffer.type(), 0, 1, own, &request);
    else
        MPI_Isend(buffer.at(), 1, buffer.type(), 1, 1, own, &request);
    if (frees)
        MPI_Comm_free(&own);
    if (rank == 1)
        send_forms::fail_launches();
    const int error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    gpu::Machine::get().reset();
    check((error != MPI_SUCCESS) == (rank == 1), what + ": " + std::to_string(error));
    check(heard == (rank == 1 && !frees ? 1 : 0),
          what + ": the handler heard " + std::to_string(heard) + " errors");
}

int main(int argc, char **argv)
{
    return send_forms::run_of_two(argc, argv, comm, hear, [] {
        if (!gpu::Machine::get().is_simulated())
            return;
        for (const int n : {3, 300, 60000}) {
            for (const auto &[name, send] : sends)
                for (const int instances : {1, 20})
                    for (const gpu::Kind receives : {gpu::Kind::device, gpu::Kind::pageable})
                        for (const MakeLayout make : {every_layout[0], every_layout[2]})
                            if (receives == gpu::Kind::device || receives_on_host())
                                failing_send(name, send, make(n), instances, receives);
            failing_receive(n, false);
            failing_receive(n, true);
        }
    });
}
