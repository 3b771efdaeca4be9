/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives between two groups, in all forms, by all algorithms, by each root of both groups,
 * with types with gaps.
 *
 * processes: 2 3 5   memory: host device managed mixed
 */
#include "collective_test.hpp"

using namespace collective_test;

namespace {

struct Groups {
    MPI_Comm comm;
    int first, here, there; /* the first rank of the other group in MPI_COMM_WORLD; sizes of both */
    bool low;
};

/* The root, as this group says it; and its rank in MPI_COMM_WORLD. */
struct Root {
    int said, rank;
    bool receives; /* this group is not the root's */
};

Root root_of(const Groups &g, bool in_low, int r)
{
    const bool mine = g.low == in_low;
    const int first = mine ? (g.low ? 0 : g.there) : g.first;
    return {mine ? (rank == first + r ? MPI_ROOT : MPI_PROC_NULL) : r, first + r, !mine};
}

void put(Row &row, int pair, int pairs, int from, int to, int n)
{
    for (int i = 0; i < 2 * pairs; i++)
        row[2 * pair + i] = value(from, to, i, n);
}

void rooted(const Groups &g, const Layout &from, const Layout &to, int pairs, const Root &root)
{
    const bool is_root = root.said == MPI_ROOT;
    const std::string detail = from.name + " to " + to.name + ", " + std::to_string(pairs) +
                               ", root " + std::to_string(root.rank) + " of " +
                               std::to_string(size);
    Row one(rank % 2 == 0 ? from : to, pairs);
    make_calls(
        "Bcast", true, detail,
        COLLECTIVE(Bcast, g.comm, one.at(), one.layout().instances(pairs), one.layout().type,
                   root.said),
        {&one}, [&](int n) { one.clear(-1), put(one, 0, is_root ? pairs : 0, rank, 0, n); },
        [&](int n) { put(one, 0, root.receives ? pairs : 0, root.rank, 0, n); });
    Row mine(from, pairs), all(to, g.there * pairs);
    const auto fill = [&](int n) {
        mine.clear(-1), all.clear(-2), put(mine, 0, pairs, rank, 0, n);
    };
    const auto gathered = [&](int n) {
        for (int i = 0; is_root && i < g.there; i++)
            put(all, i * pairs, pairs, g.first + i, 0, n);
    };
    std::vector<int> counts(static_cast<size_t>(g.there), to.instances(pairs)), at;
    for (int i = 0; i < g.there; i++)
        at.push_back(to.instances(i * pairs));
    make_calls("Gather", true, detail,
               COLLECTIVE(Gather, g.comm, mine.at(), from.instances(pairs), from.type, all.at(),
                          to.instances(pairs), to.type, root.said),
               {&mine, &all}, fill, gathered);
    make_calls("Gatherv", true, detail,
               COLLECTIVE(Gatherv, g.comm, mine.at(), from.instances(pairs), from.type, all.at(),
                          counts.data(), at.data(), to.type, root.said),
               {&mine, &all}, fill, gathered);
    const auto spread = [&](int n) {
        mine.clear(-1), all.clear(-2);
        for (int i = 0; i < g.there; i++)
            put(all, i * pairs, pairs, rank, g.first + i, n);
    };
    const auto scattered = [&](int n) {
        put(mine, 0, root.receives ? pairs : 0, root.rank, rank, n);
    };
    make_calls("Scatter", true, detail,
               COLLECTIVE(Scatter, g.comm, all.at(), to.instances(pairs), to.type, mine.at(),
                          from.instances(pairs), from.type, root.said),
               {&mine, &all}, spread, scattered);
    make_calls("Scatterv", true, detail,
               COLLECTIVE(Scatterv, g.comm, all.at(), counts.data(), at.data(), to.type, mine.at(),
                          from.instances(pairs), from.type, root.said),
               {&mine, &all}, spread, scattered);
    Row operand(from, 1), result(from, 1);
    if (from.type == MPI_INT)
        make_calls(
            "Reduce", true, detail,
            COLLECTIVE(Reduce, g.comm, operand.at(), result.at(), 2, MPI_INT, MPI_SUM, root.said),
            {&operand, &result},
            [&](int n) { operand.clear(-1), result.clear(-2), put(operand, 0, 1, rank, 0, n); },
            [&](int n) {
                for (int k = 0; is_root && k < 2; k++) {
                    result[k] = 0;
                    for (int i = 0; i < g.there; i++)
                        result[k] += value(g.first + i, 0, k, n);
                }
            });
}

void of_all(const Groups &g, const Layout &from, const Layout &to, int pairs)
{
    const std::string detail =
        from.name + " to " + to.name + ", " + std::to_string(pairs) + " of " + std::to_string(size);
    Row mine(from, pairs), out(from, g.there * pairs), in(to, g.there * pairs);
    std::vector<int> in_counts(static_cast<size_t>(g.there), to.instances(pairs)),
        out_counts(static_cast<size_t>(g.there), from.instances(pairs));
    std::vector<int> in_at, out_at, in_bytes, out_bytes;
    for (int i = 0; i < g.there; i++) {
        in_at.push_back(to.instances(i * pairs)), out_at.push_back(from.instances(i * pairs));
        in_bytes.push_back(in_at[i] * static_cast<int>(to.extent)),
            out_bytes.push_back(out_at[i] * static_cast<int>(from.extent));
    }
    const std::vector<MPI_Datatype> in_types(static_cast<size_t>(g.there), to.type),
        out_types(static_cast<size_t>(g.there), from.type);
    const auto fill = [&](int n) {
        mine.clear(-1), out.clear(-1), in.clear(-2);
        put(mine, 0, pairs, rank, 0, n);
        for (int i = 0; i < g.there; i++)
            put(out, i * pairs, pairs, rank, g.first + i, n);
    };
    const auto gathered = [&](int n) {
        for (int i = 0; i < g.there; i++)
            put(in, i * pairs, pairs, g.first + i, 0, n);
    };
    const auto exchanged = [&](int n) {
        for (int i = 0; i < g.there; i++)
            put(in, i * pairs, pairs, g.first + i, rank, n);
    };
    const auto check = [&](const char *name, auto call, auto after) {
        make_calls(name, true, detail, call, {&mine, &out, &in}, fill, after);
    };
    const int n_from = from.instances(pairs), n_to = to.instances(pairs);
    check("Allgather",
          COLLECTIVE(Allgather, g.comm, mine.at(), n_from, from.type, in.at(), n_to, to.type),
          gathered);
    check("Allgatherv",
          COLLECTIVE(Allgatherv, g.comm, mine.at(), n_from, from.type, in.at(), in_counts.data(),
                     in_at.data(), to.type),
          gathered);
    check("Alltoall",
          COLLECTIVE(Alltoall, g.comm, out.at(), n_from, from.type, in.at(), n_to, to.type),
          exchanged);
    check("Alltoallv",
          COLLECTIVE(Alltoallv, g.comm, out.at(), out_counts.data(), out_at.data(), from.type,
                     in.at(), in_counts.data(), in_at.data(), to.type),
          exchanged);
    check("Alltoallw",
          COLLECTIVE(Alltoallw, g.comm, out.at(), out_counts.data(), out_bytes.data(),
                     out_types.data(), in.at(), in_counts.data(), in_bytes.data(), in_types.data()),
          exchanged);
    if (from.type != MPI_INT)
        return;
    Row result(from, pairs);
    make_calls(
        "Allreduce", true, detail,
        COLLECTIVE(Allreduce, g.comm, mine.at(), result.at(), 2 * pairs, MPI_INT, MPI_SUM),
        {&mine, &result},
        [&](int n) { mine.clear(-1), result.clear(-2), put(mine, 0, pairs, rank, 0, n); },
        [&](int n) {
            for (int k = 0; k < 2 * pairs; k++) {
                result[k] = 0;
                for (int i = 0; i < g.there; i++)
                    result[k] += value(g.first + i, 0, k, n);
            }
        });
}

} // namespace

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        const int half = (size + 1) / 2;
        Groups g{MPI_COMM_NULL, 0, 0, 0, rank < half};
        MPI_Comm local;
        MPI_Comm_split(MPI_COMM_WORLD, g.low, rank, &local);
        g.first = g.low ? half : 0;
        MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, g.first, 1, &g.comm);
        MPI_Comm_set_errhandler(g.comm, MPI_ERRORS_RETURN);
        MPI_Comm_size(g.comm, &g.here);
        MPI_Comm_remote_size(g.comm, &g.there);
        const Layouts layouts(800 * size);
        const std::vector<Layout> &all = layouts.all();
        for (size_t i = 0; i < all.size(); i++)
            for (const int pairs : {1, 300}) {
                const Layout &to = all[(i + 1) % all.size()];
                of_all(g, all[i], to, pairs);
                for (const bool in_low : {true, false})
                    for (int r = 0; r < (in_low ? half : size - half); r++)
                        rooted(g, all[i], to, pairs, root_of(g, in_low, r));
            }
        MPI_Comm_free(&g.comm);
        MPI_Comm_free(&local);
    });
}
