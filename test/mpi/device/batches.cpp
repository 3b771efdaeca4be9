/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Many short messages at once: they are packed in few launches, and stay in order.
 */
#include "device_test.hpp"

#include <cstdlib>
#include <memory>

using namespace device_test;

static constexpr int edges = 12;
static MPI_Comm pair = MPI_COMM_NULL; /* the first two ranks */

/* Launches since it was made, on a simulated device, which cuts no short messages into chunks. */
class Launches {
public:
    /* Nothing is over before the next call, so that what comes then has to wait. */
    Launches() { gpu::Machine::get().configure("reset delay_us=5000"); }
    Launches(const Launches &) = delete;
    ~Launches() { gpu::Machine::get().reset(); }
    void at_most(int64_t most, const std::string &what) const
    {
        const int64_t made = counted("launches_kernels") - before_;
        if (gpu::Machine::get().is_simulated() && !std::getenv("MPIR_CVAR_CH4_UCX_GPU_ONESHOT"))
            check(made <= most, what + ": " + std::to_string(made) + " launches");
    }

private:
    const int64_t before_ = counted("launches_kernels");
};

/* Between those that are packed there are some of the host's, and one that goes in chunks. */
static void isends()
{
    const Layout small = strided(50), large = strided(20000);
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<MPI_Request> requests(edges);
    for (int i = 0; i < edges; ++i)
        buffers.push_back(std::make_unique<Buffer>(i == 5 ? gpu::Kind::pageable : gpu::Kind::device,
                                                   i == 8 ? large : small));
    for (int i = 0; i < edges; ++i) {
        Buffer &buffer = *buffers[static_cast<size_t>(i)];
        if (rank == 0)
            buffer.fill(i);
    }
    MPI_Barrier(pair);
    const Launches launches;
    for (int i = 0; i < edges; ++i) {
        const Buffer &buffer = *buffers[static_cast<size_t>(i)];
        MPI_Request *const request = &requests[static_cast<size_t>(i)];
        if (rank == 0)
            MPI_Isend(buffer.at(), 1, buffer.type(), 1, 3, pair, request);
        else
            MPI_Irecv(buffer.at(), 1, buffer.type(), 0, 3, pair, request);
    }
    wait_all(requests);
    /* The first, those up to the host's, one and those behind it, the long one's two. */
    if (rank == 0)
        launches.at_most(6, "Isend");
    else
        for (int i = 0; i < edges; ++i) {
            Buffer &buffer = *buffers[static_cast<size_t>(i)];
            buffer.expect(i, 0, i == 8 ? 20000 : 50);
            buffer.verify("message " + std::to_string(i) + " of many");
        }
}

/* Every edge of the graph leads to the other rank. */
static void neighbours()
{
    const std::vector<int> others(edges, other()), ones(edges, 1);
    MPI_Comm graph;
    MPI_Dist_graph_create_adjacent(pair, edges, others.data(), MPI_UNWEIGHTED, edges, others.data(),
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    const Layout layout = strided(60);
    Buffer from(gpu::Kind::device, layout, edges), to(gpu::Kind::device, layout, edges);
    MPI_Aint lb, extent;
    MPI_Type_get_extent(layout.type, &lb, &extent);
    std::vector<MPI_Aint> displs;
    for (int i = 0; i < edges; ++i)
        displs.push_back(i * extent);
    const std::vector<MPI_Datatype> types(edges, layout.type);
    from.fill(rank + 1);
    MPI_Barrier(pair);
    {
        const Launches launches;
        MPI_Neighbor_alltoallw(from.at(), ones.data(), displs.data(), types.data(), to.at(),
                               ones.data(), displs.data(), types.data(), graph);
        launches.at_most(5, "Neighbor_alltoallw"); /* one of packs; unpacks as messages come, many
                                                      at a time */
    }
    to.expect(other() + 1, 0, edges * layout.elements());
    to.verify("Neighbor_alltoallw");
    MPI_Comm_free(&graph);
}

/* Each rank's part has a place of its own. */
static void alltoallw()
{
    const Layout layout = strided(60);
    Buffer from(gpu::Kind::device, layout, size), to(gpu::Kind::device, layout, size);
    MPI_Aint lb, extent;
    MPI_Type_get_extent(layout.type, &lb, &extent);
    const std::vector<int> ones(static_cast<size_t>(size), 1);
    std::vector<int> displs;
    for (int i = 0; i < size; ++i)
        displs.push_back(static_cast<int>(i * extent));
    const std::vector<MPI_Datatype> types(static_cast<size_t>(size), layout.type);
    from.fill(rank + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    {
        const Launches launches;
        MPI_Alltoallw(from.at(), ones.data(), displs.data(), types.data(), to.at(), ones.data(),
                      displs.data(), types.data(), MPI_COMM_WORLD);
        launches.at_most(7, "Alltoallw"); /* alone it would be two for each other rank, and one */
    }
    for (int r = 0; r < size; ++r)
        to.expect(r + 1, r * layout.elements(), (r + 1) * layout.elements(),
                  rank * layout.elements());
    to.verify("Alltoallw");
}

/* Where the device takes 200 ms for anything, neither call takes so long: what short messages and
 * long ones have of their GPU is waited for in MPI_Wait. */
static void begins_at_once()
{
    for (const int n : {50, 200000}) {
        const Layout layout = strided(n);
        Buffer buffer(gpu::Kind::device, layout);
        buffer.fill(rank);
        MPI_Barrier(pair);
        if (!gpu::Machine::get().configure("reset delay_us=500000"))
            return;
        MPI_Request request;
        const double start = MPI_Wtime();
        if (rank == 0)
            MPI_Isend(buffer.at(), 1, buffer.type(), 1, 3, pair, &request);
        else
            MPI_Irecv(buffer.at(), 1, buffer.type(), 0, 3, pair, &request);
        const double seconds = MPI_Wtime() - start;
        check(seconds < 0.3, "to begin a message of " + std::to_string(n) + " doubles took " +
                                 std::to_string(seconds) + " s");
        gpu::Machine::get().configure("delay_us=0");
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        gpu::Machine::get().reset();
        if (rank == 1) {
            buffer.expect(0, 0, n);
            buffer.verify("a message that was begun at once");
        }
    }
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : MPI_UNDEFINED, rank, &pair);
        if (rank < 2) {
            isends();
            neighbours();
            begins_at_once();
            MPI_Comm_free(&pair);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        alltoallw();
    });
}
