// SPDX-License-Identifier: BSD-3-Clause
// Topologies whose ranks may be reordered. libheddle places the graph at rank 0. The MPI then gets
// a communicator that is permuted already, and keeps its order. So all its functions know the new
// ranks, and none is translated. What a process said of its own rank goes to whoever has it now.
#include "interpose/operation.hpp"
#include "interpose/report.hpp"

#include <heddle_placement.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <new>
#include <numeric>
#include <vector>

using namespace heddle::interpose;

namespace {

using Numbers = std::vector<int>;

// A call of the MPI's that failed: its handler was called already.
struct Failed {
    int error;
};
void check(int error)
{
    if (error != MPI_SUCCESS)
        throw Failed{error};
}

int *data(Numbers &numbers) { return numbers.data(); }

class OwnedComm {
public:
    OwnedComm() = default;
    OwnedComm(const OwnedComm &) = delete;
    OwnedComm &operator=(const OwnedComm &) = delete;
    ~OwnedComm()
    {
        if (comm_ != MPI_COMM_NULL)
            PMPI_Comm_free(&comm_);
    }
    MPI_Comm *address() { return &comm_; }
    MPI_Comm get() const { return comm_; }

private:
    MPI_Comm comm_ = MPI_COMM_NULL;
};

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

struct Edge {
    int from, to, weight;
};

// What a process needs to know of the answer.
struct Seat {
    int rank;   // in the new order
    int origin; // in the new order: the process whose rank was this one's new one
};
constexpr int kPerSeat = 2;

// A communicator whose members agree on a new order. All that is done is collective.
class Placing {
public:
    explicit Placing(MPI_Comm comm) : comm_(comm)
    {
        check(PMPI_Comm_rank(comm, &rank_));
        check(PMPI_Comm_size(comm, &size_));
    }

    // Whether there is anything to gain, and all arguments of all make sense: what does not is left
    // to the MPI.
    bool is_worth_it(bool makes_sense)
    {
        int all = makes_sense && size_ > 2;
        check(PMPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm_));
        if (!all)
            return false;
        OwnedComm node;
        check(PMPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, node.address()));
        int first = rank_;
        check(PMPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, node.get()));
        nodes_.resize(static_cast<size_t>(size_));
        check(PMPI_Allgather(&first, 1, MPI_INT, data(nodes_), 1, MPI_INT, comm_));
        Numbers different = nodes_;
        std::sort(different.begin(), different.end());
        return std::unique(different.begin(), different.end()) != different.end();
    }

    // `edges` of all processes together, or of rank 0 alone. False: nobody moves.
    bool place(const std::vector<Edge> &edges, int vertices, int64_t limit)
    {
        const std::vector<Edge> all = collect(edges);
        const std::vector<double> rates = find_rates();
        int moves = 0;
        Numbers seats;
        if (rank_ == 0)
            moves = solve(all, vertices, limit, rates, seats);
        check(PMPI_Bcast(&moves, 1, MPI_INT, 0, comm_));
        if (moves)
            check(
                PMPI_Scatter(data(seats), kPerSeat, MPI_INT, &seat_, kPerSeat, MPI_INT, 0, comm_));
        return moves != 0;
    }

    const Seat &seat() const { return seat_; }
    int rank() const { return rank_; }
    void permute(OwnedComm &permuted) const
    {
        check(PMPI_Comm_split(comm_, 0, seat_.rank, permuted.address()));
    }

private:
    std::vector<Edge> collect(const std::vector<Edge> &mine) const
    {
        const int count = static_cast<int>(3 * mine.size());
        Numbers counts(static_cast<size_t>(size_)), displs(counts.size());
        check(PMPI_Gather(&count, 1, MPI_INT, data(counts), 1, MPI_INT, 0, comm_));
        std::exclusive_scan(counts.begin(), counts.end(), displs.begin(), 0);
        std::vector<Edge> all(static_cast<size_t>(displs.back() + counts.back()) / 3);
        check(PMPI_Gatherv(mine.data(), count, MPI_INT, all.data(), data(counts), data(displs),
                           MPI_INT, 0, comm_));
        return all;
    }

    // As heddle_placement_problem wants them, at rank 0; empty where all links are alike.
    std::vector<double> find_rates() const
    {
        heddle_location here{};
        here.socket = here.memory = -1; // the MPI knows, and does not tell
        heddle_location_device(&here);
        std::vector<heddle_location> locations(static_cast<size_t>(size_));
        check(PMPI_Allgather(&here, sizeof here, MPI_BYTE, locations.data(), sizeof here, MPI_BYTE,
                             comm_));
        std::vector<double> row(locations.size());
        for (size_t i = 0; i < row.size(); ++i)
            row[i] = nodes_[i] == nodes_[static_cast<size_t>(rank_)] && static_cast<int>(i) != rank_
                         ? heddle_location_rate(&here, &locations[i])
                         : 0;
        return gather_rows(row);
    }
    std::vector<double> gather_rows(std::vector<double> &row) const
    {
        double range[2] = {-1e300, -1e300}; // of the smallest rate, negated, and of the largest
        for (const double rate : row)
            if (rate > 0) {
                range[0] = std::max(range[0], -rate);
                range[1] = std::max(range[1], rate);
            }
        check(PMPI_Allreduce(MPI_IN_PLACE, range, 2, MPI_DOUBLE, MPI_MAX, comm_));
        if (range[1] <= -range[0])
            return {};
        const size_t n = row.size();
        std::vector<double> all(rank_ == 0 ? n * n : 0), rates;
        check(PMPI_Gather(row.data(), size_, MPI_DOUBLE, all.data(), size_, MPI_DOUBLE, 0, comm_));
        std::map<int, std::vector<size_t>> members; // of each node, which its first rank names
        for (size_t i = 0; rank_ == 0 && i < n; ++i)
            members[nodes_[i]].push_back(i);
        for (const auto &[node, ranks] : members)
            for (const size_t a : ranks)
                for (const size_t b : ranks)
                    rates.push_back(all[a * n + b]);
        return rates;
    }

    int solve(const std::vector<Edge> &edges, int vertices, int64_t limit,
              const std::vector<double> &rates, Numbers &seats) const
    {
        Numbers from, to;
        std::vector<int64_t> weights;
        for (const Edge &edge : edges) {
            from.push_back(edge.from);
            to.push_back(edge.to);
            weights.push_back(edge.weight);
        }
        heddle_placement_problem problem{};
        problem.vertices = vertices;
        problem.slots = size_;
        problem.node = nodes_.data();
        problem.rates = rates.empty() ? nullptr : rates.data();
        problem.edges = static_cast<int64_t>(edges.size());
        problem.from = from.data();
        problem.to = to.data();
        problem.weight = weights.data();
        problem.milliseconds = limit;
        Numbers slots(static_cast<size_t>(vertices));
        heddle_placement result{};
        // Without an answer the order stays: reorder is a wish.
        if (heddle_place(&problem, slots.data(), &result) != HEDDLE_SUCCESS || result.moved == 0)
            return 0;
        // Processes without a vertex come behind the others.
        Numbers rank_of(static_cast<size_t>(size_), -1);
        for (size_t v = 0; v < slots.size(); ++v)
            rank_of[static_cast<size_t>(slots[v])] = static_cast<int>(v);
        int behind = vertices;
        for (int &rank : rank_of)
            rank = rank < 0 ? behind++ : rank;
        for (const int rank : rank_of) {
            seats.push_back(rank);
            seats.push_back(rank_of[static_cast<size_t>(rank)]);
        }
        return 1;
    }

    MPI_Comm comm_;
    int rank_ = 0, size_ = 0;
    Numbers nodes_; // of each rank: the first rank there
    Seat seat_{};
};

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
        check(PMPI_Sendrecv(data(numbers), static_cast<int>(numbers.size()), MPI_INT, to, tag,
                            data(taken), static_cast<int>(theirs), MPI_INT, from, tag, permuted,
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
