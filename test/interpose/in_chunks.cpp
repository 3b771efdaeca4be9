/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages in chunks, as between nodes (HEDDLE_INTERPOSE_PEER=1 and HEDDLE_PEER=value, as
 * test/interpose/run sets them for this program): a device fails amid one, at either end; several
 * are received in another order than they were sent. What else they must do is in by_reference.cpp.
 */
#include "send_forms.hpp"

#include <functional>

using namespace device_test;

static MPI_Comm comm;
static int heard; /* calls of the communicator's error handler */

static void hear(MPI_Comm *, int *, ...) { ++heard; }

static const std::pair<const char *, std::function<int(Buffer &)>> sends[] = {
    {"Send", [](Buffer &b) { return MPI_Send(b.at(), 1, b.type(), 1, 1, comm); }},
    {"Isend", [](Buffer &b) { return send_forms::by_isend(b, 1, comm); }},
    {"Send_init", [](Buffer &b) { return send_forms::by_start(b, 1, comm); }},
    {"Sendrecv", [](Buffer &b) { return send_forms::by_exchange(b, 1, comm); }}};

static int into_recv(Buffer &b)
{
    return MPI_Recv(b.at(), 1, b.type(), 0, 1, comm, MPI_STATUS_IGNORE);
}
static int into_irecv(Buffer &b)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const int begun = MPI_Irecv(b.at(), 1, b.type(), 0, 1, comm, &request);
    return begun != MPI_SUCCESS ? begun : MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static int behind_probe(Buffer &b)
{
    MPI_Probe(0, 1, comm, MPI_STATUS_IGNORE);
    return into_irecv(b);
}
static const std::pair<const char *, std::function<int(Buffer &)>> receives[] = {
    {"Recv", into_recv}, {"Irecv", into_irecv}, {"Probe and Irecv", behind_probe}};

/* Rank `failing`'s device fails from its operation `first` on. If it is the sender, both ends have
 * an error; if it is the receiver, that alone has one. What is sent behind it comes as it should.
 * Returns whether anything failed. */
static bool failing_message(int failing, int first, const Layout &layout, size_t send,
                            size_t receive)
{
    const std::string what = std::string(sends[send].first) + " and " + receives[receive].first +
                             ", rank " + std::to_string(failing) + " fails at " +
                             std::to_string(first);
    Buffer buffer(gpu::Kind::device, layout);
    int failed[2] = {0, 0};
    buffer.fill(rank);
    heard = 0;
    MPI_Barrier(comm);
    if (rank == failing)
        gpu::Machine::get().configure(("reset fail=any:" + std::to_string(first) + "+").c_str());
    int error = rank == 0 ? sends[send].second(buffer) : receives[receive].second(buffer);
    gpu::Machine::get().reset();
    failed[rank] = error != MPI_SUCCESS || heard > 0; /* MPICH 4.3 returns MPI_SUCCESS then */
    /* MPICH tells no handler of what MPI_Wait finds truncated. */
    check(heard == failed[rank] || (rank == 1 && heard == 0),
          what + ": the handler heard " + std::to_string(heard));
    MPI_Allreduce(MPI_IN_PLACE, failed, 2, MPI_INT, MPI_MAX, comm);
    check(failed[1] >= failed[0], what + ": no error at the receiver");
    check(failing == 0 || !failed[0], what + ": an error at the sender");
    if (rank == 1 && !failed[1]) {
        buffer.expect(0, 0, layout.elements());
        buffer.verify(what);
    }
    buffer.fill(rank + 10);
    error = rank == 0 ? sends[send].second(buffer) : receives[receive].second(buffer);
    check(error == MPI_SUCCESS, what + ": the next has an error, too");
    buffer.expect(10, 0, layout.elements());
    buffer.verify("behind " + what);
    return failed[1] != 0;
}

static void every_failure(const Layout &layout)
{
    int amid = 0;
    for (const int failing : {0, 1})
        for (const int first : {1, 2, 3, 5, 8, 13})
            for (size_t send = 0; send < std::size(sends); ++send)
                for (size_t receive = 0; receive < std::size(receives); ++receive)
                    amid += failing_message(failing, first, layout, send, receive) && first > 2;
    check(amid > 0, "no device failed amid a message");
}

/* All are sent before the first is received, the last of which comes first. */
static void in_another_order(const Layout &layout)
{
    constexpr int n = 7;
    std::vector<Buffer> buffers;
    std::vector<MPI_Request> requests(n, MPI_REQUEST_NULL);
    for (int i = 0; i < n; ++i)
        buffers.emplace_back(gpu::Kind::device, layout).fill(rank == 0 ? i : 9000);
    const auto at = [&](int i) { return buffers[static_cast<size_t>(i)].at(); };
    const MPI_Datatype type = buffers[0].type();
    if (rank == 0)
        for (int i = 0; i < n; ++i)
            MPI_Isend(at(i), 1, type, 1, i, comm, &requests[static_cast<size_t>(i)]);
    MPI_Barrier(comm);
    if (rank == 1) {
        for (int i = n - 1; i >= 0; --i)
            MPI_Irecv(at(i), 1, type, MPI_ANY_SOURCE, i, comm, &requests[static_cast<size_t>(i)]);
        int done = 0; /* chunks of all come in these calls */
        while (!done)
            MPI_Testall(n, requests.data(), &done, MPI_STATUSES_IGNORE);
        for (int i = 0; i < n; ++i) {
            buffers[static_cast<size_t>(i)].expect(i, 0, layout.elements());
            buffers[static_cast<size_t>(i)].verify("of several, from the last to the first");
        }
    }
    MPI_Waitall(n, requests.data(), MPI_STATUSES_IGNORE);
}

/* What one end receives comes only once the other has received: its chunks must not wait for that,
 * in calls that only test either. */
static void both_ways(const Layout &layout)
{
#if MPI_VERSION >= 4
    Buffer sent(gpu::Kind::device, layout), received(gpu::Kind::device, layout);
    sent.fill(rank);
    received.fill(9000);
    if (rank == 0) {
        MPI_Request request;
        MPI_Isendrecv(sent.at(), 1, sent.type(), 1, 1, received.at(), 1, received.type(), 1, 1,
                      comm, &request);
        for (int done = 0; !done;)
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(received.at(), 1, received.type(), 0, 1, comm, MPI_STATUS_IGNORE);
        MPI_Send(sent.at(), 1, sent.type(), 0, 1, comm);
    }
    received.expect(1 - rank, 0, layout.elements());
    received.verify("both ways");
#else
    (void)layout;
#endif
}

int main(int argc, char **argv)
{
    return send_forms::run_of_two(argc, argv, comm, hear, [] {
        for (const MakeLayout make : every_layout) {
            in_another_order(make(5000));
            both_ways(make(100000));
        }
        if (gpu::Machine::get().is_simulated())
            for (const MakeLayout make : {every_layout[0], every_layout[2]})
                every_failure(make(5000));
    });
}
