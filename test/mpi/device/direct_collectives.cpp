/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Direct collectives: blocking collectives on device memory within a node go straight between the
 * buffers. In communicators of two to all ranks, of all kinds of memory and layouts, in place, with
 * nothing from some; with memory that comes and goes, beside nonblocking ones, and where memory
 * cannot be opened or devices fail. Where devices do not reach each other the same results come
 * another way.
 *
 * An argument selects the tests whose name contains it.
 */
#include "direct_test.hpp"

#include <cmath>
#include <functional>
#include <numeric>

using namespace device_test;

namespace {

/* What a rank's buffers lie in: all of one kind, or each rank's of another. */
struct Kinds {
    const char *name;
    gpu::Kind of[3]; /* of rank r: of[r % 3] */
    gpu::Kind at(int rank) const { return of[rank % 3]; }
};
constexpr Kinds devices{"devices", {gpu::Kind::device, gpu::Kind::device, gpu::Kind::device}};
constexpr Kinds mixed{"mixed", {gpu::Kind::device, gpu::Kind::pageable, gpu::Kind::managed}};
constexpr Kinds managed{"managed", {gpu::Kind::managed, gpu::Kind::managed, gpu::Kind::managed}};
constexpr const Kinds *every_mixture[] = {&devices, &mixed, &managed};

/* ---- data ------------------------------------------------------------------------------------ */

/* What the calls of one kind of data are about. */
struct Data {
    const Group &g;
    const Kinds &kinds;
    const Layout &layout; /* of what is sent, and received */
    const Layout &other;  /* of what is received in some calls: as many elements */
    int n;
    gpu::Kind kind = kinds.at(g.rank);
    std::string what = std::to_string(n) + " of " + layout.name + " in " + kinds.name + ", " +
                       std::to_string(g.size) + " ranks";

    Buffer one() const { return Buffer(kind, layout); }
    Buffer all() const { return Buffer(kind, layout, g.size); }
    /* Parts of all ranks, one behind the other. */
    void expect_parts(Buffer &b, int seed) const
    {
        for (int r = 0; r < g.size; ++r)
            b.expect(seed + r, int64_t{n} * r, int64_t{n} * (r + 1));
    }
};

void broadcasts(const Data &d)
{
    for (int root = 0; root < d.g.size; ++root) {
        Buffer same = d.one(), another(d.kind, d.other);
        same.fill(d.g.rank == root ? 1 : 2);
        MPI_Bcast(same.at(), 1, same.type(), root, d.g.comm);
        same.expect(1, 0, d.n);
        same.verify("Bcast, " + d.what);
        another.fill(d.g.rank == root ? 3 : 4);
        Buffer sent = d.one();
        sent.fill(3);
        if (d.g.rank == root)
            MPI_Bcast(sent.at(), 1, sent.type(), root, d.g.comm);
        else
            MPI_Bcast(another.at(), 1, another.type(), root, d.g.comm);
        another.expect(3, 0, d.n);
        another.verify("Bcast to another layout, " + d.what);
    }
}

void gathers(const Data &d)
{
    Buffer mine = d.one();
    mine.fill(10 + d.g.rank);
    for (int root = 0; root < d.g.size; ++root) {
        Buffer gathered = d.all(), in_place = d.all();
        MPI_Gather(mine.at(), 1, mine.type(), gathered.at(), 1, mine.type(), root, d.g.comm);
        if (d.g.rank == root)
            d.expect_parts(gathered, 10);
        gathered.verify("Gather, " + d.what);
        in_place.expect(10 + d.g.rank, int64_t{d.n} * d.g.rank, int64_t{d.n} * (d.g.rank + 1));
        in_place.store();
        MPI_Gather(d.g.rank == root ? MPI_IN_PLACE : mine.at(), 1, mine.type(), in_place.at(), 1,
                   mine.type(), root, d.g.comm);
        if (d.g.rank == root)
            d.expect_parts(in_place, 10);
        in_place.verify("Gather in place, " + d.what);
    }
    Buffer everywhere = d.all(), in_place = d.all(), another(d.kind, d.other, d.g.size);
    MPI_Allgather(mine.at(), 1, mine.type(), everywhere.at(), 1, mine.type(), d.g.comm);
    d.expect_parts(everywhere, 10);
    everywhere.verify("Allgather, " + d.what);
    in_place.expect(10 + d.g.rank, int64_t{d.n} * d.g.rank, int64_t{d.n} * (d.g.rank + 1));
    in_place.store();
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in_place.at(), 1, mine.type(), d.g.comm);
    d.expect_parts(in_place, 10);
    in_place.verify("Allgather in place, " + d.what);
    MPI_Allgather(mine.at(), 1, mine.type(), another.at(), 1, another.type(), d.g.comm);
    d.expect_parts(another, 10);
    another.verify("Allgather to another layout, " + d.what);
}

void scatters(const Data &d)
{
    for (int root = 0; root < d.g.size; ++root) {
        Buffer parts = d.all(), mine = d.one();
        mine.fill(5);
        d.expect_parts(parts, 20);
        parts.store();
        MPI_Scatter(parts.at(), 1, mine.type(), mine.at(), 1, mine.type(), root, d.g.comm);
        mine.expect(20 + d.g.rank, 0, d.n);
        mine.verify("Scatter, " + d.what);
        mine.fill(5);
        MPI_Scatter(parts.at(), 1, mine.type(), d.g.rank == root ? MPI_IN_PLACE : mine.at(), 1,
                    mine.type(), root, d.g.comm);
        if (d.g.rank != root)
            mine.expect(20 + d.g.rank, 0, d.n);
        mine.verify("Scatter in place, " + d.what);
        parts.verify("Scatter's source, " + d.what);
    }
}

/* Blocks come in the reverse order of ranks; rank 1 takes part with none. */
struct Places {
    explicit Places(const Data &d)
        : counts(static_cast<size_t>(d.g.size), 1),
          displs(counts.size()),
          bytes(counts.size()),
          types(counts.size(), d.layout.type)
    {
        MPI_Aint lb, extent;
        MPI_Type_get_extent(d.layout.type, &lb, &extent);
        for (size_t r = 0; r < counts.size(); ++r) {
            displs[r] = d.g.size - 1 - static_cast<int>(r);
            bytes[r] = static_cast<int>(extent) * displs[r];
        }
        counts[1] = 0;
        types[1] = MPI_BYTE;
    }
    std::vector<int> counts, displs, bytes;
    std::vector<MPI_Datatype> types;
};

void with_places(const Data &d)
{
    const Places p(d);
    const int own = p.counts[static_cast<size_t>(d.g.rank)];
    const int last = d.g.size - 1;
    const auto expect = [&](Buffer &b, int seed, int step) {
        for (int r = 0; r < d.g.size; ++r)
            if (r != 1)
                b.expect(seed + r * step, int64_t{d.n} * (last - r), int64_t{d.n} * (last - r + 1));
    };
    Buffer mine = d.one(), gathered = d.all(), everywhere = d.all(), scattered = d.one();
    mine.fill(30 + d.g.rank);
    MPI_Gatherv(mine.at(), own, mine.type(), gathered.at(), p.counts.data(), p.displs.data(),
                mine.type(), last, d.g.comm);
    if (d.g.rank == last)
        expect(gathered, 30, 1);
    gathered.verify("Gatherv, " + d.what);
    MPI_Allgatherv(mine.at(), own, mine.type(), everywhere.at(), p.counts.data(), p.displs.data(),
                   mine.type(), d.g.comm);
    expect(everywhere, 30, 1);
    everywhere.verify("Allgatherv, " + d.what);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, everywhere.at(), p.counts.data(),
                   p.displs.data(), mine.type(), d.g.comm);
    everywhere.verify("Allgatherv in place, " + d.what);
    MPI_Scatterv(everywhere.at(), p.counts.data(), p.displs.data(), mine.type(), scattered.at(),
                 own, mine.type(), 0, d.g.comm);
    if (own > 0)
        scattered.expect(30 + d.g.rank, 0, d.n);
    scattered.verify("Scatterv, " + d.what);
}

void exchanges(const Data &d)
{
    const Places p(d);
    std::vector<int> ones(p.counts.size(), 1), none(p.counts.size(), 0);
    std::vector<MPI_Datatype> types(p.counts.size(), d.layout.type);
    Buffer sends = d.all();
    const auto each = [&](Buffer &b, bool backwards, int mine, int theirs) {
        for (int r = 0; r < d.g.size; ++r) {
            const int64_t at = int64_t{d.n} * (backwards ? d.g.size - 1 - r : r);
            b.expect(mine * d.g.rank + theirs * r, at, at + d.n);
        }
    };
    each(sends, false, 100, 1);
    sends.store();
    Buffer receives = d.all(), in_place = d.all();
    MPI_Alltoall(sends.at(), 1, d.layout.type, receives.at(), 1, d.layout.type, d.g.comm);
    each(receives, false, 1, 100);
    receives.verify("Alltoall, " + d.what);
    each(in_place, false, 100, 1);
    in_place.store();
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in_place.at(), 1, d.layout.type, d.g.comm);
    each(in_place, false, 1, 100);
    in_place.verify("Alltoall in place, " + d.what);

    each(sends, true, 100, 1);
    sends.store();
    Buffer v = d.all(), w = d.all();
    MPI_Alltoallv(sends.at(), ones.data(), p.displs.data(), d.layout.type, v.at(), ones.data(),
                  p.displs.data(), d.layout.type, d.g.comm);
    each(v, true, 1, 100);
    v.verify("Alltoallv, " + d.what);
    MPI_Alltoallw(sends.at(), ones.data(), p.bytes.data(), types.data(), w.at(), ones.data(),
                  p.bytes.data(), types.data(), d.g.comm);
    each(w, true, 1, 100);
    w.verify("Alltoallw, " + d.what);
}

void data_of(const Group &g, const Kinds &kinds, MakeLayout make, int n)
{
    const Layout layout = make(n), other = strided(n);
    const Data d{g, kinds, layout, other, n};
    broadcasts(d);
    gathers(d);
    scatters(d);
    with_places(d);
    exchanges(d);
}

void data()
{
    for (const int members : {2, 3, size}) {
        const Group g(members);
        if (!g.is_in())
            continue;
        for (const MakeLayout make : every_layout)
            data_of(g, devices, make, 1500);
        data_of(g, devices, contiguous, 1);
        data_of(g, mixed, indexed, 1500);
        data_of(g, managed, strided, 100);
    }
}

/* ---- reductions ------------------------------------------------------------------------------ */

void reductions_of(const Group &g, gpu::Kind kind, int n)
{
    const std::string what = std::to_string(n) + " in " + gpu::to_text({kind, 0}) + ", " +
                             std::to_string(g.size) + " ranks";
    const Layout layout = contiguous(n);
    Buffer mine(kind, layout), sum(kind, layout), in_place(kind, layout);
    mine.fill(g.rank);
    MPI_Allreduce(mine.at(), sum.at(), n, MPI_DOUBLE, MPI_SUM, g.comm);
    expect_sum(sum, g, "Allreduce of " + what);
    in_place.fill(g.rank);
    MPI_Allreduce(MPI_IN_PLACE, in_place.at(), n, MPI_DOUBLE, MPI_SUM, g.comm);
    expect_sum(in_place, g, "Allreduce in place of " + what);
    for (int root = 0; root < g.size; ++root) {
        const bool is_root = g.rank == root;
        sum.fill(77);
        MPI_Reduce(mine.at(), sum.at(), n, MPI_DOUBLE, MPI_SUM, root, g.comm);
        if (is_root)
            expect_sum(sum, g, "Reduce of " + what);
        sum.verify("Reduce's buffer elsewhere, of " + what);
        in_place.fill(g.rank);
        MPI_Reduce(is_root ? MPI_IN_PLACE : in_place.at(), is_root ? in_place.at() : nullptr, n,
                   MPI_DOUBLE, MPI_SUM, root, g.comm);
        if (is_root)
            expect_sum(in_place, g, "Reduce in place of " + what);
        in_place.verify("Reduce's source of " + what);
    }
}

void scattered_reductions_of(const Group &g, gpu::Kind kind, int n)
{
    const std::string what = std::to_string(n) + ", " + std::to_string(g.size) + " ranks";
    std::vector<int> counts(static_cast<size_t>(g.size));
    std::iota(counts.begin(), counts.end(), n);
    counts[1] = 0;
    const int all = std::accumulate(counts.begin(), counts.end(), 0);
    const int before = std::accumulate(counts.begin(), counts.begin() + g.rank, 0);
    const int own = counts[static_cast<size_t>(g.rank)];
    const Layout whole = contiguous(all), part = contiguous(std::max(own, 1)),
                 equal = contiguous(n), many = contiguous(n * g.size);
    Buffer from(kind, whole), to(kind, part), in_place(kind, whole), blocks(kind, many),
        block(kind, equal);
    from.fill(g.rank);
    MPI_Reduce_scatter(from.at(), to.at(), counts.data(), MPI_DOUBLE, MPI_SUM, g.comm);
    if (own > 0)
        expect_sum(to, g, "Reduce_scatter of " + what, before);
    to.verify("Reduce_scatter's result of nothing");
    in_place.fill(g.rank);
    MPI_Reduce_scatter(MPI_IN_PLACE, in_place.at(), counts.data(), MPI_DOUBLE, MPI_SUM, g.comm);
    Buffer begin(kind, part);
    MPI_Sendrecv(in_place.at(), own, MPI_DOUBLE, 0, 0, begin.at(), own, MPI_DOUBLE, 0, 0,
                 MPI_COMM_SELF, MPI_STATUS_IGNORE);
    if (own > 0)
        expect_sum(begin, g, "Reduce_scatter in place of " + what, before);
    blocks.fill(g.rank);
    MPI_Reduce_scatter_block(blocks.at(), block.at(), n, MPI_DOUBLE, MPI_SUM, g.comm);
    expect_sum(block, g, "Reduce_scatter_block of " + what, int64_t{n} * g.rank);
}

void reductions()
{
    for (const int members : {2, 3, size}) {
        const Group g(members);
        if (!g.is_in())
            continue;
        for (const Kinds *kinds : every_mixture)
            for (const int n : {1, 3000, 100000}) {
                if (n > 3000 && kinds != &devices)
                    continue;
                reductions_of(g, kinds->at(g.rank), n);
                scattered_reductions_of(g, kinds->at(g.rank), n);
            }
    }
}

/* Every operator that devices have, on several types; and the same bits everywhere. */
template <class T> void operators_on(const Group &g, size_t bytes, MPI_Datatype type,
                                     std::initializer_list<MPI_Op> ops)
{
    const size_t n = bytes / sizeof(T);
    std::vector<T> host(n), expected(n), found(n);
    gpu::Memory from({gpu::Kind::device, own_device().device}, n * sizeof(T)),
        to({gpu::Kind::device, own_device().device}, n * sizeof(T));
    for (const MPI_Op op : ops) {
        for (int r = g.size - 1; r >= 0; --r) {
            for (size_t i = 0; i < n; ++i)
                host[i] = static_cast<T>((i * 7919 + static_cast<size_t>(r) * 104729) % 251) /
                          static_cast<T>(3);
            if (r == g.size - 1)
                expected = host;
            else
                MPI_Reduce_local(host.data(), expected.data(), static_cast<int>(n), type, op);
        }
        for (size_t i = 0; i < n; ++i)
            host[i] = static_cast<T>((i * 7919 + static_cast<size_t>(g.rank) * 104729) % 251) /
                      static_cast<T>(3);
        from.write(0, host.data(), n * sizeof(T));
        expects_way(true, 1, "an operator", [&] {
            MPI_Allreduce(from.at(), to.at(), static_cast<int>(n), type, op, g.comm);
        });
        to.read(0, found.data(), n * sizeof(T));
        for (size_t i = 0; i < n; ++i)
            if (std::abs(static_cast<double>(found[i]) - static_cast<double>(expected[i])) >
                1e-5 * (1 + std::abs(static_cast<double>(expected[i]))))
                return fail("an operator's element " + std::to_string(i) + " is wrong");
        std::vector<T> of_first = found;
        MPI_Bcast(of_first.data(), static_cast<int>(n * sizeof(T)), MPI_BYTE, 0, g.comm);
        check(std::memcmp(of_first.data(), found.data(), n * sizeof(T)) == 0,
              "ranks have different results");
    }
}

void operators()
{
    const Group g(size);
    for (const size_t bytes : {160000, 900008}) { /* by all, and in slices */
        operators_on<double>(g, bytes, MPI_DOUBLE, {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN});
        operators_on<float>(g, bytes, MPI_FLOAT, {MPI_SUM, MPI_MAX});
        operators_on<int>(g, bytes, MPI_INT, {MPI_SUM, MPI_BAND, MPI_BXOR, MPI_LOR});
        operators_on<unsigned char>(g, bytes, MPI_UNSIGNED_CHAR, {MPI_SUM, MPI_MIN});
    }
}

/* Pairs, which no kernel combines: slices are combined one after the other. */
void least_with_places()
{
    struct Pair {
        int value, place;
    };
    const Group g(size);
    const auto at = [](int r, size_t i) {
        return static_cast<int>((i * 7919 + static_cast<size_t>(r) * 104729) % 251);
    };
    for (const size_t n : {1000, 100000}) {
        const gpu::Place here{gpu::Kind::device, own_device().device};
        gpu::Memory from(here, n * sizeof(Pair)), to(here, n * sizeof(Pair)),
            at_root(here, n * sizeof(Pair));
        std::vector<Pair> own(n), found(n);
        for (size_t i = 0; i < n; ++i)
            own[i] = {at(g.rank, i), g.rank};
        from.write(0, own.data(), n * sizeof(Pair));
        expects_way(true, 2, "pairs", [&] {
            MPI_Allreduce(from.at(), to.at(), static_cast<int>(n), MPI_2INT, MPI_MINLOC, g.comm);
            MPI_Reduce(from.at(), at_root.at(), static_cast<int>(n), MPI_2INT, MPI_MINLOC, 1,
                       g.comm);
        });
        const auto is_right = [&](const gpu::Memory &memory) {
            memory.read(0, found.data(), n * sizeof(Pair));
            for (size_t i = 0; i < n; ++i) {
                Pair least{at(0, i), 0};
                for (int r = 1; r < g.size; ++r)
                    if (at(r, i) < least.value)
                        least = {at(r, i), r};
                if (found[i].value != least.value || found[i].place != least.place)
                    return false;
            }
            return true;
        };
        check(is_right(to), "the least of all, with its place");
        check(g.rank != 1 || is_right(at_root), "the same at a root");
    }
}

/* What others cannot open is combined by its owner. */
void closed_results()
{
    for (const int members : {3, size}) {
        const Group g(members);
        if (!g.is_in())
            continue;
        const int n = 100000;
        const Layout layout = contiguous(n);
        Buffer mine(gpu::Kind::device, layout), sum(gpu::Kind::managed, layout);
        mine.fill(g.rank);
        for (int root = 0; root < g.size; ++root) {
            sum.fill(77);
            expects_way(true, 1, "MPI_Reduce to managed memory", [&] {
                MPI_Reduce(mine.at(), sum.at(), n, MPI_DOUBLE, MPI_SUM, root, g.comm);
            });
            if (g.rank == root)
                expect_sum(sum, g, "Reduce to managed memory");
            sum.verify("Reduce's managed buffer");
        }
    }
}

/* What no device combines goes its usual way. */
void other_operators()
{
    const Group g(size);
    const int n = 1000;
    const Layout layout = contiguous(n);
    Buffer mine(gpu::Kind::device, layout), sum(gpu::Kind::device, layout);
    MPI_Op own;
    MPI_Op_create(
        [](void *in, void *inout, int *count, MPI_Datatype *) {
            for (int i = 0; i < *count; ++i)
                static_cast<double *>(inout)[i] += static_cast<double *>(in)[i];
        },
        1, &own);
    mine.fill(g.rank);
    expects_way(false, 0, "an own operator",
                [&] { MPI_Allreduce(mine.at(), sum.at(), n, MPI_DOUBLE, own, g.comm); });
    expect_sum(sum, g, "Allreduce by an own operator");
    MPI_Op_free(&own);
}

/* ---- ways ------------------------------------------------------------------------------------ */

void counts_calls()
{
    const Group g(size);
    const int n = 3000;
    for (const MakeLayout make : every_layout) {
        const Layout layout = make(n);
        Buffer one(gpu::Kind::device, layout), all(gpu::Kind::device, layout, size);
        expects_way(true, 4, layout.name, [&] {
            MPI_Bcast(one.at(), 1, layout.type, 0, g.comm);
            MPI_Allgather(one.at(), 1, layout.type, all.at(), 1, layout.type, g.comm);
            MPI_Gather(one.at(), 1, layout.type, all.at(), 1, layout.type, 0, g.comm);
            MPI_Scatter(all.at(), 1, layout.type, one.at(), 1, layout.type, 0, g.comm);
        });
    }
    const Layout layout = contiguous(n);
    Buffer one(gpu::Kind::device, layout), sum(gpu::Kind::device, layout),
        all(gpu::Kind::device, layout, size);
    Buffer host(gpu::Kind::pageable, layout);
    expects_way(true, 1, "MPI_Alltoall in place", [&] {
        MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.at(), 1, layout.type, g.comm);
    });
    expects_way(true, 2, "reductions", [&] {
        MPI_Allreduce(one.at(), sum.at(), n, MPI_DOUBLE, MPI_SUM, g.comm);
        MPI_Reduce(one.at(), sum.at(), n, MPI_DOUBLE, MPI_SUM, 0, g.comm);
    });
    Buffer moving(gpu::Kind::managed, layout);
    expects_way(true, 1, "managed memory",
                [&] { MPI_Bcast(moving.at(), n, MPI_DOUBLE, 0, g.comm); });
    expects_way(false, 0, "host memory", [&] { MPI_Bcast(host.at(), n, MPI_DOUBLE, 0, g.comm); });
    expects_way(false, 0, "nothing", [&] {
        MPI_Bcast(one.at(), 0, MPI_DOUBLE, 0, g.comm);
        MPI_Allreduce(one.at(), sum.at(), 0, MPI_DOUBLE, MPI_SUM, g.comm);
    });
}

/* How many calls of `body` this rank packed its data for. */
template <class Body> void expects_packed(int calls, const std::string &what, Body body)
{
    const int64_t before = counted("collectives_packed");
    body();
    const int64_t packed = counted("collectives_packed") - before;
    check(packed == (expects_direct() ? calls : 0),
          what + ": " + std::to_string(packed) + " calls packed first");
}

/* Gaps are seen between instances, too, and there are none where these fill each other's. */
void packed_instances(const Group &g, int n)
{
    const int side = static_cast<int>(std::sqrt(n));
    const Layout gaps = strided(n), dense = contiguous(side * side);
    MPI_Datatype field, column, columns;
    MPI_Type_create_resized(MPI_DOUBLE, 0, 3 * sizeof(double), &field);
    MPI_Type_vector(side, 1, side, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, sizeof(double), &columns);
    MPI_Type_commit(&field);
    MPI_Type_commit(&columns);
    const auto sends = [&](const Layout &layout, MPI_Datatype type, int count, int packed) {
        Buffer same(gpu::Kind::device, layout);
        same.fill(g.rank);
        expects_packed(g.rank == 0 ? packed : 0, std::string("instances, ") + layout.name,
                       [&] { MPI_Bcast(same.at(), count, type, 0, g.comm); });
        same.expect(0, 0, layout.elements());
        same.verify("Bcast of instances");
    };
    sends(gaps, field, n, 1);
    sends(dense, columns, side, 0);
    MPI_Type_free(&field);
    MPI_Type_free(&column);
    MPI_Type_free(&columns);
}

/* Rank 1 exchanges nothing. */
void nothing_in_place(const Group &g, int n)
{
    const Layout layout = contiguous(n);
    Buffer all(gpu::Kind::device, layout, g.size);
    std::vector<int> counts(static_cast<size_t>(g.size), g.rank == 1 ? 0 : 1),
        places(counts.size());
    std::iota(places.begin(), places.end(), 0);
    counts[1] = 0;
    const auto expect = [&](int mine, int theirs) {
        for (int r = 0; r < g.size; ++r)
            if (g.rank != 1 && r != 1)
                all.expect(mine * g.rank + theirs * r, int64_t{n} * r, int64_t{n} * (r + 1));
    };
    all.fill(7);
    expect(100, 1);
    all.store();
    expects_way(true, 1, "MPI_Alltoallv in place, nothing from one", [&] {
        MPI_Alltoallv(MPI_IN_PLACE, nullptr, nullptr, MPI_DATATYPE_NULL, all.at(), counts.data(),
                      places.data(), layout.type, g.comm);
    });
    expect(1, 100);
    all.verify("MPI_Alltoallv in place, nothing from one");
}

/* Types of many blocks, and long data with gaps, are packed before others read them. */
void packed_first()
{
    for (const int members : {2, 3, size}) {
        const Group g(members);
        if (!g.is_in())
            continue;
        const Data many{g, devices, indexed(3000), strided(3000), 3000};
        expects_packed(g.rank == 0 ? 1 : 0, "MPI_Bcast of many blocks", [&] {
            Buffer sent = many.one();
            MPI_Bcast(sent.at(), 1, sent.type(), 0, g.comm);
        });
        broadcasts(many);
        expects_packed(1, "MPI_Allgather of many blocks", [&] {
            Buffer mine = many.one(), everywhere = many.all();
            MPI_Allgather(mine.at(), 1, mine.type(), everywhere.at(), 1, mine.type(), g.comm);
        });
        gathers(many);
        scatters(many);
        exchanges(many);
        const int n = 800000 / (members - 1);
        const Data gaps{g, devices, strided(n), contiguous(n), n},
            few{g, devices, strided(n / 100), contiguous(n / 100), n / 100};
        for (const Data *d : {&gaps, &few})
            expects_packed(g.rank == 0 && d == &gaps ? 1 : 0, "MPI_Bcast of " + d->what, [&] {
                Buffer same = d->one();
                same.fill(g.rank);
                MPI_Bcast(same.at(), 1, same.type(), 0, g.comm);
                same.expect(0, 0, d->n);
                same.verify("Bcast, " + d->what);
            });
        packed_instances(g, n);
        nothing_in_place(g, 1000);
    }
}

/* Buffers are freed between calls, and others come to lie at their addresses. */
void comes_and_goes()
{
    const Group g(size);
    for (int round = 0; round < 40; ++round) {
        const Layout layout = contiguous(1000 << round % 5);
        Buffer one(gpu::Kind::device, layout), all(gpu::Kind::device, layout, size);
        one.fill(round + g.rank);
        MPI_Allgather(one.at(), 1, layout.type, all.at(), 1, layout.type, g.comm);
        for (int r = 0; r < size; ++r)
            all.expect(round + r, layout.elements() * r, layout.elements() * (r + 1));
        all.verify("memory that comes and goes");
    }
}

/* Communicators that are made of others, and freed. */
void communicators()
{
    const int n = 500;
    const Layout layout = contiguous(n);
    Buffer mine(gpu::Kind::device, layout), sum(gpu::Kind::device, layout);
    for (int round = 0; round < 5; ++round) {
        MPI_Comm same, half;
        MPI_Comm_dup(MPI_COMM_WORLD, &same);
        MPI_Comm_split(same, rank % 2, -rank, &half);
        for (int i = 0; i < 5; ++i) {
            mine.fill(1);
            MPI_Allreduce(mine.at(), sum.at(), n, MPI_DOUBLE, MPI_SUM, half);
            int members;
            MPI_Comm_size(half, &members);
            for (int64_t k = 0; k < n; ++k)
                sum.put(k, members * Buffer::value(1, k));
            sum.verify("Allreduce in a half");
            MPI_Bcast(mine.at(), n, MPI_DOUBLE, 0, same);
        }
        MPI_Comm_free(&half);
        MPI_Comm_free(&same);
    }
}

/* A rank waits for a nonblocking collective before it comes to a blocking one, which the others are
 * in already. */
void beside_nonblocking()
{
    const Group g(size);
    const int n = 2000;
    const Layout layout = contiguous(n);
    Buffer first(gpu::Kind::device, layout), mine(gpu::Kind::device, layout),
        sum(gpu::Kind::device, layout);
    first.fill(g.rank == 0 ? 8 : 9);
    mine.fill(g.rank);
    MPI_Request request;
    MPI_Ibcast(first.at(), n, MPI_DOUBLE, 0, g.comm, &request);
    if (g.rank == size - 1)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Allreduce(mine.at(), sum.at(), n, MPI_DOUBLE, MPI_SUM, g.comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect_sum(sum, g, "Allreduce beside Ibcast");
    first.expect(8, 0, n);
    first.verify("Ibcast beside Allreduce");
}

/* ---- failures -------------------------------------------------------------------------------- */

void check_failing(int who, const char *how, int error, Buffer &all, const std::string &what)
{
    check(rank != who || error, what + ": no error where the device fails: " + how);
    if (!error)
        all.verify(what + " beside a failing device");
}

/* What is packed before others read it. */
void packed_beside_failing(const Group &g, int who, const char *how, const Layout &packed,
                           Buffer &all)
{
    const int n = static_cast<int>(packed.elements());
    Buffer blocks(gpu::Kind::device, packed);
    blocks.fill(g.rank);
    int error = 0;
    while_failing(who, how, [&] {
        error = MPI_Allgather(blocks.at(), 1, packed.type, all.at(), n, MPI_DOUBLE, g.comm);
    });
    for (int r = 0; r < size; ++r)
        all.expect(r, int64_t{n} * r, int64_t{n} * (r + 1));
    check_failing(who, how, error, all, std::string("Allgather of ") + packed.name);
}

void in_place_beside_failing(const Group &g, int who, const char *how, int n, Buffer &all)
{
    int error = 0;
    for (int r = 0; r < size; ++r)
        all.expect(100 * g.rank + r, int64_t{n} * r, int64_t{n} * (r + 1));
    all.store();
    while_failing(who, how, [&] {
        error = MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.at(), n, MPI_DOUBLE, g.comm);
    });
    for (int r = 0; r < size; ++r)
        all.expect(100 * r + g.rank, int64_t{n} * r, int64_t{n} * (r + 1));
    check_failing(who, how, error, all, "Alltoall in place");
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
                Buffer one(gpu::Kind::device, layout), sum(gpu::Kind::device, layout),
                    at_root(gpu::Kind::device, layout), all(gpu::Kind::device, layout, size);
                one.fill(g.rank);
                MPI_Comm_set_errhandler(g.comm, MPI_ERRORS_RETURN);
                int errors[4] = {};
                for (const Layout &packed : {indexed(n), strided(n)})
                    packed_beside_failing(g, who, how, packed, all);
                in_place_beside_failing(g, who, how, n, all);
                while_failing(who, how, [&] {
                    errors[0] =
                        MPI_Allgather(one.at(), 1, layout.type, all.at(), 1, layout.type, g.comm);
                    errors[1] = MPI_Allreduce(one.at(), sum.at(), n, MPI_DOUBLE, MPI_SUM, g.comm);
                    errors[3] =
                        MPI_Reduce(one.at(), at_root.at(), n, MPI_DOUBLE, MPI_SUM, 1, g.comm);
                    errors[2] =
                        MPI_Allreduce(MPI_IN_PLACE, one.at(), n, MPI_DOUBLE, MPI_SUM, g.comm);
                });
                check(rank != who || (errors[0] && errors[1] && errors[2] &&
                                      (errors[3] || (n == 100 && rank != 1))),
                      std::string("no error where the device fails: ") + how);
                for (int r = 0; r < size; ++r)
                    all.expect(r, int64_t{n} * r, int64_t{n} * (r + 1));
                if (!errors[0])
                    all.verify("Allgather beside a failing device");
                if (!errors[1])
                    expect_sum(sum, g, "Allreduce beside a failing device");
                if (!errors[2])
                    expect_sum(one, g, "Allreduce in place beside a failing device");
                if (!errors[3] && g.rank == 1)
                    expect_sum(at_root, g, "Reduce beside a failing device");
            }
}

/* A rank that cannot open memory: the calls go their usual way, and so do later ones. */
void closed_memory()
{
    if (!gpu::Machine::get().is_simulated())
        return;
    for (int round = 0; round < 6; ++round) {
        const Group g(size);
        const int n = 100000;
        const Layout layout = contiguous(n);
        Buffer one(gpu::Kind::device, layout), sum(gpu::Kind::device, layout),
            all(gpu::Kind::device, layout, size);
        one.fill(g.rank);
        for (int r = 0; round == 3 && r < size; ++r)
            all.expect(100 * g.rank + r, int64_t{n} * r, int64_t{n} * (r + 1));
        if (round == 3)
            all.store();
        while_failing(round % size, "exhaust=import_memory:1+", [&] {
            if (round == 0)
                MPI_Allgather(one.at(), 1, layout.type, all.at(), 1, layout.type, g.comm);
            else if (round == 1)
                MPI_Allreduce(one.at(), sum.at(), n, MPI_DOUBLE, MPI_SUM, g.comm);
            else if (round == 3)
                MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.at(), 1, layout.type, g.comm);
            else if (round >= 4)
                MPI_Reduce(one.at(), sum.at(), n, MPI_DOUBLE, MPI_SUM, 1, g.comm);
            else
                MPI_Allreduce(MPI_IN_PLACE, one.at(), n, MPI_DOUBLE, MPI_SUM, g.comm);
        });
        if (round == 1)
            expect_sum(sum, g, "Allreduce of closed memory");
        if (round >= 4 && g.rank == 1)
            expect_sum(sum, g, "Reduce of closed memory");
        for (int r = 0; round == 3 && r < size; ++r)
            all.expect(100 * r + g.rank, int64_t{n} * r, int64_t{n} * (r + 1));
        if (round == 3)
            all.verify("Alltoall in place of closed memory");
        if (round == 2) {
            expect_sum(one, g, "Allreduce in place of closed memory");
            continue;
        }
        MPI_Allgather(one.at(), 1, layout.type, all.at(), 1, layout.type, g.comm);
        for (int r = 0; r < size; ++r)
            all.expect(r, int64_t{n} * r, int64_t{n} * (r + 1));
        all.verify("Allgather of closed memory");
    }
}

constexpr Test tests[] = {
    {"data", data},
    {"reductions", reductions},
    {"operators", operators},
    {"other_operators", other_operators},
    {"counts_calls", counts_calls},
    {"packed_first", packed_first},
    {"comes_and_goes", comes_and_goes},
    {"communicators", communicators},
    {"beside_nonblocking", beside_nonblocking},
    {"closed_memory", closed_memory},
    {"least_with_places", least_with_places},
    {"closed_results", closed_results},
    {"failing_devices", failing_devices},
};

} // namespace

int main(int argc, char **argv) { return run_tests(argc, argv, tests); }
