/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives by messages whose algorithms keep what they send on. Long data of a device's buffers
 * stay on the device meanwhile: they travel as messages of device memory, which are counted. So are
 * the bytes that come.
 */
#include "device_test.hpp"

#include <functional>
#include <numeric>

using namespace device_test;

static const MPI_Comm world = MPI_COMM_WORLD;
constexpr int elements = 40000; /* of a block: more than what goes through the host's memory */

static int64_t bytes_received()
{
    return counted("messages_bytes_whole") + counted("messages_bytes_by_value") +
           counted("messages_bytes_shared") + counted("messages_bytes_by_reference");
}

static int64_t messages_sent()
{
    return counted("messages_sent_whole") + counted("messages_sent_by_value") +
           counted("messages_sent_shared") + counted("messages_sent_by_reference");
}

/* What device memory gets and sends at the least while `body` runs, in this rank. */
struct Least {
    int blocks, messages;
};

static void expect(Least least, const std::string &what, const std::function<void()> &body)
{
    const int64_t bytes = bytes_received(), messages = messages_sent();
    body();
    const int64_t came = bytes_received() - bytes, went = messages_sent() - messages;
    check(came >= least.blocks * int64_t{elements} * 8 && went >= least.messages,
          what + ": " + std::to_string(came) + " bytes came into device memory and " +
              std::to_string(went) + " messages left it");
}

/* The blocking form, and the one that MPI_Wait ends. */
using Call = std::function<void(MPI_Request *)>;

static void both(Least least, const std::string &what, const Call &call,
                 const std::function<void()> &verify)
{
    expect(least, what, [&] { call(nullptr); });
    verify();
    expect(least, "I" + what, [&] {
        MPI_Request request;
        call(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    });
    verify();
}

/* Blocks of all ranks in their order, of which rank r's is of `seed` + r. */
static void expect_all(Buffer &b, int seed, const std::string &what)
{
    for (int r = 0; r < size; ++r)
        b.expect(seed + r, int64_t{elements} * r, int64_t{elements} * (r + 1));
    b.verify(what);
}

static void broadcast(const Layout &layout)
{
    Buffer b(gpu::Kind::device, layout);
    int seed = 1;
    both(
        {rank > 0, rank == 0}, "bcast of " + layout.name,
        [&](MPI_Request *request) {
            b.fill(rank == 0 ? ++seed : 0);
            MPI_Barrier(world);
            if (request)
                MPI_Ibcast(b.at(), 1, b.type(), 0, world, request);
            else
                MPI_Bcast(b.at(), 1, b.type(), 0, world);
        },
        [&] {
            MPI_Bcast(&seed, 1, MPI_INT, 0, world);
            b.expect(seed, 0, elements);
            b.verify("bcast of " + layout.name);
        });
}

/* Of four ranks, rank 2 has the blocks of two in between. */
static void to_and_from_a_root(const Layout &layout)
{
    Buffer one(gpu::Kind::device, layout), all(gpu::Kind::device, layout, size);
    both(
        {rank == 2, rank > 0}, "gather of " + layout.name,
        [&](MPI_Request *request) {
            one.fill(10 + rank);
            all.fill(0);
            MPI_Barrier(world);
            if (request)
                MPI_Igather(one.at(), 1, one.type(), all.at(), 1, one.type(), 0, world, request);
            else
                MPI_Gather(one.at(), 1, one.type(), all.at(), 1, one.type(), 0, world);
        },
        [&] {
            if (rank == 0)
                expect_all(all, 10, "gather of " + layout.name);
        });
    both(
        {rank == 2 ? 2 : rank > 0, rank % 2 == 0}, "scatter of " + layout.name,
        [&](MPI_Request *request) {
            one.fill(0);
            for (int r = 0; r < size; ++r)
                all.expect(20 + r, int64_t{elements} * r, int64_t{elements} * (r + 1));
            all.store();
            MPI_Barrier(world);
            if (request)
                MPI_Iscatter(all.at(), 1, one.type(), one.at(), 1, one.type(), 0, world, request);
            else
                MPI_Scatter(all.at(), 1, one.type(), one.at(), 1, one.type(), 0, world);
        },
        [&] {
            one.expect(20 + rank, 0, elements);
            one.verify("scatter of " + layout.name);
        });
}

static void exchange_in_place(const Layout &layout)
{
    Buffer all(gpu::Kind::device, layout, size);
    both(
        {size - 1, size - 1}, "alltoall in place of " + layout.name,
        [&](MPI_Request *request) {
            for (int r = 0; r < size; ++r)
                all.expect(100 * rank + r, int64_t{elements} * r, int64_t{elements} * (r + 1));
            all.store();
            MPI_Barrier(world);
            if (request)
                MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.at(), 1, all.type(), world,
                              request);
            else
                MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.at(), 1, all.type(), world);
        },
        [&] {
            for (int r = 0; r < size; ++r)
                all.expect(100 * r + rank, int64_t{elements} * r, int64_t{elements} * (r + 1));
            all.verify("alltoall in place of " + layout.name);
        });
}

int main(int argc, char **argv)
{
    int provided;
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    const int status = run(argc, argv, [] {
        set_control("MPIR_CVAR_CH4_UCX_DIRECT_COLL", 0);
        for (const MakeLayout make : every_layout) {
            const Layout layout = make(elements);
            broadcast(layout);
            to_and_from_a_root(layout);
            exchange_in_place(layout);
        }
    });
    MPI_T_finalize();
    return status;
}
