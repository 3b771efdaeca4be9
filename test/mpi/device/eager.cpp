/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Short messages do not wait for their receiver, whether it reads them out of the sender's buffer
 * or comes too late for that. Messages to oneself do not wait for the device.
 */
#include "device_test.hpp"

#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>

using namespace device_test;

constexpr int rounds = 60; /* after some kilobytes short ones are read where they lie */

/* Whether messages out of the host's memory wait for their receiver; from 8 KiB or so on, with
 * newer UCX sooner. */
static bool waits_from_host(int n)
{
    std::vector<double> from(static_cast<size_t>(n)), to(from);
    MPI_Request request;
    int sent = 0;
    MPI_Isend(from.data(), n, MPI_DOUBLE, other(), 1, MPI_COMM_WORLD, &request);
    const double until = MPI_Wtime() + 1;
    while (!sent && MPI_Wtime() < until)
        MPI_Test(&request, &sent, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Recv(to.data(), n, MPI_DOUBLE, other(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Allreduce(MPI_IN_PLACE, &sent, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return !sent;
}

/* MPI leaves it to the implementation; but what is short went so before there were devices. */
static void both_send_first()
{
    check(!waits_from_host(100), "short messages out of the host's memory do not wait");
    for (const int n : {8, 9, 100, 512, 1000}) {
        if (waits_from_host(n))
            continue;
        for (const MakeLayout make : {contiguous, strided}) {
            const Layout layout = make(n);
            Buffer buffer(gpu::Kind::device, layout), target(gpu::Kind::device, layout);
            for (int round = 0; round < rounds; ++round) {
                buffer.fill(2 * round + rank);
                MPI_Send(buffer.at(), 1, buffer.type(), other(), 1, MPI_COMM_WORLD);
                buffer.fill(-1); /* it is the program's again */
                MPI_Recv(target.at(), 1, target.type(), other(), 1, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
                target.expect(2 * round + other(), 0, n);
                target.verify("both send first, " + std::to_string(n));
            }
        }
    }
}

/* In time and late, into memory of any kind. */
static void at_any_time()
{
    const Layout layout = contiguous(700);
    for (const gpu::Kind kind : every_kind) {
        Buffer buffer(gpu::Kind::device, layout), target(kind, layout);
        for (int round = 0; round < rounds; ++round) {
            const bool late = round % 3 == 0;
            MPI_Request r = MPI_REQUEST_NULL;
            if (rank == 1 && !late)
                MPI_Irecv(target.at(), 1, target.type(), 0, 1, MPI_COMM_WORLD, &r);
            MPI_Barrier(MPI_COMM_WORLD);
            if (rank == 0) {
                buffer.fill(round);
                MPI_Send(buffer.at(), 1, buffer.type(), 1, 1, MPI_COMM_WORLD);
                buffer.fill(-1);
                continue;
            }
            if (late) {
                std::this_thread::sleep_for(std::chrono::microseconds(200));
                MPI_Irecv(target.at(), 1, target.type(), 0, 1, MPI_COMM_WORLD, &r);
            }
            MPI_Wait(&r, MPI_STATUS_IGNORE);
            target.expect(round, 0, layout.elements());
            target.verify(late ? "received late" : "received in time");
        }
    }
}

/* Short, shorter, of the host's, long: in the order in which they were sent,
 * for whatever receives them. */
static void in_order()
{
    const Layout shorter = contiguous(3), some = contiguous(200), long_one = contiguous(30000);
    const Layout *const all[] = {&some, &shorter, &some, &long_one, &some, &shorter};
    constexpr int n = 6;
    for (int round = 0; round < rounds / 2; ++round) {
        std::vector<std::unique_ptr<Buffer>> buffers;
        std::vector<MPI_Request> requests(n);
        for (int i = 0; i < n; ++i) {
            const gpu::Kind kind = i == 2 ? gpu::Kind::pageable : gpu::Kind::device;
            buffers.push_back(std::make_unique<Buffer>(kind, rank == 0 ? *all[i] : long_one));
            Buffer &buffer = *buffers.back();
            if (rank == 0) {
                buffer.fill(10 * round + i);
                MPI_Isend(buffer.at(), 1, buffer.type(), 1, i, MPI_COMM_WORLD,
                          &requests[static_cast<size_t>(i)]);
                continue;
            }
            MPI_Status status;
            int count;
            if (round % 3 == 0) {
                MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
                MPI_Get_count(&status, MPI_DOUBLE, &count);
                check(count == all[i]->elements(), "the probe's count");
            }
            if (round % 3 == 1) {
                MPI_Message message;
                MPI_Mprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
                MPI_Mrecv(buffer.at(), 1, buffer.type(), &message, &status);
            } else {
                MPI_Recv(buffer.at(), 1, buffer.type(), MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                         &status);
            }
            check(status.MPI_TAG == i, "message " + std::to_string(status.MPI_TAG) +
                                           " in the place of " + std::to_string(i));
            MPI_Get_count(&status, MPI_DOUBLE, &count);
            check(count == all[i]->elements(), "the count");
            buffer.expect(10 * round + i, 0, all[i]->elements());
            buffer.verify("in order");
        }
        if (rank == 0)
            wait_all(requests);
    }
}

static void truncated()
{
    const Layout layout = contiguous(500), less = contiguous(100), least = contiguous(2);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int round = 0; round < rounds; ++round) {
        Buffer buffer(gpu::Kind::device, rank == 0 ? layout : round % 2 ? less : least);
        if (rank == 0) {
            buffer.fill(round);
            check(MPI_Send(buffer.at(), 1, buffer.type(), 1, 1, MPI_COMM_WORLD) == MPI_SUCCESS,
                  "what is truncated was sent");
        } else {
            MPI_Status status;
            const int error =
                MPI_Recv(buffer.at(), 1, buffer.type(), 0, 1, MPI_COMM_WORLD, &status);
            int error_class = MPI_SUCCESS;
            MPI_Error_class(error, &error_class);
            check(error_class == MPI_ERR_TRUNCATE, "truncation");
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* Neither call waits for the device, and what comes together moves together. */
static void to_oneself()
{
    constexpr int edges = 12;
    for (const MakeLayout make : every_layout)
        for (const int n : {100, 20000}) {
            const Layout layout = make(n);
            Buffer from(gpu::Kind::device, layout, edges), to(gpu::Kind::device, layout, edges);
            MPI_Aint lb, extent;
            MPI_Type_get_extent(layout.type, &lb, &extent);
            from.fill(n);
            std::vector<MPI_Request> requests;
            gpu::Machine &machine = gpu::Machine::get();
            machine.configure("reset delay_us=5000");
            const int64_t before = machine.count("launch");
            for (int i = 0; i < edges; ++i)
                MPI_Irecv(static_cast<char *>(to.at()) + i * extent, 1, layout.type, 0, i,
                          MPI_COMM_SELF, &requests.emplace_back());
            for (int i = 0; i < edges; ++i)
                MPI_Isend(static_cast<char *>(from.at()) + i * extent, 1, layout.type, 0, i,
                          MPI_COMM_SELF, &requests.emplace_back());
            wait_all(requests);
            if (before >= 0)
                check(machine.count("launch") - before <= 3,
                      "messages to oneself: " + std::to_string(machine.count("launch") - before) +
                          " launches");
            machine.reset();
            to.expect(n, 0, edges * n);
            to.verify("to oneself");
        }
}

/* Persistent requests meet other messages, and are probed for and cancelled like them. */
static void persistent_to_oneself()
{
    for (const gpu::Kind kind : every_kind) {
        const Layout layout = strided(300);
        Buffer from(kind, layout), to(kind, layout);
        MPI_Request send, receive, r;
        MPI_Send_init(from.at(), 1, from.type(), 0, 4, MPI_COMM_SELF, &send);
        MPI_Recv_init(to.at(), 1, to.type(), 0, 4, MPI_COMM_SELF, &receive);
        for (int round = 0; round < 6; ++round) {
            from.fill(round);
            MPI_Request requests[2];
            if (round % 3 == 0) {
                MPI_Start(&receive);
                MPI_Start(&send);
            } else if (round % 3 == 1) {
                MPI_Start(&send);
                MPI_Probe(0, 4, MPI_COMM_SELF, MPI_STATUS_IGNORE);
                MPI_Irecv(to.at(), 1, to.type(), 0, 4, MPI_COMM_SELF, &r);
            } else {
                MPI_Start(&receive);
                MPI_Isend(from.at(), 1, from.type(), 0, 4, MPI_COMM_SELF, &r);
            }
            requests[0] = round % 3 == 2 ? r : send;
            requests[1] = round % 3 == 1 ? r : receive;
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
            MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
            to.expect(round, 0, 300);
            to.verify("persistent, to oneself");
        }
        MPI_Status status;
        int cancelled = 0;
        MPI_Start(&receive);
        MPI_Cancel(&receive);
        MPI_Wait(&receive, &status);
        MPI_Test_cancelled(&status, &cancelled);
        check(cancelled, "a persistent receive from oneself is cancelled");
        MPI_Request_free(&send);
        MPI_Request_free(&receive);
    }
}

static void late_to_oneself(MPI_Comm comm, int self)
{
    const Layout layout = strided(100);
    Buffer from(gpu::Kind::device, layout), to(gpu::Kind::device, layout);
    from.fill(7);
    MPI_Send(from.at(), 1, from.type(), self, 0, comm);
    from.fill(8);
    MPI_Recv(to.at(), 1, to.type(), self, 0, comm, MPI_STATUS_IGNORE);
    to.expect(7, 0, 100);
    to.verify("sent to oneself, received later");
}

/* Messages so far were claimed or withdrawn: run-device gives them much time, or none. */
static void both_were_met()
{
    const char *const timeout = std::getenv("HEDDLE_MESSAGE_TIMEOUT");
    int64_t met[2] = {counted("messages_claimed"), counted("messages_withdrawn")};
    MPI_Allreduce(MPI_IN_PLACE, met, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (timeout)
        check(std::atoi(timeout) > 0 ? met[0] > 10 : met[1] > 10,
              "claimed " + std::to_string(met[0]) + ", withdrawn " + std::to_string(met[1]) +
                  " with time-out " + timeout);
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        if (!std::getenv("MPIR_CVAR_CH4_UCX_GPU_ONESHOT")) { /* else nothing is short */
            both_send_first();
            late_to_oneself(MPI_COMM_WORLD, rank);
            late_to_oneself(MPI_COMM_SELF, 0);
        }
        at_any_time();
        in_order();
        truncated();
        to_oneself();
        persistent_to_oneself();
        both_were_met();
    });
}
