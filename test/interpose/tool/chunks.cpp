/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages in chunks over an MPI that has errors (spy.cpp): it refuses a chunk, or tells an error
 * of requests that are active.
 */
#include "../send_forms.hpp"

#include <dlfcn.h>
#include <functional>

using namespace device_test;

static MPI_Comm comm;
static int heard; /* calls of the communicator's error handler */

static void hear(MPI_Comm *, int *, ...) { ++heard; }

static int &variable(const char *name)
{
    int *const found = static_cast<int *>(dlsym(RTLD_DEFAULT, name));
    if (!found)
        throw std::runtime_error("spy is not loaded");
    return *found;
}

static const std::pair<const char *, std::function<int(Buffer &)>> sends[] = {
    {"Send", [](Buffer &b) { return MPI_Send(b.at(), 1, b.type(), 1, 1, comm); }},
    {"Isend", [](Buffer &b) { return send_forms::by_isend(b, 1, comm); }},
    {"Send_init", [](Buffer &b) { return send_forms::by_start(b, 1, comm); }},
    {"Sendrecv", [](Buffer &b) { return send_forms::by_exchange(b, 1, comm); }}};

static int receive(const Buffer &b, int tag)
{
    return MPI_Recv(b.at(), 1, b.type(), 0, tag, comm, MPI_STATUS_IGNORE);
}

/* The MPI refuses one chunk, and the first empty ones in its place: both ends have an error. What
 * is sent behind it comes. */
static void refused(size_t send, int chunk, int in_row, const Layout &layout)
{
    const std::string what = std::string(sends[send].first) + ", chunk " + std::to_string(chunk) +
                             " is refused, and " + std::to_string(in_row) + " more";
    Buffer buffer(gpu::Kind::device, layout);
    for (const bool fails : {true, false}) {
        const int seed = fails ? 1 : 2;
        buffer.fill(rank == 0 ? seed : 9000);
        heard = 0;
        if (rank == 0 && fails) {
            variable("failing_issend") = chunk;
            variable("failing_in_row") = in_row;
        }
        const int error = rank == 0 ? sends[send].second(buffer) : receive(buffer, 1);
        check(variable("failing_issend") == 0 && variable("failing_in_row") == 0,
              what + ": there is no such chunk");
        check((error != MPI_SUCCESS || heard > 0) == fails, /* MPICH 4.3 returns none */
              what + (fails ? ": no error" : ": the next has an error, too"));
        if (!fails) {
            buffer.expect(seed, 0, buffer.elements());
            buffer.verify("behind " + what);
        }
    }
}

/* MPI_Testall tells an error while chunks are sent: they stay where they are. */
static void kept(const Layout &layout)
{
    constexpr int n = 8;
    variable("failing_testall") = 1;
    for (int i = 0; i < n && rank == 0; ++i) {
        Buffer buffer(gpu::Kind::device, layout);
        buffer.fill(i);
        MPI_Request request;
        MPI_Isend(buffer.at(), 1, buffer.type(), 1, i, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(comm);
    for (int i = 0; i < n && rank == 1; ++i) {
        Buffer buffer(gpu::Kind::device, layout);
        buffer.fill(9000);
        receive(buffer, i);
        buffer.expect(i, 0, buffer.elements());
        buffer.verify("kept");
    }
    MPI_Barrier(comm);
    variable("failing_testall") = 0;
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        comm = send_forms::comm_of_two(hear);
        if (comm == MPI_COMM_NULL)
            return;
        const Layout layout = strided(100000);
        for (size_t send = 0; send < std::size(sends); ++send)
            for (const int chunk : {1, 2, 3})
                for (const int in_row : {0, 5})
                    refused(send, chunk, in_row, layout);
        kept(layout);
        MPI_Comm_free(&comm);
    });
}
