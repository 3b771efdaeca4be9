/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Direct collectives that do not block, and persistent ones. Several are under way at once, in one
 * communicator and in several, beside messages and blocking ones; each rank waits for them in an
 * order of its own. Persistent ones are started again and again with other data, in another order
 * on each rank. Where devices fail, who is not told has the right data.
 *
 * An argument selects the tests whose name contains it.
 */
#include "direct_test.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <random>
#include <thread>

using namespace device_test;

namespace {

/* ---- operations ------------------------------------------------------------------------------ */

/* One collective with its buffers. `fill` writes what it reads, and says what is to come of it. */
struct Operation {
    Operation(const Group &g, gpu::Kind kind, MakeLayout make, int n)
        : g(g), n(n), kind(kind), layout(make(n)), mine(kind, layout), theirs(kind, layout, g.size)
    {
    }
    virtual ~Operation() = default;
    virtual void fill(int seed) = 0;
    virtual void begin(MPI_Request *request) = 0;
    virtual void init(MPI_Request *request) = 0;
    virtual std::string name() const = 0;
    void verify(const std::string &how) const
    {
        const std::string what = name() + ", " + how + ", " + std::to_string(n) + " of " +
                                 layout.name + ", " + std::to_string(g.size) + " ranks";
        mine.verify(what);
        theirs.verify(what);
    }

    MPI_Datatype type() const { return layout.type; }
    /* The part of rank `r` in `theirs`. */
    void expect_part(int r, int seed) { theirs.expect(seed, int64_t{n} * r, int64_t{n} * (r + 1)); }
    void fill_parts(int seed, int step)
    {
        for (int r = 0; r < g.size; ++r)
            expect_part(r, seed + step * r);
        theirs.store();
    }
    /* The sum of what ranks have filled with `seed` and their number, from element `first` on. */
    void expect_sum(Buffer &b, int seed, int64_t first)
    {
        for (int64_t i = 0; i < n; ++i)
            b.put(i, sum_at(g, first + i, seed));
    }

    const Group &g;
    const int n;
    const gpu::Kind kind;
    const Layout layout;
    Buffer mine, theirs;
};

struct Bcast : Operation {
    using Operation::Operation;
    int root = n % g.size;
    std::string name() const override { return "bcast"; }
    void fill(int seed) override
    {
        mine.fill(g.rank == root ? seed : -1);
        mine.expect(seed, 0, n);
    }
    void begin(MPI_Request *r) override { MPI_Ibcast(mine.at(), 1, type(), root, g.comm, r); }
    void init(MPI_Request *r) override
    {
        MPI_Bcast_init(mine.at(), 1, type(), root, g.comm, MPI_INFO_NULL, r);
    }
};

struct Allgather : Operation {
    using Operation::Operation;
    bool in_place = n % 2 == 0;
    std::string name() const override { return in_place ? "allgather in place" : "allgather"; }
    void fill(int seed) override
    {
        mine.fill(seed + g.rank);
        theirs.fill(-1);
        expect_part(g.rank, in_place ? seed + g.rank : -2);
        theirs.store();
        for (int r = 0; r < g.size; ++r)
            expect_part(r, seed + r);
    }
    const void *from() const { return in_place ? MPI_IN_PLACE : mine.at(); }
    void begin(MPI_Request *r) override
    {
        MPI_Iallgather(from(), 1, type(), theirs.at(), 1, type(), g.comm, r);
    }
    void init(MPI_Request *r) override
    {
        MPI_Allgather_init(from(), 1, type(), theirs.at(), 1, type(), g.comm, MPI_INFO_NULL, r);
    }
};

struct Gather : Operation {
    using Operation::Operation;
    int root = n % g.size;
    std::string name() const override { return "gather"; }
    void fill(int seed) override
    {
        mine.fill(seed + g.rank);
        theirs.fill(-1);
        for (int r = 0; g.rank == root && r < g.size; ++r)
            expect_part(r, seed + r);
    }
    void begin(MPI_Request *r) override
    {
        MPI_Igather(mine.at(), 1, type(), theirs.at(), 1, type(), root, g.comm, r);
    }
    void init(MPI_Request *r) override
    {
        MPI_Gather_init(mine.at(), 1, type(), theirs.at(), 1, type(), root, g.comm, MPI_INFO_NULL,
                        r);
    }
};

struct Scatter : Operation {
    using Operation::Operation;
    int root = n % g.size;
    std::string name() const override { return "scatter"; }
    void fill(int seed) override
    {
        mine.fill(-1);
        fill_parts(seed, 1);
        mine.expect(seed + g.rank, 0, n);
    }
    void begin(MPI_Request *r) override
    {
        MPI_Iscatter(theirs.at(), 1, type(), mine.at(), 1, type(), root, g.comm, r);
    }
    void init(MPI_Request *r) override
    {
        MPI_Scatter_init(theirs.at(), 1, type(), mine.at(), 1, type(), root, g.comm, MPI_INFO_NULL,
                         r);
    }
};

/* Parts lie in the reverse order of ranks. */
struct Placed : Operation {
    Placed(const Group &g, gpu::Kind kind, MakeLayout make, int n)
        : Operation(g, kind, make, n), counts(static_cast<size_t>(g.size), 1), displs(counts.size())
    {
        for (size_t r = 0; r < displs.size(); ++r)
            displs[r] = g.size - 1 - static_cast<int>(r);
    }
    std::vector<int> counts, displs;
};

struct Allgatherv : Placed {
    using Placed::Placed;
    std::string name() const override { return "allgatherv"; }
    void fill(int seed) override
    {
        mine.fill(seed + g.rank);
        theirs.fill(-1);
        for (int r = 0; r < g.size; ++r)
            expect_part(g.size - 1 - r, seed + r);
    }
    void begin(MPI_Request *r) override
    {
        MPI_Iallgatherv(mine.at(), 1, type(), theirs.at(), counts.data(), displs.data(), type(),
                        g.comm, r);
    }
    void init(MPI_Request *r) override
    {
        MPI_Allgatherv_init(mine.at(), 1, type(), theirs.at(), counts.data(), displs.data(), type(),
                            g.comm, MPI_INFO_NULL, r);
    }
};

struct Gatherv : Placed {
    using Placed::Placed;
    int root = n % g.size;
    std::string name() const override { return "gatherv"; }
    void fill(int seed) override
    {
        mine.fill(seed + g.rank);
        theirs.fill(-1);
        for (int r = 0; g.rank == root && r < g.size; ++r)
            expect_part(g.size - 1 - r, seed + r);
    }
    void begin(MPI_Request *r) override
    {
        MPI_Igatherv(mine.at(), 1, type(), theirs.at(), counts.data(), displs.data(), type(), root,
                     g.comm, r);
    }
    void init(MPI_Request *r) override
    {
        MPI_Gatherv_init(mine.at(), 1, type(), theirs.at(), counts.data(), displs.data(), type(),
                         root, g.comm, MPI_INFO_NULL, r);
    }
};

struct Scatterv : Placed {
    using Placed::Placed;
    int root = n % g.size;
    std::string name() const override { return "scatterv"; }
    void fill(int seed) override
    {
        mine.fill(-1);
        fill_parts(seed, 1);
        mine.expect(seed + g.size - 1 - g.rank, 0, n);
    }
    void begin(MPI_Request *r) override
    {
        MPI_Iscatterv(theirs.at(), counts.data(), displs.data(), type(), mine.at(), 1, type(), root,
                      g.comm, r);
    }
    void init(MPI_Request *r) override
    {
        MPI_Scatterv_init(theirs.at(), counts.data(), displs.data(), type(), mine.at(), 1, type(),
                          root, g.comm, MPI_INFO_NULL, r);
    }
};

/* With all, by MPI_Alltoall and its kin in turn. */
struct Alltoall : Placed {
    Alltoall(const Group &g, gpu::Kind kind, MakeLayout make, int n)
        : Placed(g, kind, make, n), got(kind, layout, g.size), types(counts.size(), layout.type)
    {
        MPI_Aint lb, extent;
        MPI_Type_get_extent(type(), &lb, &extent);
        for (int r = 0; r < g.size; ++r) {
            ordered.push_back(r);
            bytes.push_back(static_cast<int>(extent) * r);
        }
    }
    std::string name() const override { return "alltoall " + std::to_string(n % 3); }
    void fill(int seed) override
    {
        got.verify(name());
        fill_parts(seed + 10 * g.rank, 1);
        got.fill(-1);
        for (int r = 0; r < g.size; ++r)
            got.expect(seed + 10 * r + g.rank, int64_t{n} * r, int64_t{n} * (r + 1));
    }
    ~Alltoall() override { got.verify("alltoall " + std::to_string(n % 3)); }
    void begin(MPI_Request *r) override
    {
        const int *ones = counts.data(), *at = ordered.data();
        if (n % 3 == 0)
            MPI_Ialltoall(theirs.at(), 1, type(), got.at(), 1, type(), g.comm, r);
        else if (n % 3 == 1)
            MPI_Ialltoallv(theirs.at(), ones, at, type(), got.at(), ones, at, type(), g.comm, r);
        else
            MPI_Ialltoallw(theirs.at(), ones, bytes.data(), types.data(), got.at(), ones,
                           bytes.data(), types.data(), g.comm, r);
    }
    void init(MPI_Request *r) override
    {
        const int *ones = counts.data(), *at = ordered.data();
        if (n % 3 == 0)
            MPI_Alltoall_init(theirs.at(), 1, type(), got.at(), 1, type(), g.comm, MPI_INFO_NULL,
                              r);
        else if (n % 3 == 1)
            MPI_Alltoallv_init(theirs.at(), ones, at, type(), got.at(), ones, at, type(), g.comm,
                               MPI_INFO_NULL, r);
        else
            MPI_Alltoallw_init(theirs.at(), ones, bytes.data(), types.data(), got.at(), ones,
                               bytes.data(), types.data(), g.comm, MPI_INFO_NULL, r);
    }
    Buffer got;
    std::vector<int> ordered, bytes;
    std::vector<MPI_Datatype> types;
};

/* Reductions are of doubles, one behind the other. */
struct Reduction : Operation {
    Reduction(const Group &g, gpu::Kind kind, MakeLayout, int n) : Operation(g, kind, contiguous, n)
    {
    }
};

struct Allreduce : Reduction {
    using Reduction::Reduction;
    bool in_place = n % 2 == 0;
    Buffer sum{kind, layout};
    std::string name() const override { return in_place ? "allreduce in place" : "allreduce"; }
    void fill(int seed) override
    {
        sum.verify(name());
        mine.fill(seed + g.rank);
        sum.fill(in_place ? seed + g.rank : -1);
        expect_sum(sum, seed, 0);
    }
    ~Allreduce() override { sum.verify("allreduce"); }
    const void *from() const { return in_place ? MPI_IN_PLACE : mine.at(); }
    void begin(MPI_Request *r) override
    {
        MPI_Iallreduce(from(), sum.at(), n, MPI_DOUBLE, MPI_SUM, g.comm, r);
    }
    void init(MPI_Request *r) override
    {
        MPI_Allreduce_init(from(), sum.at(), n, MPI_DOUBLE, MPI_SUM, g.comm, MPI_INFO_NULL, r);
    }
};

struct Reduce : Reduction {
    using Reduction::Reduction;
    int root = n % g.size;
    Buffer sum{kind, layout};
    std::string name() const override { return "reduce"; }
    void fill(int seed) override
    {
        sum.verify(name());
        mine.fill(seed + g.rank);
        sum.fill(-1);
        if (g.rank == root)
            expect_sum(sum, seed, 0);
    }
    ~Reduce() override { sum.verify("reduce"); }
    void begin(MPI_Request *r) override
    {
        MPI_Ireduce(mine.at(), sum.at(), n, MPI_DOUBLE, MPI_SUM, root, g.comm, r);
    }
    void init(MPI_Request *r) override
    {
        MPI_Reduce_init(mine.at(), sum.at(), n, MPI_DOUBLE, MPI_SUM, root, g.comm, MPI_INFO_NULL,
                        r);
    }
};

struct ReduceScatter : Reduction {
    using Reduction::Reduction;
    std::vector<int> counts = std::vector<int>(static_cast<size_t>(g.size), n);
    std::string name() const override { return n % 2 ? "reduce_scatter" : "reduce_scatter_block"; }
    void fill(int seed) override
    {
        theirs.fill(seed + g.rank);
        mine.fill(-1);
        expect_sum(mine, seed, int64_t{n} * g.rank);
    }
    void begin(MPI_Request *r) override
    {
        if (n % 2)
            MPI_Ireduce_scatter(theirs.at(), mine.at(), counts.data(), MPI_DOUBLE, MPI_SUM, g.comm,
                                r);
        else
            MPI_Ireduce_scatter_block(theirs.at(), mine.at(), n, MPI_DOUBLE, MPI_SUM, g.comm, r);
    }
    void init(MPI_Request *r) override
    {
        if (n % 2)
            MPI_Reduce_scatter_init(theirs.at(), mine.at(), counts.data(), MPI_DOUBLE, MPI_SUM,
                                    g.comm, MPI_INFO_NULL, r);
        else
            MPI_Reduce_scatter_block_init(theirs.at(), mine.at(), n, MPI_DOUBLE, MPI_SUM, g.comm,
                                          MPI_INFO_NULL, r);
    }
};

using One = std::unique_ptr<Operation>;
using Make = One (*)(const Group &, gpu::Kind, MakeLayout, int);
template <class T> One make(const Group &g, gpu::Kind kind, MakeLayout layout, int n)
{
    return std::make_unique<T>(g, kind, layout, n);
}
constexpr Make every_operation[] = {make<Bcast>,    make<Allgather>,    make<Gather>,
                                    make<Scatter>,  make<Allgatherv>,   make<Gatherv>,
                                    make<Scatterv>, make<Alltoall>,     make<Allreduce>,
                                    make<Reduce>,   make<ReduceScatter>};

/* ---- tests ----------------------------------------------------------------------------------- */

void wait(MPI_Request &request) { MPI_Wait(&request, MPI_STATUS_IGNORE); }

/* Each by itself, of all layouts. */
void each()
{
    for (const int members : {2, 3, size}) {
        const Group g(members);
        if (!g.is_in())
            continue;
        for (const Make make : every_operation)
            for (const MakeLayout layout : every_layout)
                for (const int n : {1, 600, 601, 602}) {
                    MPI_Request request;
                    const One one = make(g, gpu::Kind::device, layout, n);
                    one->fill(1);
                    const auto call = [&] {
                        one->begin(&request);
                        wait(request);
                    };
                    if (one->layout.name == "indexed") /* a long type is not told */
                        call();
                    else
                        expects_way(true, 1, one->name(), call);
                    one->verify("alone");
                }
    }
}

/* In other memory, which goes another way. */
void other_memory()
{
    const Group g(size);
    for (const gpu::Kind kind : {gpu::Kind::pageable, gpu::Kind::managed})
        for (const Make make : every_operation) {
            MPI_Request request, again;
            const gpu::Kind its =
                kind == gpu::Kind::managed || g.rank % 2 ? kind : gpu::Kind::device;
            const One one = make(g, its, indexed, 601), persistent = make(g, its, indexed, 602);
            one->fill(1);
            one->begin(&request);
            persistent->init(&again);
            for (int seed = 2; seed < 4; ++seed) {
                persistent->fill(seed);
                MPI_Start(&again);
                wait(again);
                persistent->verify("persistent, in other memory");
            }
            MPI_Request_free(&again);
            wait(request);
            one->verify("in other memory");
        }
}

/* Large vectors: in slices, and with scratch memory. */
void large()
{
    for (const int members : {2, size}) {
        const Group g(members);
        if (!g.is_in())
            continue;
        for (const Make make : every_operation)
            for (const int n : {100000, 300001}) {
                MPI_Request request;
                const One one = make(g, gpu::Kind::device, contiguous, n);
                one->fill(1);
                one->begin(&request);
                wait(request);
                one->verify("large");
            }
    }
}

/* The first rank is slow, frees its vector when it is done, and gets other memory at that address.
 * The others have not looked since, and must not hold what was there. */
void freed_early()
{
    using namespace std::chrono_literals;
    if (!gpu::Machine::get().is_simulated())
        return;
    const Layout layout = contiguous(1000), longer = contiguous(100000);
    for (const Layout *each : {&layout, &longer}) {
        const Group g(size);
        const auto n = static_cast<int>(each->elements());
        Buffer sum(gpu::Kind::device, *each), later(gpu::Kind::device, *each);
        auto mine = std::make_unique<Buffer>(gpu::Kind::device, *each);
        MPI_Request request;
        int flag = 0;
        mine->fill(g.rank);
        MPI_Barrier(g.comm);
        if (g.rank == 0)
            gpu::Machine::get().configure("delay_us=300000");
        MPI_Iallreduce(mine->at(), sum.at(), n, MPI_DOUBLE, MPI_SUM, g.comm, &request);
        const auto begin = std::chrono::steady_clock::now();
        while (g.rank != 0 && std::chrono::steady_clock::now() - begin < 150ms)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        if (g.rank == 0) {
            wait(request);
            gpu::Machine::get().reset();
            mine.reset();
            mine = std::make_unique<Buffer>(gpu::Kind::device, *each);
            mine->fill(g.rank);
        } else {
            std::this_thread::sleep_for(500ms);
        }
        expects_way(true, g.rank == 0 || flag ? 1 : 2, "a sum of memory at the same address", [&] {
            MPI_Allreduce(mine->at(), later.at(), n, MPI_DOUBLE, MPI_SUM, g.comm);
            if (g.rank != 0)
                wait(request);
        });
        expect_sum(sum, g, "the sum before");
        expect_sum(later, g, "the sum of what came after");
    }
}

/* Many under way, in several communicators; each rank tests and waits in its own order, amid
 * messages and blocking calls. */
void under_way()
{
    const Group all(size), same(size, false), pair(2);
    std::mt19937 agreed(7), own(static_cast<unsigned>(rank));
    for (int round = 0; round < 30; ++round) {
        std::vector<One> operations;
        std::vector<MPI_Request> requests;
        const int number = 1 + static_cast<int>(agreed() % 12);
        for (int i = 0; i < number; ++i) {
            const Make make = every_operation[agreed() % std::size(every_operation)];
            const Group &g = *std::array{&all, &same, &pair}[agreed() % 3];
            const MakeLayout layout = every_layout[agreed() % std::size(every_layout)];
            const int n = 1 + static_cast<int>(agreed() % (agreed() % 4 ? 2000 : 40000));
            const gpu::Kind kind = agreed() % 6 ? gpu::Kind::device : gpu::Kind::pageable;
            if (agreed() % 8 == 0)
                MPI_Barrier(MPI_COMM_WORLD);
            if (!g.is_in())
                continue;
            operations.push_back(make(g, kind, layout, n));
            operations.back()->fill(i);
            requests.push_back(MPI_REQUEST_NULL);
            operations.back()->begin(&requests.back());
            if (own() % 3 == 0) {
                int flag;
                MPI_Test(&requests[own() % requests.size()], &flag, MPI_STATUS_IGNORE);
            }
        }
        double sent = rank, came = -1;
        MPI_Sendrecv(&sent, 1, MPI_DOUBLE, (rank + 1) % size, 1, &came, 1, MPI_DOUBLE,
                     (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check(came == (rank + size - 1) % size, "a message beside collectives");
        if (round % 3 == 0) {
            const Layout layout = contiguous(500);
            Buffer mine(gpu::Kind::device, layout);
            mine.fill(rank == 0 ? 5 : 6);
            MPI_Bcast(mine.at(), 1, layout.type, 0, same.comm);
            mine.expect(5, 0, 500);
            mine.verify("a blocking one beside them");
        }
        std::vector<size_t> order(requests.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::shuffle(order.begin(), order.end(), own);
        for (const size_t i : order) {
            wait(requests[i]);
            operations[i]->verify("one of many");
        }
    }
}

/* A communicator whose calls never block; and one that is freed while a call is under way. */
void never_blocking()
{
    const Group g(size, false);
    expects_way(true, 11, "a communicator without blocking calls", [&] {
        for (const Make make : every_operation) {
            MPI_Request request;
            const One one = make(g, gpu::Kind::device, strided, 300);
            one->fill(3);
            one->begin(&request);
            wait(request);
            one->verify("without blocking calls");
        }
    });
    for (int round = 0; round < 6; ++round) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        std::vector<MPI_Request> requests(static_cast<size_t>(round + 1));
        const Layout layout = contiguous(400);
        MPI_Datatype type;
        MPI_Type_vector(200, 1, 2, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        std::vector<std::unique_ptr<Buffer>> buffers;
        for (MPI_Request &request : requests) {
            buffers.push_back(std::make_unique<Buffer>(gpu::Kind::device, layout));
            buffers.back()->fill(rank == 0 ? 1 : 2);
            MPI_Ibcast(buffers.back()->at(), 1, type, 0, comm, &request);
            for (int64_t i = 0; i < 399; i += 2)
                buffers.back()->put(i, Buffer::value(1, i));
        }
        MPI_Type_free(&type);
        MPI_Comm_free(&comm);
        wait_all(requests);
        for (const auto &buffer : buffers)
            buffer->verify("a type and a communicator that are freed");
    }
}

/* Started again and again; ranks start those of several requests in different orders. */
void persistent()
{
    for (const int members : {2, size}) {
        const Group g(members);
        if (!g.is_in())
            continue;
        std::vector<One> operations;
        std::vector<MPI_Request> requests;
        for (const Make make : every_operation)
            for (const int n : {300, 1001}) {
                operations.push_back(make(g, gpu::Kind::device, n == 300 ? strided : structs, n));
                requests.emplace_back();
                operations.back()->init(&requests.back());
            }
        std::mt19937 own(static_cast<unsigned>(rank) + 5);
        std::vector<size_t> order(requests.size());
        std::iota(order.begin(), order.end(), size_t{0});
        for (int round = 0; round < 6; ++round) {
            for (const One &one : operations)
                one->fill(10 * round);
            expects_way(true, static_cast<int>(order.size()), "persistent ones", [&] {
                std::shuffle(order.begin(), order.end(), own);
                for (const size_t i : order)
                    MPI_Start(&requests[i]);
                std::shuffle(order.begin(), order.end(), own);
                for (const size_t i : order) {
                    wait(requests[i]);
                    operations[i]->verify("persistent");
                }
            });
        }
        for (MPI_Request &request : requests)
            MPI_Request_free(&request);
    }
}

/* Two threads, each with a communicator of its own. */
void threads()
{
    const Group first(size), second(size, false);
    int provided;
    MPI_Query_thread(&provided);
    if (provided < MPI_THREAD_MULTIPLE)
        return;
    std::atomic<int> wrong{0};
    const auto body = [&](const Group &g) {
        const Layout layout = contiguous(800);
        Buffer mine(gpu::Kind::device, layout), all(gpu::Kind::device, layout, g.size),
            same(gpu::Kind::device, layout);
        for (int round = 0; round < 40; ++round) {
            MPI_Request requests[2];
            mine.fill(round + g.rank);
            same.fill(g.rank == 0 ? round : -1);
            MPI_Iallgather(mine.at(), 1, layout.type, all.at(), 1, layout.type, g.comm,
                           &requests[0]);
            MPI_Ibcast(same.at(), 1, layout.type, 0, g.comm, &requests[1]);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            for (int r = 0; r < g.size; ++r)
                all.expect(round + r, int64_t{800} * r, int64_t{800} * (r + 1));
            same.expect(round, 0, 800);
            wrong += !all.holds() || !same.holds();
        }
    };
    std::thread other([&] { body(second); });
    body(first);
    other.join();
    check(wrong == 0, "threads: wrong data");
}

/* Who is told nothing has the right data, and nobody waits for ever. */
void failing_devices()
{
    if (!gpu::Machine::get().is_simulated())
        return;
    for (const int n : {100, 100000})
        for (const char *how : broken)
            for (const int who : {0, size - 1}) {
                const Group g(size);
                const Layout layout = contiguous(n);
                MPI_Comm_set_errhandler(g.comm, MPI_ERRORS_RETURN);
                MPI_Request requests[3];
                MPI_Status statuses[3];
                Buffer one(gpu::Kind::device, layout), sum(gpu::Kind::device, layout),
                    in_place(gpu::Kind::device, layout), all(gpu::Kind::device, layout, size);
                one.fill(g.rank);
                in_place.fill(g.rank);
                MPI_Allreduce_init(MPI_IN_PLACE, in_place.at(), n, MPI_DOUBLE, MPI_SUM, g.comm,
                                   MPI_INFO_NULL, &requests[2]);
                for (MPI_Status &status : statuses)
                    status.MPI_ERROR = MPI_SUCCESS;
                while_failing(who, how, [&] {
                    MPI_Iallgather(one.at(), 1, layout.type, all.at(), 1, layout.type, g.comm,
                                   &requests[0]);
                    MPI_Iallreduce(one.at(), sum.at(), n, MPI_DOUBLE, MPI_SUM, g.comm,
                                   &requests[1]);
                    MPI_Start(&requests[2]);
                    for (int i = 0; i < 3; ++i)
                        statuses[i].MPI_ERROR = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
                });
                MPI_Request_free(&requests[2]);
                check(rank != who ||
                          (statuses[0].MPI_ERROR && statuses[1].MPI_ERROR && statuses[2].MPI_ERROR),
                      std::string("no error where the device fails: ") + how);
                for (int r = 0; r < size; ++r)
                    all.expect(r, int64_t{n} * r, int64_t{n} * (r + 1));
                if (!statuses[0].MPI_ERROR)
                    all.verify("Iallgather beside a failing device");
                if (!statuses[1].MPI_ERROR)
                    expect_sum(sum, g, "Iallreduce beside a failing device");
                if (!statuses[2].MPI_ERROR)
                    expect_sum(in_place, g, "a persistent Allreduce beside a failing device");
            }
}

/* A rank cannot open memory while several calls are under way: they all go their usual way, and so
 * do later ones. */
void closed_memory()
{
    if (!gpu::Machine::get().is_simulated())
        return;
    for (int who = 0; who < 2; ++who) {
        const Group g(size);
        std::vector<One> operations;
        std::vector<MPI_Request> requests;
        while_failing(who, "exhaust=import_memory:1+", [&] {
            for (const Make make : every_operation) {
                operations.push_back(make(g, gpu::Kind::device, contiguous, 1000));
                operations.back()->fill(4);
                requests.emplace_back();
                operations.back()->begin(&requests.back());
            }
            for (size_t i = 0; i < requests.size(); ++i) {
                wait(requests[i]);
                operations[i]->verify("closed memory");
            }
        });
        MPI_Request request;
        const One one = make<Allgather>(g, gpu::Kind::device, contiguous, 1001);
        one->fill(1);
        one->begin(&request);
        wait(request);
        one->verify("after closed memory");
    }
}

constexpr Test tests[] = {
    {"each", each},
    {"other_memory", other_memory},
    {"large", large},
    {"freed_early", freed_early},
    {"under_way", under_way},
    {"never_blocking", never_blocking},
    {"persistent", persistent},
    {"threads", threads},
    {"closed_memory", closed_memory},
    {"failing_devices", failing_devices},
};

} // namespace

int main(int argc, char **argv) { return run_tests(argc, argv, tests); }
