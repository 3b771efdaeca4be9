/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The collective operations on device memory, those with operators included.
 */
#include "device_test.hpp"

#include <heddle.h>

#include <algorithm>
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
    MPI_Ialltoallw(sends.at(), ones.data(), displs.data(), types.data(), w.at(), ones.data(),
                   displs.data(), types.data(), world, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect_exchange(w, "Ialltoallw");

    std::vector<int> ranks(ones.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    MPI_Comm graph;
    MPI_Dist_graph_create_adjacent(world, size, ranks.data(), MPI_UNWEIGHTED, size, ranks.data(),
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    MPI_Neighbor_alltoallw(sends.at(), ones.data(), places.data(), types.data(), neighbours.at(),
                           ones.data(), places.data(), types.data(), graph);
    expect_exchange(neighbours, "Neighbor_alltoallw");
    MPI_Comm_free(&graph);
}

/* Bytes from which device buffers are reduced on their device. */
static void reduce_on_device_from(int bytes)
{
    set_control("MPIR_CVAR_GPU_REDUCE_ON_DEVICE", bytes);
}

static int64_t kernels_that_reduce() { return counted("kernels_reduce"); }

/* Parts of `first`, `first + 1` and so on elements, one a rank. */
static std::vector<int> uneven(int first)
{
    std::vector<int> counts(static_cast<size_t>(size));
    std::iota(counts.begin(), counts.end(), first);
    return counts;
}

/* The sum over ranks `begin` to `end` of what they have at i. */
static double sum_at(int begin, int end, int64_t i)
{
    double v = 0;
    for (int r = begin; r < end; ++r)
        v += Buffer::value(r, i);
    return v;
}

/* Each rank's buffers lie in memory of a kind of its own. */
static void operators(gpu::Kind kind, int n)
{
    const std::vector<int> counts = uneven(n);
    const int before = std::accumulate(counts.begin(), counts.begin() + rank, 0);
    const int all = std::accumulate(counts.begin(), counts.end(), 0);
    const Layout dense = contiguous(n), many = contiguous(n * size), sized = contiguous(n + rank),
                 whole = contiguous(all);
    Buffer mine(kind, dense), sum(kind, dense), in_place(kind, dense), scan(kind, dense),
        part(kind, dense), parts(kind, many);
    mine.fill(rank);
    const auto expect_sum = [&](Buffer &b, int begin, int end, const char *call, int first = 0) {
        for (int64_t i = 0; i < b.elements(); ++i)
            b.put(i, sum_at(begin, end, first + i));
        b.verify(call + (" of " + std::to_string(n)));
    };
    for (int root = 0; root < size; ++root) {
        sum.fill(77);
        MPI_Reduce(mine.at(), sum.at(), n, MPI_DOUBLE, MPI_SUM, root, world);
        if (rank == root)
            expect_sum(sum, 0, size, "Reduce");
        sum.verify("Reduce where it is not the root");
        in_place.fill(rank);
        MPI_Reduce(rank == root ? MPI_IN_PLACE : in_place.at(), in_place.at(), n, MPI_DOUBLE,
                   MPI_SUM, root, world);
        if (rank == root)
            expect_sum(in_place, 0, size, "Reduce in place");
        in_place.verify("Reduce in place where it is not the root");
    }
    MPI_Allreduce(mine.at(), sum.at(), n, MPI_DOUBLE, MPI_SUM, world);
    expect_sum(sum, 0, size, "Allreduce");
    in_place.fill(rank);
    MPI_Allreduce(MPI_IN_PLACE, in_place.at(), n, MPI_DOUBLE, MPI_SUM, world);
    expect_sum(in_place, 0, size, "Allreduce in place");
    MPI_Scan(mine.at(), scan.at(), n, MPI_DOUBLE, MPI_SUM, world);
    expect_sum(scan, 0, rank + 1, "Scan");
    scan.fill(77);
    MPI_Exscan(mine.at(), scan.at(), n, MPI_DOUBLE, MPI_SUM, world);
    if (rank > 0)
        expect_sum(scan, 0, rank, "Exscan");
    parts.fill(rank);
    MPI_Reduce_scatter_block(parts.at(), part.at(), n, MPI_DOUBLE, MPI_SUM, world);
    expect_sum(part, 0, size, "Reduce_scatter_block", rank * n);
    Buffer from(kind, whole), to(kind, sized);
    from.fill(rank);
    MPI_Reduce_scatter(from.at(), to.at(), counts.data(), MPI_DOUBLE, MPI_SUM, world);
    expect_sum(to, 0, size, "Reduce_scatter", before);
}

/* All at once. */
static void nonblocking_operators(gpu::Kind kind, int n)
{
    const Layout dense = contiguous(n), many = contiguous(n * size);
    Buffer mine(kind, dense), reduced(kind, dense), all(kind, dense), scan(kind, dense),
        part(kind, dense), parts(kind, many);
    mine.fill(rank);
    parts.fill(rank);
    std::vector<MPI_Request> requests(4);
    MPI_Ireduce(mine.at(), reduced.at(), n, MPI_DOUBLE, MPI_SUM, size - 1, world, &requests[0]);
    MPI_Iallreduce(mine.at(), all.at(), n, MPI_DOUBLE, MPI_SUM, world, &requests[1]);
    MPI_Iscan(mine.at(), scan.at(), n, MPI_DOUBLE, MPI_SUM, world, &requests[2]);
    MPI_Ireduce_scatter_block(parts.at(), part.at(), n, MPI_DOUBLE, MPI_SUM, world, &requests[3]);
    wait_all(requests);
    for (int i = 0; i < n; ++i) {
        if (rank == size - 1)
            reduced.put(i, sum_at(0, size, i));
        all.put(i, sum_at(0, size, i));
        scan.put(i, sum_at(0, rank + 1, i));
        part.put(i, sum_at(0, size, int64_t{rank} * n + i));
    }
    reduced.verify("Ireduce");
    all.verify("Iallreduce");
    scan.verify("Iscan");
    part.verify("Ireduce_scatter_block");
}

/* A sum that is started again and again, each time of other data; `op` adds. */
static void persistent_operator(gpu::Kind kind, int n, MPI_Op op)
{
    const Layout dense = contiguous(n);
    Buffer mine(kind, dense), sum(kind, dense);
    MPI_Request request;
    MPI_Allreduce_init(mine.at(), sum.at(), n, MPI_DOUBLE, op, world, MPI_INFO_NULL, &request);
    for (int i = 0; i < 3; ++i) {
        mine.fill(i * size + rank);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int k = 0; k < n; ++k)
            sum.put(k, sum_at(i * size, (i + 1) * size, k));
        sum.verify("Allreduce_init, start " + std::to_string(i));
    }
    MPI_Request_free(&request);
}

static void reductions(int n)
{
    for (const int threshold : {131072, 0, -1}) {
        reduce_on_device_from(threshold);
        for (const gpu::Kind kind : every_kind) {
            const bool is_long = threshold >= 0 && n * int{sizeof(double)} >= threshold;
            for (const auto operate : {operators, nonblocking_operators}) {
                const int64_t before = kernels_that_reduce();
                operate(kind, n);
                /* Managed memory needs no copies: either does. */
                if (kind != gpu::Kind::managed || is_long)
                    check((kernels_that_reduce() > before) ==
                              (kind != gpu::Kind::pageable && is_long),
                          std::to_string(n) + " doubles, " + std::to_string(threshold) +
                              " bytes and more on the device: where they were reduced");
            }
            operators(rank == 0 ? kind : gpu::Kind::pageable, n);
            persistent_operator(kind, n, MPI_SUM);
        }
    }
}

/* An operator of the program's own is no device's: the host reduces, however long the data are. */
static void own_operator(int n)
{
    const Layout dense = contiguous(n);
    Buffer mine(gpu::Kind::device, dense), sum(gpu::Kind::device, dense);
    MPI_Op add;
    MPI_Op_create(
        [](void *in, void *inout, int *count, MPI_Datatype *) {
            for (int i = 0; i < *count; ++i)
                static_cast<double *>(inout)[i] += static_cast<double *>(in)[i];
        },
        1, &add);
    mine.fill(rank);
    MPI_Allreduce(mine.at(), sum.at(), n, MPI_DOUBLE, add, world);
    for (int i = 0; i < n; ++i)
        sum.put(i, sum_at(0, size, i));
    sum.verify("Allreduce by an operator of its own");
    for (const gpu::Kind kind : every_kind)
        persistent_operator(kind, n, add);
    MPI_Op_free(&add);
}

/* Elements that no device adds go to the host once, not in pieces for each step. */
static void long_doubles(int n)
{
    using Number = long double;
    const auto value = [](int r, size_t i) {
        return static_cast<Number>(r) + static_cast<Number>(i) / 3;
    };
    std::vector<Number> mine(static_cast<size_t>(n)), found(mine.size());
    for (size_t i = 0; i < mine.size(); ++i)
        mine[i] = value(rank, i);
    const size_t bytes = mine.size() * sizeof(Number);
    const int64_t before = counted("methods_combined");
    const gpu::Place place = own_device();
    const gpu::Memory from(place, bytes), to(place, bytes);
    from.write(0, mine.data(), bytes);
    MPI_Allreduce(from.at(), to.at(), n, MPI_LONG_DOUBLE, MPI_MAX, world);
    to.read(0, found.data(), bytes);
    for (size_t i = 0; i < mine.size(); ++i)
        if (found[i] != value(size - 1, i))
            return fail("Allreduce of long doubles, at " + std::to_string(i));
    check(counted("methods_combined") == before, "long doubles were reduced in pieces");
}

/* Only the root gets a result, also where a rank of the group that sends has its number. */
static void between_groups(int n)
{
    const bool receives = rank == 0;
    const Layout dense = contiguous(n);
    Buffer mine(gpu::Kind::device, dense), sum(gpu::Kind::device, dense);
    MPI_Comm group, both;
    MPI_Comm_split(world, receives, rank, &group);
    MPI_Intercomm_create(group, 0, world, receives ? 1 : 0, 0, &both);
    mine.fill(rank);
    sum.fill(77);
    MPI_Reduce(mine.at(), sum.at(), n, MPI_DOUBLE, MPI_SUM, receives ? MPI_ROOT : 0, both);
    for (int i = 0; receives && i < n; ++i)
        sum.put(i, sum_at(1, size, i));
    sum.verify("Reduce between groups, of " + std::to_string(n));
    const int64_t before = kernels_that_reduce();
    MPI_Allreduce(mine.at(), sum.at(), n, MPI_DOUBLE, MPI_SUM, both);
    for (int i = 0; i < n; ++i)
        sum.put(i, receives ? sum_at(1, size, i) : sum_at(0, 1, i));
    sum.verify("Allreduce between groups, of " + std::to_string(n));
    if (size > 2 && rank == 1) /* the first of its group, which has others */
        check((kernels_that_reduce() > before) == (n == 60000),
              "Allreduce between groups: where it was reduced");
    MPI_Comm_free(&both);
    MPI_Comm_free(&group);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    const int status = run(argc, argv, [] {
        for (const gpu::Kind kind : every_kind)
            for (const int n : {1, 100, 3000, 60000})
                for (const MakeLayout make : every_layout)
                    data(kind, make, n);
        for (const int n : {1, 100, 3000, 60000})
            reductions(n);
        reduce_on_device_from(131072);
        own_operator(60000);
        for (const int n : {100, 60000}) {
            long_doubles(n);
            between_groups(n);
        }
    });
    MPI_T_finalize();
    return status;
}
