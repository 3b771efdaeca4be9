// SPDX-License-Identifier: BSD-3-Clause
// Topologies whose ranks may be reordered. libheddle places the graph at rank 0. The MPI then gets
// a communicator that is permuted already, and keeps its order. So all its functions know the new
// ranks, and none is translated. What a process said of its own rank goes to whoever has it now.
#include "interpose/operation.hpp"
#include "interpose/placing.hpp"
#include "interpose/public_copy.hpp"
#include "interpose/report.hpp"

#include <heddle_placement.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <new>
#include <numeric>
#include <vector>

using namespace heddle::interpose;

namespace {

int64_t limit_of(MPI_Info info)
{
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int is_there = 0;
    if (info != MPI_INFO_NULL)
        PMPI_Info_get(info, "heddle_placement", MPI_MAX_INFO_VAL, value, &is_there);
    char *end = value;
    const long limit = is_there ? std::strtol(value, &end, 10) : -1;
    return end != value && *end == '\0' && limit >= 0 ? limit : heddle_placement_limit();
}

// ---- what each call says of a graph ----

bool is_weighted(const int weights[])
{
    return weights != MPI_UNWEIGHTED && weights != MPI_WEIGHTS_EMPTY;
}

bool all_within(const int numbers[], int n, int end)
{
    return n == 0 || (n > 0 && numbers && std::all_of(numbers, numbers + n, [&](int number) {
                          return number >= 0 && number < end;
                      }));
}

bool are_weights(const int weights[], int n)
{
    return !is_weighted(weights) ||
           (weights && std::all_of(weights, weights + n, [](int weight) { return weight >= 0; }));
}

std::vector<Edge> grid(int ndims, const int dims[], const int periods[])
{
    std::vector<Edge> edges;
    const int cells = std::accumulate(dims, dims + ndims, 1, std::multiplies<int>());
    int stride = cells;
    for (int d = 0; d < ndims; ++d) {
        const int row = stride; // of this dimension
        stride /= dims[d];
        for (int v = 0; v < cells; ++v) {
            const bool is_last = v / stride % dims[d] == dims[d] - 1;
            if (!is_last || periods[d])
                edges.push_back({v, is_last ? v + stride - row : v + stride, 1});
        }
    }
    return edges;
}

// The neighbours of a rank on one side, of this process or of another.
struct List {
    Numbers ranks, weights;
    bool weighted = false;

    List(int n, const int ranks_in[], const int weights_in[]) : weighted(is_weighted(weights_in))
    {
        if (n > 0)
            ranks.assign(ranks_in, ranks_in + n);
        if (n > 0 && weighted)
            weights.assign(weights_in, weights_in + n);
        weighted = weights_in != MPI_UNWEIGHTED;
    }
    int degree() const { return static_cast<int>(ranks.size()); }
    const int *weights_or() const
    {
        return !weighted ? MPI_UNWEIGHTED : ranks.empty() ? MPI_WEIGHTS_EMPTY : weights.data();
    }
};

// Sends this process's list to whoever has its old rank now, and takes that of its own new rank.
void hand_over(MPI_Comm permuted, const Placing &placing, List &list)
{
    constexpr int tag = 0;
    const int to = placing.rank(), from = placing.seat().origin;
    const auto exchange = [&](Numbers &numbers, size_t theirs) {
        Numbers taken(theirs);
        check(PMPI_Sendrecv(numbers.data(), static_cast<int>(numbers.size()), MPI_INT, to, tag,
                            taken.data(), static_cast<int>(theirs), MPI_INT, from, tag, permuted,
                            MPI_STATUS_IGNORE));
        numbers = taken;
    };
    Numbers head = {list.degree(), static_cast<int>(list.weights.size()), list.weighted};
    exchange(head, head.size());
    exchange(list.ranks, static_cast<size_t>(head[0]));
    exchange(list.weights, static_cast<size_t>(head[1]));
    list.weighted = head[2] != 0;
}

// Calls `create` with a permuted communicator, or with the old one where nobody moves; `pass` where
// nothing is to be placed.
template <class Pass, class Create>
int reordered(MPI_Comm comm, int reorder, int64_t limit, bool makes_sense, int vertices,
              const std::vector<Edge> &edges, Pass pass, Create create)
{
    const CollectsAtEnd collects;
    flush();
    int is_inter = 1;
    if (!reorder || limit == 0 || comm == MPI_COMM_NULL ||
        PMPI_Comm_test_inter(comm, &is_inter) != MPI_SUCCESS || is_inter)
        return pass();
    try {
        Placing placing(comm);
        if (!placing.is_worth_it(makes_sense))
            return pass();
        OwnedComm permuted;
        if (!placing.place(edges, vertices, limit))
            return create(comm, nullptr);
        placing.permute(permuted);
        return create(permuted.get(), &placing);
    } catch (const Failed &failed) {
        return failed.error;
    } catch (const std::bad_alloc &) {
        return raise(comm, MPI_ERR_NO_MEM);
    }
}

bool is_rank_zero(MPI_Comm comm)
{
    int rank = -1;
    return comm != MPI_COMM_NULL && PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS && rank == 0;
}

int size_of(MPI_Comm comm)
{
    int size = 0;
    return comm != MPI_COMM_NULL && PMPI_Comm_size(comm, &size) == MPI_SUCCESS ? size : 0;
}

} // namespace

extern "C" {

int MPI_Cart_create(MPI_Comm comm_old, int ndims, const int dims[], const int periods[],
                    int reorder, MPI_Comm *comm_cart)
{
    const int size = reorder ? size_of(comm_old) : 0;
    int64_t cells = ndims > 0 && dims && periods ? 1 : 0;
    for (int d = 0; d < ndims && cells > 0 && cells <= size; ++d)
        cells *= std::max(dims[d], 0);
    const bool makes_sense = cells > 0 && cells <= size;
    return reordered(
        comm_old, reorder, heddle_placement_limit(), makes_sense, static_cast<int>(cells),
        makes_sense && is_rank_zero(comm_old) ? grid(ndims, dims, periods) : std::vector<Edge>{},
        [&] { return PMPI_Cart_create(comm_old, ndims, dims, periods, reorder, comm_cart); },
        [&](MPI_Comm comm, const Placing *) {
            return PMPI_Cart_create(comm, ndims, dims, periods, 0, comm_cart);
        });
}

int MPI_Graph_create(MPI_Comm comm_old, int nnodes, const int indx[], const int edges[],
                     int reorder, MPI_Comm *comm_graph)
{
    const int size = reorder ? size_of(comm_old) : 0;
    bool makes_sense = nnodes > 0 && nnodes <= size && indx &&
                       std::is_sorted(indx, indx + nnodes) && indx[0] >= 0 &&
                       all_within(edges, indx[nnodes - 1], nnodes);
    std::vector<Edge> all;
    if (makes_sense && is_rank_zero(comm_old))
        for (int v = 0; v < nnodes; ++v)
            for (int i = v > 0 ? indx[v - 1] : 0; i < indx[v]; ++i)
                all.push_back({v, edges[i], 1});
    return reordered(
        comm_old, reorder, heddle_placement_limit(), makes_sense, nnodes, all,
        [&] { return PMPI_Graph_create(comm_old, nnodes, indx, edges, reorder, comm_graph); },
        [&](MPI_Comm comm, const Placing *) {
            return PMPI_Graph_create(comm, nnodes, indx, edges, 0, comm_graph);
        });
}

int MPI_Dist_graph_create(MPI_Comm comm_old, int n, const int sources[], const int degrees[],
                          const int destinations[], const int weights[], MPI_Info info, int reorder,
                          MPI_Comm *comm_dist_graph)
{
    const int size = reorder ? size_of(comm_old) : 0;
    bool makes_sense = n >= 0 && all_within(sources, n, size) && (n == 0 || degrees) &&
                       (n == 0 || *std::min_element(degrees, degrees + n) >= 0);
    const int count = makes_sense ? std::accumulate(degrees, degrees + n, 0) : 0;
    makes_sense =
        makes_sense && all_within(destinations, count, size) && are_weights(weights, count);
    std::vector<Edge> edges;
    for (int i = 0, next = 0; makes_sense && i < n; ++i)
        for (int j = 0; j < degrees[i]; ++j, ++next)
            edges.push_back(
                {sources[i], destinations[next], is_weighted(weights) ? weights[next] : 1});
    return reordered(
        comm_old, reorder, limit_of(info), makes_sense, size, edges,
        [&] {
            return PMPI_Dist_graph_create(comm_old, n, sources, degrees, destinations, weights,
                                          info, reorder, comm_dist_graph);
        },
        [&](MPI_Comm comm, const Placing *) {
            return PMPI_Dist_graph_create(comm, n, sources, degrees, destinations, weights, info, 0,
                                          comm_dist_graph);
        });
}

int MPI_Dist_graph_create_adjacent(MPI_Comm comm_old, int indegree, const int sources[],
                                   const int sourceweights[], int outdegree,
                                   const int destinations[], const int destweights[], MPI_Info info,
                                   int reorder, MPI_Comm *comm_dist_graph)
{
    const int size = reorder ? size_of(comm_old) : 0;
    const bool makes_sense =
        all_within(sources, indegree, size) && all_within(destinations, outdegree, size) &&
        are_weights(sourceweights, indegree) && are_weights(destweights, outdegree);
    // Each edge is said at both its ends: here it is taken from its source.
    std::vector<Edge> edges;
    int rank = 0;
    if (makes_sense && size > 0)
        PMPI_Comm_rank(comm_old, &rank);
    for (int i = 0; makes_sense && i < outdegree; ++i)
        edges.push_back({rank, destinations[i], is_weighted(destweights) ? destweights[i] : 1});
    return reordered(
        comm_old, reorder, limit_of(info), makes_sense, size, edges,
        [&] {
            return PMPI_Dist_graph_create_adjacent(comm_old, indegree, sources, sourceweights,
                                                   outdegree, destinations, destweights, info,
                                                   reorder, comm_dist_graph);
        },
        [&](MPI_Comm comm, const Placing *placing) {
            List in(indegree, sources, sourceweights), out(outdegree, destinations, destweights);
            if (placing) {
                hand_over(comm, *placing, in);
                hand_over(comm, *placing, out);
            }
            return PMPI_Dist_graph_create_adjacent(comm, in.degree(), in.ranks.data(),
                                                   in.weights_or(), out.degree(), out.ranks.data(),
                                                   out.weights_or(), info, 0, comm_dist_graph);
        });
}

} // extern "C"
