/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives that move data, in all forms, by all algorithms, with layouts that differ between the
 * two sides, and in place. A persistent one reads its buffers at each start (MPI 4.0, 6.13).
 *
 * memory: host device managed mixed
 */
#include "collective_test.hpp"

#include <set>

using namespace collective_test;

namespace {

/* Blocks of pairs, one for each rank. */
struct Blocks {
    std::vector<int> counts, at;
    int total = 0;
};

/* One behind the other, or in reverse order with a pair between them. */
template <class Count> Blocks blocks(bool reversed, Count count)
{
    Blocks b;
    b.counts.resize(static_cast<size_t>(size));
    b.at.resize(static_cast<size_t>(size));
    for (int k = 0; k < size; k++) {
        const int i = reversed ? size - 1 - k : k;
        b.counts[i] = count(i);
        b.at[i] = b.total;
        b.total += b.counts[i] + reversed;
    }
    return b;
}

std::vector<int> instances(const Layout &layout, const std::vector<int> &pairs)
{
    std::vector<int> result;
    for (const int n : pairs)
        result.push_back(layout.instances(n));
    return result;
}

std::vector<int> bytes(const Layout &layout, const std::vector<int> &pairs)
{
    std::vector<int> result = instances(layout, pairs);
    for (int &n : result)
        n *= static_cast<int>(layout.extent);
    return result;
}

/* What one call moves: `send` has what `recv` gets. In place, the first is not used. */
struct Case {
    const Layout &from, &to;
    int pairs, root;
    bool in_place;
    std::string text() const
    {
        return from.name + " to " + to.name + ", " + std::to_string(pairs) +
               (in_place ? ", in place" : "") + ", root " + std::to_string(root) + " of " +
               std::to_string(size);
    }
};

void put(Row &row, int at, int pairs, int from, int to, int n)
{
    for (int i = 0; i < 2 * pairs; i++)
        row[2 * at + i] = value(from, to, i, n);
}

void bcast(const Case &c)
{
    const Layout &mine = rank % 2 == 0 ? c.from : c.to;
    Row row(mine, c.pairs);
    make_calls(
        "Bcast", false, c.text(),
        COLLECTIVE(Bcast, MPI_COMM_WORLD, row.at(), mine.instances(c.pairs), mine.type, c.root),
        {&row},
        [&](int n) { row.clear(-1), put(row, 0, rank == c.root ? c.pairs : 0, c.root, 0, n); },
        [&](int n) { put(row, 0, c.pairs, c.root, 0, n); });
}

/* Gather and Allgather, with the same count for all and without. */
void gather(const Case &c, bool all, bool v)
{
    const Blocks b = blocks(v, [&](int i) { return v ? c.pairs * ((i + 1) % 3) : c.pairs; });
    Row send(c.from, b.counts[rank]), recv(c.to, b.total);
    const bool gets = all || rank == c.root, in_place = c.in_place && gets;
    const void *const out = in_place ? MPI_IN_PLACE : send.at();
    const std::vector<int> counts = instances(c.to, b.counts), at = instances(c.to, b.at);
    const int n_out = c.from.instances(b.counts[rank]), n_in = c.to.instances(c.pairs);
    const auto before = [&](int n) {
        send.clear(-1), recv.clear(-2);
        put(send, 0, b.counts[rank], rank, 0, n);
        if (in_place)
            put(recv, b.at[rank], b.counts[rank], rank, 0, n);
    };
    const auto after = [&](int n) {
        for (int i = 0; gets && i < size; i++)
            put(recv, b.at[i], b.counts[i], i, 0, n);
    };
    const auto check = [&](const char *call, auto make) {
        make_calls(call, false, c.text(), make, {&send, &recv}, before, after);
    };
    if (all && v)
        check("Allgatherv", COLLECTIVE(Allgatherv, MPI_COMM_WORLD, out, n_out, c.from.type,
                                       recv.at(), counts.data(), at.data(), c.to.type));
    else if (all)
        check("Allgather", COLLECTIVE(Allgather, MPI_COMM_WORLD, out, n_out, c.from.type, recv.at(),
                                      n_in, c.to.type));
    else if (v)
        check("Gatherv", COLLECTIVE(Gatherv, MPI_COMM_WORLD, out, n_out, c.from.type, recv.at(),
                                    counts.data(), at.data(), c.to.type, c.root));
    else
        check("Gather", COLLECTIVE(Gather, MPI_COMM_WORLD, out, n_out, c.from.type, recv.at(), n_in,
                                   c.to.type, c.root));
}

void scatter(const Case &c, bool v)
{
    const Blocks b = blocks(v, [&](int i) { return v ? c.pairs * ((i + 1) % 3) : c.pairs; });
    Row send(c.from, b.total), recv(c.to, b.counts[rank]);
    const bool in_place = c.in_place && rank == c.root;
    void *const in = in_place ? MPI_IN_PLACE : recv.at();
    const std::vector<int> counts = instances(c.from, b.counts), at = instances(c.from, b.at);
    const int n_in = c.to.instances(b.counts[rank]), n_out = c.from.instances(c.pairs);
    const auto before = [&](int n) {
        send.clear(-1), recv.clear(-2);
        for (int i = 0; i < size; i++)
            put(send, b.at[i], b.counts[i], rank, i, n);
    };
    const auto after = [&](int n) { put(recv, 0, in_place ? 0 : b.counts[rank], c.root, rank, n); };
    const auto check = [&](const char *call, auto make) {
        make_calls(call, false, c.text(), make, {&send, &recv}, before, after);
    };
    if (v)
        check("Scatterv", COLLECTIVE(Scatterv, MPI_COMM_WORLD, send.at(), counts.data(), at.data(),
                                     c.from.type, in, n_in, c.to.type, c.root));
    else
        check("Scatter", COLLECTIVE(Scatter, MPI_COMM_WORLD, send.at(), n_out, c.from.type, in,
                                    n_in, c.to.type, c.root));
}

enum class Exchange { equal, by_counts, by_types };

/* In place the counts have to be the same in both directions.
 * With a type for each rank they take turns. */
void alltoall(const Case &c, Exchange kind)
{
    const bool v = kind != Exchange::equal;
    const auto count = [&](int from, int to) {
        return !v ? c.pairs : c.pairs * ((c.in_place ? from + to : 2 * from + to) % 3);
    };
    const Blocks out = blocks(v, [&](int i) { return count(rank, i); }),
                 in = blocks(v, [&](int i) { return count(i, rank); });
    Row send(c.from, out.total), recv(c.to, in.total);
    const void *const from = c.in_place ? MPI_IN_PLACE : send.at();
    const std::vector<int> out_counts = instances(c.from, out.counts),
                           in_counts = instances(c.to, in.counts);
    const auto before = [&](int n) {
        send.clear(-1), recv.clear(-2);
        for (int i = 0; i < size; i++) {
            put(send, out.at[i], out.counts[i], rank, i, n);
            if (c.in_place)
                put(recv, in.at[i], in.counts[i], rank, i, n);
        }
    };
    const auto after = [&](int n) {
        for (int i = 0; i < size; i++)
            put(recv, in.at[i], in.counts[i], i, rank, n);
    };
    const auto check = [&](const char *call, auto make) {
        make_calls(call, false, c.text(), make, {&send, &recv}, before, after);
    };
    if (kind == Exchange::equal) {
        check("Alltoall", COLLECTIVE(Alltoall, MPI_COMM_WORLD, from, c.from.instances(c.pairs),
                                     c.from.type, recv.at(), c.to.instances(c.pairs), c.to.type));
    } else if (kind == Exchange::by_counts) {
        const std::vector<int> out_at = instances(c.from, out.at), in_at = instances(c.to, in.at);
        check("Alltoallv",
              COLLECTIVE(Alltoallv, MPI_COMM_WORLD, from, out_counts.data(), out_at.data(),
                         c.from.type, recv.at(), in_counts.data(), in_at.data(), c.to.type));
    } else {
        const std::vector<int> out_at = bytes(c.from, out.at), in_at = bytes(c.to, in.at);
        const std::vector<MPI_Datatype> out_types(static_cast<size_t>(size), c.from.type),
            in_types(static_cast<size_t>(size), c.to.type);
        check("Alltoallw", COLLECTIVE(Alltoallw, MPI_COMM_WORLD, from, out_counts.data(),
                                      out_at.data(), out_types.data(), recv.at(), in_counts.data(),
                                      in_at.data(), in_types.data()));
    }
}

void check_all(const Case &c, bool first_root)
{
    for (const bool v : {false, true}) {
        gather(c, false, v);
        scatter(c, v);
        if (first_root)
            gather(c, true, v);
    }
    if (!c.in_place)
        bcast(c);
    if (first_root)
        for (const Exchange kind : {Exchange::equal, Exchange::by_counts, Exchange::by_types})
            alltoall(c, kind);
}

} // namespace

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        const int long_ones = 130; /* pairs; more than gathers copy into one message (2 KiB) in the
                                      middle of their tree */
        const Layouts layouts(2 * long_ones * size + size);
        const std::vector<Layout> &all = layouts.all();
        const std::set<int> roots{0, size / 2, size - 1};
        for (size_t i = 0; i < all.size(); i++)
            for (const int root : roots)
                for (const bool in_place : {false, true}) {
                    const Layout
                        &from = all[i],
                        &to = all[(i + static_cast<size_t>(root) + in_place + 1) % all.size()];
                    check_all({from, to, 1, root, in_place}, root == 0);
                    if (root == size / 2)
                        check_all({from, to, long_ones, root, in_place}, root == 0);
                }
    });
}
