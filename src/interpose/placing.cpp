// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/placing.hpp"

#include <heddle_placement.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace heddle::interpose {

namespace {

constexpr int kPerSeat = 2; // numbers

int *data(Numbers &numbers) { return numbers.data(); }

} // namespace

Placing::Placing(MPI_Comm comm) : comm_(comm)
{
    check(PMPI_Comm_rank(comm, &rank_));
    check(PMPI_Comm_size(comm, &size_));
}

bool Placing::is_worth_it(bool makes_sense)
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

bool Placing::place(const std::vector<Edge> &edges, int vertices, int64_t limit)
{
    const std::vector<Edge> all = collect(edges);
    const std::vector<double> rates = find_rates();
    int moves = 0;
    Numbers seats;
    if (rank_ == 0)
        moves = solve(all, vertices, limit, rates, seats);
    check(PMPI_Bcast(&moves, 1, MPI_INT, 0, comm_));
    if (moves)
        check(PMPI_Scatter(data(seats), kPerSeat, MPI_INT, &seat_, kPerSeat, MPI_INT, 0, comm_));
    return moves != 0;
}

std::vector<Edge> Placing::collect(const std::vector<Edge> &mine) const
{
    const int count = static_cast<int>(3 * mine.size());
    Numbers counts(static_cast<size_t>(size_)), displs(counts.size());
    check(PMPI_Gather(&count, 1, MPI_INT, data(counts), 1, MPI_INT, 0, comm_));
    std::exclusive_scan(counts.begin(), counts.end(), displs.begin(), 0);
    std::vector<Edge> all(static_cast<size_t>(displs.back() + counts.back()) / 3);
    check(PMPI_Gatherv(mine.data(), count, MPI_INT, all.data(), data(counts), data(displs), MPI_INT,
                       0, comm_));
    return all;
}

// As heddle_placement_problem wants them, at rank 0; empty where all links are alike.
std::vector<double> Placing::find_rates() const
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

std::vector<double> Placing::gather_rows(std::vector<double> &row) const
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

int Placing::solve(const std::vector<Edge> &edges, int vertices, int64_t limit,
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

} // namespace heddle::interpose
