/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Neighbourhood collectives in all forms, by all algorithms. Some are on grids, also of dimensions
 * of one and two processes, where two edges lead to the same neighbour. Some are on graphs with
 * parallel edges, self-loops, and other numbers of edges in than out.
 *
 * What a rank sends along its k-th edge arrives at that edge's other end (MPI 4.0, 8.6). On a grid,
 * what went in the negative direction comes from the positive one. Parallel edges of a graph keep
 * their order.
 *
 * memory: host device managed mixed
 */
#include "collective_test.hpp"

#include <random>

using namespace collective_test;

namespace {

/* An edge that comes in: from whom, and which of that rank's edges out it is. */
struct In {
    int rank, edge;
};

struct Graph {
    std::string name;
    MPI_Comm comm;
    std::vector<In> in;
    std::vector<int> out;
};

/* Pairs that `from` sends along its k-th edge. A rank that is not there sends and receives none. */
int pairs_of(int from, int k) { return from == MPI_PROC_NULL ? 2 : 3 * ((from + 2 * k) % 3); }

struct Blocks {
    std::vector<int> counts, at;
    int total = 0;
};

template <class Count> Blocks blocks(size_t edges, bool reversed, const Layout &layout, Count count)
{
    Blocks b{std::vector<int>(edges + 1), std::vector<int>(edges + 1), 0};
    for (size_t n = 0; n < edges; n++) {
        const size_t k = reversed ? edges - 1 - n : n;
        b.counts[k] = layout.instances(count(static_cast<int>(k)));
        b.at[k] = layout.instances(b.total);
        b.total += count(static_cast<int>(k)) + reversed;
    }
    return b;
}

void put(Row &row, int pair, int pairs, int from, int edge, int n)
{
    for (int i = 0; i < 2 * pairs; i++)
        row[2 * pair + i] = value(from, edge, i, n);
}

void check(const Graph &g, const char *call, const Layout &from, const Layout &to, bool all_same,
           bool v)
{
    const auto sent = [&](int rank, int k) {
        return !v ? 3 : all_same ? pairs_of(rank, 0) : pairs_of(rank, k);
    };
    const size_t edges_out = all_same ? 1 : g.out.size();
    const Blocks out = blocks(edges_out, v && !all_same, from, [&](int k) {
        return sent(g.out.empty() || all_same || g.out[k] != MPI_PROC_NULL ? rank : MPI_PROC_NULL,
                    k);
    });
    const Blocks in =
        blocks(g.in.size(), v, to, [&](int k) { return sent(g.in[k].rank, g.in[k].edge); });
    Row send(from, out.total), recv(to, in.total);
    const int n_from = static_cast<int>(from.ints.size()), n_to = static_cast<int>(to.ints.size());
    const auto before = [&](int n) {
        send.clear(-1), recv.clear(-2);
        for (size_t k = 0; k < edges_out; k++)
            put(send, out.at[k] * n_from / 2, out.counts[k] * n_from / 2, rank, static_cast<int>(k),
                n);
    };
    const auto after = [&](int n) {
        for (size_t k = 0; k < g.in.size(); k++)
            if (g.in[k].rank != MPI_PROC_NULL)
                put(recv, in.at[k] * n_to / 2, in.counts[k] * n_to / 2, g.in[k].rank,
                    all_same ? 0 : g.in[k].edge, n);
    };
    const auto make = [&](auto made) {
        make_calls(call, false, g.name + ", " + from.name + " to " + to.name, made, {&send, &recv},
                   before, after);
    };
    const void *const s = send.at();
    void *const r = recv.at();
    const int ns = from.instances(3), nr = to.instances(3);
    const std::string what = call;
    if (what == "Neighbor_allgather")
        make(COLLECTIVE(Neighbor_allgather, g.comm, s, ns, from.type, r, nr, to.type));
    else if (what == "Neighbor_allgatherv")
        make(COLLECTIVE(Neighbor_allgatherv, g.comm, s, out.counts[0], from.type, r,
                        in.counts.data(), in.at.data(), to.type));
    else if (what == "Neighbor_alltoall")
        make(COLLECTIVE(Neighbor_alltoall, g.comm, s, ns, from.type, r, nr, to.type));
    else if (what == "Neighbor_alltoallv")
        make(COLLECTIVE(Neighbor_alltoallv, g.comm, s, out.counts.data(), out.at.data(), from.type,
                        r, in.counts.data(), in.at.data(), to.type));
    else {
        /* A block of nothing needs no type. */
        std::vector<MPI_Aint> out_at(out.at.begin(), out.at.end()),
            in_at(in.at.begin(), in.at.end());
        std::vector<MPI_Datatype> out_types, in_types;
        for (size_t k = 0; k < out.at.size(); k++)
            out_at[k] *= from.extent,
                out_types.push_back(out.counts[k] > 0 ? from.type : MPI_DATATYPE_NULL);
        for (size_t k = 0; k < in.at.size(); k++)
            in_at[k] *= to.extent,
                in_types.push_back(in.counts[k] > 0 ? to.type : MPI_DATATYPE_NULL);
        make(COLLECTIVE(Neighbor_alltoallw, g.comm, s, out.counts.data(), out_at.data(),
                        out_types.data(), r, in.counts.data(), in_at.data(), in_types.data()));
    }
}

void check_all(const Graph &g, const std::vector<Layout> &layouts)
{
    static size_t turn;
    const Layout &from = layouts[turn % layouts.size()],
                 &to = layouts[(turn / layouts.size() + turn + 1) % layouts.size()];
    turn++;
    check(g, "Neighbor_allgather", from, to, true, false);
    check(g, "Neighbor_allgatherv", from, to, true, true);
    check(g, "Neighbor_alltoall", from, to, false, false);
    check(g, "Neighbor_alltoallv", from, to, false, true);
    check(g, "Neighbor_alltoallw", from, to, false, true);
}

/* Borders and wrapped ends in each dimension. */
Graph grid(const std::vector<int> &dimensions, unsigned periodic)
{
    Graph g{"grid", MPI_COMM_NULL, {}, {}};
    std::vector<int> periods;
    for (size_t d = 0; d < dimensions.size(); d++) {
        periods.push_back(periodic >> d & 1);
        g.name += " " + std::to_string(dimensions[d]) + (periods[d] ? "p" : "");
    }
    MPI_Cart_create(MPI_COMM_WORLD, static_cast<int>(dimensions.size()), dimensions.data(),
                    periods.data(), 0, &g.comm);
    for (size_t d = 0; d < dimensions.size(); d++) {
        int low, high;
        MPI_Cart_shift(g.comm, static_cast<int>(d), 1, &low, &high);
        const int k = static_cast<int>(2 * d);
        g.out.insert(g.out.end(), {low, high});
        g.in.insert(g.in.end(), {{low, k + 1}, {high, k}});
    }
    return g;
}

/* Any edges, several times the same ones too. */
Graph graph(std::mt19937 &random)
{
    const int edges = static_cast<int>(random() % (3u * static_cast<unsigned>(size) + 1));
    Graph g{"graph of " + std::to_string(edges) + " edges", MPI_COMM_NULL, {}, {}};
    std::vector<int> sources, edges_out(static_cast<size_t>(size));
    for (int i = 0; i < edges; i++) {
        const int from = static_cast<int>(random() % static_cast<unsigned>(size)),
                  to = static_cast<int>(random() % static_cast<unsigned>(size));
        const int k = edges_out[from]++;
        if (from == rank)
            g.out.push_back(to);
        if (to == rank) {
            g.in.push_back({from, k});
            sources.push_back(from);
        }
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, static_cast<int>(sources.size()), sources.data(),
                                   MPI_UNWEIGHTED, static_cast<int>(g.out.size()), g.out.data(),
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &g.comm);
    return g;
}

/* MPI_Graph_create: a ring in which each pair of neighbours has two edges. */
Graph old_graph()
{
    Graph g{"doubled ring", MPI_COMM_NULL, {}, {}};
    std::vector<int> index, edges;
    for (int r = 0; r < size; r++) {
        const int before = (r + size - 1) % size, after = (r + 1) % size;
        edges.insert(edges.end(), {before, before, after, after});
        index.push_back(static_cast<int>(edges.size()));
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, index.data(), edges.data(), 0, &g.comm);
    g.out.assign(edges.begin() + 4 * rank, edges.begin() + 4 * rank + 4);
    std::vector<int> seen(static_cast<size_t>(size));
    for (const int from : g.out) {
        /* The n-th edge from there is its n-th that leads here. */
        int edge = 0;
        for (int n = seen[from]++; edges[4 * from + edge] != rank || n-- > 0;)
            edge++;
        g.in.push_back({from, edge});
    }
    return g;
}

} // namespace

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        const Layouts layouts(500);
        std::vector<Graph> graphs{old_graph()};
        for (const std::vector<int> &dimensions : {std::vector<int>{size}, {1, size}, {size, 1, 1}})
            for (unsigned periodic = 0; periodic < 1u << dimensions.size(); periodic++)
                graphs.push_back(grid(dimensions, periodic));
        if (size % 2 == 0)
            graphs.push_back(grid({2, size / 2}, 3));
        std::mt19937 random(20261125);
        for (int i = 0; i < 20; i++)
            graphs.push_back(graph(random));
        for (Graph &g : graphs) {
            MPI_Comm_set_errhandler(g.comm, MPI_ERRORS_RETURN);
            check_all(g, layouts.all());
            MPI_Comm_free(&g.comm);
        }
    });
}
