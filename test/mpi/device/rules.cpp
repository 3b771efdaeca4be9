/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What MPI promises of messages between device buffers beyond two ranks of one communicator: intercommunicators,
 * partitions, types of absolute addresses, many threads, and messages that wait for a receive.
 */
#include "device_test.hpp"

#include <memory>
#include <thread>

using namespace device_test;

static int other() { return 1 - rank; }

static void wait_all(std::vector<MPI_Request> &requests)
{
    std::vector<MPI_Status> statuses(requests.size());
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), statuses.data());
}

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
        MPI_Sendrecv(buffer.at(), 1, buffer.type(), 0, 1, target.at(), 1, target.type(), 0, 1, inter, MPI_STATUS_IGNORE);
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
            MPI_Psend_init(buffer.at(), parts, 1, buffer.type(), 1, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
        else
            MPI_Precv_init(buffer.at(), parts, 1, buffer.type(), 0, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
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

/* One type that names a device's memory and the host's. */
static void absolute()
{
    for (const int n : {5, 3000, 200000}) {
        const Layout layout = strided(n);
        Buffer device(gpu::Kind::device, layout), host(gpu::Kind::pageable, layout), managed(gpu::Kind::managed, layout);
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

/* More long messages than there is staging memory for, whose receives come late and in the wrong order; those that
 * follow pass meanwhile. */
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
            MPI_Isend(buffers[static_cast<size_t>(i)]->at(), 1, layout.type, 1, 100 + i, MPI_COMM_WORLD,
                      &requests[static_cast<size_t>(i)]);
        }
        last.fill(77);
        MPI_Ssend(last.at(), 1, layout.type, 1, 1, MPI_COMM_WORLD);
    } else {
        MPI_Recv(last.at(), 1, layout.type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        last.expect(77, 0, n);
        last.verify("past messages that wait");
        for (int i = waiting; i-- > 0;)
            MPI_Irecv(buffers[static_cast<size_t>(i)]->at(), 1, layout.type, 0, 100 + i, MPI_COMM_WORLD,
                      &requests[static_cast<size_t>(i)]);
    }
    wait_all(requests);
    if (rank == 1)
        for (int i = 0; i < waiting; ++i) {
            buffers[static_cast<size_t>(i)]->expect(i, 0, n);
            buffers[static_cast<size_t>(i)]->verify("a message that waited");
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
        check(wrong[t] == 0, "thread " + std::to_string(t) + ": " + std::to_string(wrong[t]) + " messages arrived wrong");
    for (MPI_Comm &comm : comms)
        MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        intercommunicator();
        ready();
        partitions();
        absolute();
        unexpected();
        threads();
    });
}
