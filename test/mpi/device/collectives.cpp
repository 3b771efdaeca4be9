/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The collective operations on device memory, those with operators included.
 */
#include "device_test.hpp"

#include <numeric>

using namespace device_test;

static const MPI_Comm world = MPI_COMM_WORLD;

/* `each` elements of every rank's, one part behind the other. */
static void expect_parts(Buffer &buffer, int each, int seed)
{
    for (int r = 0; r < size; ++r)
        buffer.expect(seed + r, int64_t{each} * r, int64_t{each} * (r + 1));
}

static void data(gpu::Kind kind, MakeLayout make, int n)
{
    const Layout layout = make(n);
    const std::string what = std::to_string(n) + " of " + layout.name;
    const auto all = [&] { return Buffer(kind, layout, size); };
    Buffer one(kind, layout);

    one.fill(rank == 0 ? 1 : 2);
    MPI_Bcast(one.at(), 1, one.type(), 0, world);
    one.expect(1, 0, n);
    one.verify("Bcast, " + what);

    one.fill(10 + rank);
    Buffer gathered = all();
    MPI_Gather(one.at(), 1, one.type(), gathered.at(), 1, one.type(), 0, world);
    if (rank == 0)
        expect_parts(gathered, n, 10);
    gathered.verify("Gather, " + what);

    Buffer everywhere = all();
    MPI_Allgather(one.at(), 1, one.type(), everywhere.at(), 1, one.type(), world);
    expect_parts(everywhere, n, 10);
    everywhere.verify("Allgather, " + what);

    Buffer scattered(kind, layout);
    MPI_Scatter(everywhere.at(), 1, one.type(), scattered.at(), 1, one.type(), size - 1, world);
    scattered.expect(10 + rank, 0, n);
    scattered.verify("Scatter, " + what);

    Buffer sends = all(), receives = all(), w = all(), neighbours = all();
    for (int r = 0; r < size; ++r)
        sends.expect(100 * rank + r, int64_t{n} * r, int64_t{n} * (r + 1));
    sends.store();
    const auto expect_exchange = [&](Buffer &b, const char *call) {
        for (int r = 0; r < size; ++r)
            b.expect(100 * r + rank, int64_t{n} * r, int64_t{n} * (r + 1));
        b.verify(call + (", " + what));
    };
    MPI_Alltoall(sends.at(), 1, one.type(), receives.at(), 1, one.type(), world);
    expect_exchange(receives, "Alltoall");

    MPI_Aint lb, extent;
    MPI_Type_get_extent(one.type(), &lb, &extent);
    std::vector<int> ones(static_cast<size_t>(size), 1), displs(ones.size());
    std::vector<MPI_Aint> places(ones.size());
    std::vector<MPI_Datatype> types(ones.size(), one.type());
    for (size_t r = 0; r < ones.size(); ++r) {
        places[r] = extent * static_cast<MPI_Aint>(r);
        displs[r] = static_cast<int>(places[r]);
    }
    MPI_Request request;
    MPI_Ialltoallw(sends.at(), ones.data(), displs.data(), types.data(), w.at(), ones.data(), displs.data(), types.data(),
                   world, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect_exchange(w, "Ialltoallw");

    std::vector<int> ranks(ones.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    MPI_Comm graph;
    MPI_Dist_graph_create_adjacent(world, size, ranks.data(), MPI_UNWEIGHTED, size, ranks.data(), MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &graph);
    MPI_Neighbor_alltoallw(sends.at(), ones.data(), places.data(), types.data(), neighbours.at(), ones.data(),
                           places.data(), types.data(), graph);
    expect_exchange(neighbours, "Neighbor_alltoallw");
    MPI_Comm_free(&graph);
}

static void operators(gpu::Kind kind, int n)
{
    const Layout dense = contiguous(n), many = contiguous(n * size);
    Buffer mine(kind, dense), sum(kind, dense), in_place(kind, dense), scan(kind, dense), part(kind, dense), parts(kind, many);
    mine.fill(rank);
    in_place.fill(rank);
    const auto expect_sum = [&](Buffer &b, int ranks, const char *call) {
        for (int i = 0; i < n; ++i) {
            double v = 0;
            for (int r = 0; r < ranks; ++r)
                v += Buffer::value(r, i);
            b.put(i, v);
        }
        b.verify(call);
    };
    MPI_Reduce(mine.at(), sum.at(), n, MPI_DOUBLE, MPI_SUM, 0, world);
    if (rank == 0)
        expect_sum(sum, size, "Reduce");
    MPI_Allreduce(mine.at(), sum.at(), n, MPI_DOUBLE, MPI_SUM, world);
    expect_sum(sum, size, "Allreduce");
    MPI_Allreduce(MPI_IN_PLACE, in_place.at(), n, MPI_DOUBLE, MPI_SUM, world);
    expect_sum(in_place, size, "Allreduce in place");
    MPI_Scan(mine.at(), scan.at(), n, MPI_DOUBLE, MPI_SUM, world);
    expect_sum(scan, rank + 1, "Scan");
    MPI_Request request;
    MPI_Iallreduce(mine.at(), part.at(), n, MPI_DOUBLE, MPI_SUM, world, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect_sum(part, size, "Iallreduce");
    parts.fill(rank);
    MPI_Reduce_scatter_block(parts.at(), part.at(), n, MPI_DOUBLE, MPI_SUM, world);
    for (int i = 0; i < n; ++i) {
        double v = 0;
        for (int r = 0; r < size; ++r)
            v += Buffer::value(r, int64_t{rank} * n + i);
        part.put(i, v);
    }
    part.verify("Reduce_scatter_block");
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        for (const gpu::Kind kind : every_kind)
            for (const int n : {1, 100, 3000, 60000}) {
                for (const MakeLayout make : every_layout)
                    data(kind, make, n);
                operators(kind, n);
            }
    });
}
