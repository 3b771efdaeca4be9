/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Many short messages at once: they are packed in few launches, and stay in order.
 */
#include "device_test.hpp"

#include <cstdlib>
#include <memory>

using namespace device_test;

static constexpr int edges = 12;

/* Launches since it was made, where the device counts them and short messages are not cut into chunks. */
class Launches {
public:
    /* Nothing is over before the next call, so that what comes then has to wait. */
    Launches() { gpu::Machine::get().configure("reset delay_us=5000"); }
    Launches(const Launches &) = delete;
    ~Launches() { gpu::Machine::get().reset(); }
    void at_most(int64_t most, const std::string &what) const
    {
        const int64_t now = gpu::Machine::get().count("launch");
        if (now >= 0 && !std::getenv("MPIR_CVAR_CH4_UCX_GPU_ONESHOT"))
            check(now - before_ <= most, what + ": " + std::to_string(now - before_) + " launches");
    }

private:
    const int64_t before_ = gpu::Machine::get().count("launch");
};

/* Between those that are packed there are some of the host's, and one that goes in chunks. */
static void isends()
{
    const Layout small = strided(50), large = strided(20000);
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<MPI_Request> requests(edges);
    for (int i = 0; i < edges; ++i)
        buffers.push_back(std::make_unique<Buffer>(i == 5 ? gpu::Kind::pageable : gpu::Kind::device, i == 8 ? large : small));
    for (int i = 0; i < edges; ++i) {
        Buffer &buffer = *buffers[static_cast<size_t>(i)];
        if (rank == 0)
            buffer.fill(i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const Launches launches;
    for (int i = 0; i < edges; ++i) {
        const Buffer &buffer = *buffers[static_cast<size_t>(i)];
        MPI_Request *const request = &requests[static_cast<size_t>(i)];
        if (rank == 0)
            MPI_Isend(buffer.at(), 1, buffer.type(), 1, 3, MPI_COMM_WORLD, request);
        else
            MPI_Irecv(buffer.at(), 1, buffer.type(), 0, 3, MPI_COMM_WORLD, request);
    }
    wait_all(requests);
    if (rank == 0) /* the first, those up to the host's, one and those behind it, the long one's two */
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
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, edges, others.data(), MPI_UNWEIGHTED, edges, others.data(), MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &graph);
    const Layout layout = strided(60);
    Buffer from(gpu::Kind::device, layout, edges), to(gpu::Kind::device, layout, edges);
    MPI_Aint lb, extent;
    MPI_Type_get_extent(layout.type, &lb, &extent);
    std::vector<MPI_Aint> displs;
    for (int i = 0; i < edges; ++i)
        displs.push_back(i * extent);
    const std::vector<MPI_Datatype> types(edges, layout.type);
    from.fill(rank + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    {
        const Launches launches;
        MPI_Neighbor_alltoallw(from.at(), ones.data(), displs.data(), types.data(), to.at(), ones.data(), displs.data(),
                               types.data(), graph);
        launches.at_most(2 + edges, "Neighbor_alltoallw"); /* two of packs; unpacks as messages come */
    }
    to.expect(other() + 1, 0, edges * layout.elements());
    to.verify("Neighbor_alltoallw");
    MPI_Comm_free(&graph);
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        isends();
        neighbours();
    });
}
