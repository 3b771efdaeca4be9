/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives over several nodes: their parts within a node go straight between device buffers.
 * MPICH takes the processes of this machine for two nodes' (MPIR_CVAR_NUM_CLIQUES).
 *
 * An argument selects the tests whose name contains it.
 */
#include "direct_test.hpp"

#include <cstdlib>

using namespace device_test;

namespace {

constexpr int n = 100000;

/* Where devices do not reach each other, members of a node may have one device, or not. */
template <class Body> void expects_parts(int calls, const std::string &what, Body body)
{
    if (gpu::Machine::get().reach_each_other())
        expects_way(true, calls, what, body);
    else
        body();
}

void broadcasts()
{
    const Group g(size);
    for (const Layout &layout : {contiguous(1), contiguous(n), strided(n)})
        for (int root = 0; root < g.size; ++root) {
            Buffer buffer(gpu::Kind::device, layout);
            buffer.fill(g.rank == root ? 1 : 2);
            expects_parts(1, "Bcast of " + layout.name,
                          [&] { MPI_Bcast(buffer.at(), 1, layout.type, root, g.comm); });
            buffer.expect(1, 0, layout.elements());
            buffer.verify("Bcast of " + layout.name);
        }
}

void reductions()
{
    const Group g(size);
    const Layout layout = contiguous(n);
    for (int root = 0; root < g.size; ++root) {
        Buffer mine(gpu::Kind::device, layout), sum(gpu::Kind::device, layout);
        mine.fill(g.rank);
        expects_parts(1, "Reduce", [&] {
            MPI_Reduce(mine.at(), sum.at(), n, MPI_DOUBLE, MPI_SUM, root, g.comm);
        });
        if (g.rank == root)
            expect_sum(sum, g, "Reduce");
        expects_parts(1, "Reduce in place", [&] {
            if (g.rank == root)
                MPI_Reduce(MPI_IN_PLACE, mine.at(), n, MPI_DOUBLE, MPI_SUM, root, g.comm);
            else
                MPI_Reduce(mine.at(), nullptr, n, MPI_DOUBLE, MPI_SUM, root, g.comm);
        });
        if (g.rank == root)
            expect_sum(mine, g, "Reduce in place");
    }
    Buffer mine(gpu::Kind::device, layout), sum(gpu::Kind::device, layout);
    mine.fill(g.rank);
    /* Reduced in the node, and broadcast there. */
    expects_parts(2, "Allreduce",
                  [&] { MPI_Allreduce(mine.at(), sum.at(), n, MPI_DOUBLE, MPI_SUM, g.comm); });
    expect_sum(sum, g, "Allreduce");
    expects_parts(2, "Allreduce in place",
                  [&] { MPI_Allreduce(MPI_IN_PLACE, mine.at(), n, MPI_DOUBLE, MPI_SUM, g.comm); });
    expect_sum(mine, g, "Allreduce in place");
}

/* Short vectors are reduced in host memory, and some members have theirs there anyway. */
void other_memory()
{
    const Group g(size);
    for (const int count : {1, n})
        for (const gpu::Kind other : {gpu::Kind::pageable, gpu::Kind::managed}) {
            const Layout layout = contiguous(count);
            const gpu::Kind kind = g.rank % 2 ? other : gpu::Kind::device;
            Buffer mine(kind, layout), sum(kind, layout);
            mine.fill(g.rank);
            MPI_Allreduce(mine.at(), sum.at(), count, MPI_DOUBLE, MPI_SUM, g.comm);
            expect_sum(sum, g, "Allreduce of " + sum.name());
            for (int root = 0; root < g.size; ++root) {
                mine.fill(g.rank == root ? 1 : 2);
                MPI_Bcast(mine.at(), count, MPI_DOUBLE, root, g.comm);
                mine.expect(1, 0, count);
                mine.verify("Bcast of " + mine.name());
            }
        }
}

/* Both go on at once on a node's communicator. There the part of the nonblocking one has a tag of
 * the whole, and this is the time when the part of the others gets its segment. */
void beside_nonblocking()
{
    constexpr int many = 40 * n;
    const Layout layout = contiguous(many), few = contiguous(10);
    for (const int root : {0, size - 1}) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        Buffer sent(gpu::Kind::device, layout), mine(gpu::Kind::device, few);
        sent.fill(rank == root ? 1 : 2);
        MPI_Request request;
        MPI_Ibcast(sent.at(), many, MPI_DOUBLE, root, comm, &request);
        for (int i = 0; i < 6; ++i) {
            mine.fill(i);
            MPI_Allreduce(MPI_IN_PLACE, mine.at(), 10, MPI_DOUBLE, MPI_MAX, comm);
            mine.expect(i, 0, 10);
            mine.verify("Allreduce beside Ibcast");
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        sent.expect(1, 0, many);
        sent.verify("Ibcast beside Allreduce");
        MPI_Comm_free(&comm);
    }
}

void failing_devices()
{
    if (!gpu::Machine::get().is_simulated())
        return;
    const Layout layout = contiguous(n);
    for (const char *how : broken)
        for (const int who : {0, 1, size - 1}) {
            const Group g(size);
            MPI_Comm_set_errhandler(g.comm, MPI_ERRORS_RETURN);
            Buffer mine(gpu::Kind::device, layout), sum(gpu::Kind::device, layout);
            mine.fill(g.rank);
            int error = 0;
            while_failing(who, how, [&] {
                error = MPI_Allreduce(mine.at(), sum.at(), n, MPI_DOUBLE, MPI_SUM, g.comm);
            });
            check(rank != who || error, std::string("no error where the device fails: ") + how);
            if (!error)
                expect_sum(sum, g, "Allreduce beside a failing device");
        }
}

constexpr Test tests[] = {{"broadcasts", broadcasts},
                          {"reductions", reductions},
                          {"other memory", other_memory},
                          {"beside nonblocking", beside_nonblocking},
                          {"failing devices", failing_devices}};

} // namespace

int main(int argc, char **argv)
{
    setenv("MPIR_CVAR_NUM_CLIQUES", "2", 1);
    return run_tests(argc, argv, tests);
}
