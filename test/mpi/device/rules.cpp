/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What MPI promises of messages between device buffers beyond two ranks of one communicator:
 * intercommunicators, partitions, types of absolute addresses, many threads, and messages that wait
 * for a receive.
 */
#include "device_test.hpp"

#include <memory>
#include <thread>

using namespace device_test;

/* The two groups are a rank each. */
static void intercommunicator()
{
    MPI_Comm own, inter;
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &own);
    MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, other(), 5, &inter);
    for (const int n : {5, 3000, 200000}) {
        const Layout layout = indexed(n);
        Buffer buffer(gpu::Kind::device, layout), target(gpu::Kind::device, layout);
        buffer.fill(rank + 1);
        MPI_Sendrecv(buffer.at(), 1, buffer.type(), 0, 1, target.at(), 1, target.type(), 0, 1,
                     inter, MPI_STATUS_IGNORE);
        target.expect(other() + 1, 0, n);
        target.verify("through an intercommunicator");
        if (rank == 0) {
            MPI_Bcast(buffer.at(), 1, buffer.type(), MPI_ROOT, inter);
        } else {
            MPI_Bcast(buffer.at(), 1, buffer.type(), 0, inter);
            buffer.expect(1, 0, n);
            buffer.verify("Bcast through an intercommunicator");
        }
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&own);
}

static void ready()
{
    for (const int n : {5, 3000, 200000}) {
        const Layout layout = structs(n);
        Buffer buffer(gpu::Kind::device, layout);
        MPI_Request r;
        if (rank == 1)
            MPI_Irecv(buffer.at(), 1, buffer.type(), 0, 1, MPI_COMM_WORLD, &r);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            buffer.fill(n);
            MPI_Rsend(buffer.at(), 1, buffer.type(), 1, 1, MPI_COMM_WORLD);
            continue;
        }
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        buffer.expect(n, 0, n);
        buffer.verify("Rsend");
    }
}

/* A partition is one instance of the layout. */
static void partitions()
{
    constexpr int parts = 4;
    for (const int n : {5, 3000, 50000}) {
        const Layout layout = strided(n);
        Buffer buffer(gpu::Kind::device, layout, parts);
        MPI_Request r;
        if (rank == 0)
            MPI_Psend_init(buffer.at(), parts, 1, buffer.type(), 1, 1, MPI_COMM_WORLD,
                           MPI_INFO_NULL, &r);
        else
            MPI_Precv_init(buffer.at(), parts, 1, buffer.type(), 0, 1, MPI_COMM_WORLD,
                           MPI_INFO_NULL, &r);
        for (int round = 0; round < 3; ++round) {
            if (rank == 0)
                buffer.fill(round);
            MPI_Start(&r);
            if (rank == 0)
                for (int i = parts; i > 0; --i)
                    MPI_Pready(i - 1, r);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
            buffer.expect(round, 0, parts * n);
            buffer.verify("partitioned");
        }
        MPI_Request_free(&r);
    }
}

/* One type that names a device's memory and the host's (pmodels/mpich#6226). */
static void absolute()
{
    for (const int n : {5, 3000, 200000}) {
        const Layout layout = strided(n);
        Buffer device(gpu::Kind::device, layout), host(gpu::Kind::pageable, layout),
            managed(gpu::Kind::managed, layout);
        Buffer *const buffers[] = {&device, &host, &managed};
        MPI_Aint at[3];
        MPI_Datatype types[3], all;
        const int ones[] = {1, 1, 1};
        for (int i = 0; i < 3; ++i) {
            MPI_Get_address(buffers[i]->at(), &at[i]);
            types[i] = layout.type;
        }
        MPI_Type_create_struct(3, ones, at, types, &all);
        MPI_Type_commit(&all);
        if (rank == 0) {
            for (int i = 0; i < 3; ++i)
                buffers[i]->fill(i + 1);
            MPI_Send(MPI_BOTTOM, 1, all, 1, 1, MPI_COMM_WORLD);
        } else {
            MPI_Recv(MPI_BOTTOM, 1, all, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int i = 0; i < 3; ++i) {
                buffers[i]->expect(i + 1, 0, n);
                buffers[i]->verify("MPI_BOTTOM");
            }
        }
        MPI_Type_free(&all);
    }
}

/* More long messages than there is staging memory for, whose receives come late and in the wrong
 * order; those that follow pass meanwhile. */
static void unexpected()
{
    constexpr int waiting = 24, n = 200000;
    const Layout layout = strided(n);
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<MPI_Request> requests(waiting);
    for (int i = 0; i < waiting; ++i)
        buffers.push_back(std::make_unique<Buffer>(gpu::Kind::device, layout));
    Buffer last(gpu::Kind::device, layout);
    if (rank == 0) {
        for (int i = 0; i < waiting; ++i) {
            buffers[static_cast<size_t>(i)]->fill(i);
            MPI_Isend(buffers[static_cast<size_t>(i)]->at(), 1, layout.type, 1, 100 + i,
                      MPI_COMM_WORLD, &requests[static_cast<size_t>(i)]);
        }
        last.fill(77);
        MPI_Ssend(last.at(), 1, layout.type, 1, 1, MPI_COMM_WORLD);
    } else {
        MPI_Recv(last.at(), 1, layout.type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        last.expect(77, 0, n);
        last.verify("past messages that wait");
        for (int i = waiting; i-- > 0;)
            MPI_Irecv(buffers[static_cast<size_t>(i)]->at(), 1, layout.type, 0, 100 + i,
                      MPI_COMM_WORLD, &requests[static_cast<size_t>(i)]);
    }
    wait_all(requests);
    if (rank == 1)
        for (int i = 0; i < waiting; ++i) {
            buffers[static_cast<size_t>(i)]->expect(i, 0, n);
            buffers[static_cast<size_t>(i)]->verify("a message that waited");
        }
}

/* A probe that matches a later message than the oldest takes nothing out of order. */
static void probes()
{
    for (const gpu::Kind kind : {gpu::Kind::device, gpu::Kind::pageable}) {
        const Layout small = strided(20), large = strided(100000);
        Buffer first(kind, small), second(kind, large), third(gpu::Kind::device, large);
        if (rank == 0) {
            first.fill(1), second.fill(2), third.fill(3);
            MPI_Request r[3];
            MPI_Isend(first.at(), 1, first.type(), 1, 1, MPI_COMM_WORLD, &r[0]);
            MPI_Isend(second.at(), 1, second.type(), 1, 2, MPI_COMM_WORLD, &r[1]);
            MPI_Isend(third.at(), 1, third.type(), 1, 3, MPI_COMM_WORLD, &r[2]);
            for (MPI_Request &each : r)
                MPI_Wait(&each, MPI_STATUS_IGNORE);
            continue;
        }
        MPI_Status status;
        int elements;
        MPI_Probe(0, 3, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_DOUBLE, &elements);
        check(elements == 100000,
              "a probe of the last message tells of " + std::to_string(elements) + " elements");
        MPI_Probe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_DOUBLE, &elements);
        check(status.MPI_TAG == 1 && elements == 20,
              "a probe meets a later message than the oldest");
        MPI_Recv(first.at(), 1, first.type(), 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        check(status.MPI_TAG == 1, "a receive meets a later message than the oldest");
        MPI_Message message;
        MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
        check(status.MPI_TAG == 2, "a matched probe meets a later message than the oldest");
        MPI_Mrecv(second.at(), 1, second.type(), &message, &status);
        MPI_Recv(third.at(), 1, third.type(), MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        first.expect(1, 0, 20), second.expect(2, 0, 100000), third.expect(3, 0, 100000);
        first.verify("the oldest"), second.verify("the next"),
            third.verify("the one that was probed");
    }
}

/* A communicator may go while a receive is pending that an envelope will meet. (Nobody waits for
 * anybody in this MPI's MPI_Comm_free.) */
static void communicator_freed_early()
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    const Layout layout = strided(50000);
    Buffer buffer(rank == 0 ? gpu::Kind::device : gpu::Kind::pageable, layout);
    if (rank == 0) {
        buffer.fill(1);
        MPI_Recv(nullptr, 0, MPI_BYTE, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(buffer.at(), 1, buffer.type(), 1, 1, comm);
        MPI_Comm_free(&comm);
        return;
    }
    MPI_Request r;
    MPI_Irecv(buffer.at(), 1, buffer.type(), 0, 1, comm, &r);
    MPI_Comm_free(&comm);
    MPI_Comm_split(MPI_COMM_SELF, 0, 0, &comm); /* what was freed may well be used again */
    MPI_Send(nullptr, 0, MPI_BYTE, 0, 8, MPI_COMM_WORLD);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    buffer.expect(1, 0, 50000);
    buffer.verify("after its communicator was freed");
    MPI_Comm_free(&comm);
}

/* Requests that were freed. Their data come, even if nobody waits for them before MPI_Finalize. */
static void forgotten()
{
    int tag = 0;
    for (const int n : {20, 100000, 20}) {
        const Layout layout = strided(n);
        ++tag;
        if (rank == 0) {
            Buffer &stays = *std::make_unique<Buffer>(gpu::Kind::device, layout).release();
            stays.fill(tag);
            MPI_Request r;
            MPI_Isend(stays.at(), 1, stays.type(), 1, tag, MPI_COMM_WORLD, &r);
            MPI_Request_free(&r);
        } else {
            Buffer buffer(gpu::Kind::device, layout);
            MPI_Recv(buffer.at(), 1, buffer.type(), 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            buffer.expect(tag, 0, n);
            buffer.verify("of a request that was freed");
        }
    }
}

/* Each thread has a communicator, and thereby, where there are several, a VCI of its own. */
static void threads()
{
    constexpr int count = 3, rounds = 6;
    MPI_Comm comms[count];
    for (MPI_Comm &comm : comms)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    int wrong[count] = {};
    std::vector<std::thread> running;
    for (int t = 0; t < count; ++t)
        running.emplace_back([&, t] {
            for (int round = 0; round < rounds; ++round) {
                const int n = round % 2 ? 20000 + t : 50 + t;
                const Layout layout = indexed(n);
                Buffer mine(gpu::Kind::device, layout), theirs(gpu::Kind::device, layout);
                mine.fill(10 * t + rank);
                std::vector<MPI_Request> r(2);
                MPI_Irecv(theirs.at(), 1, theirs.type(), other(), t, comms[t], &r[0]);
                MPI_Isend(mine.at(), 1, mine.type(), other(), t, comms[t], &r[1]);
                wait_all(r);
                theirs.expect(10 * t + other(), 0, n);
                wrong[t] += !theirs.holds();
            }
        });
    for (std::thread &thread : running)
        thread.join();
    for (int t = 0; t < count; ++t)
        check(wrong[t] == 0, "thread " + std::to_string(t) + ": " + std::to_string(wrong[t]) +
                                 " messages arrived wrong");
    for (MPI_Comm &comm : comms)
        MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    return run(
        argc, argv,
        [] {
            intercommunicator();
            ready();
            partitions();
            absolute();
            unexpected();
            probes();
            communicator_freed_early();
            threads();
        },
        forgotten);
}
