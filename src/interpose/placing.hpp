// SPDX-License-Identifier: BSD-3-Clause
// A new order of a communicator's ranks, which libheddle looks for at rank 0.
#pragma once

#include "interpose/handles.hpp"

#include <cstdint>
#include <vector>

namespace heddle::interpose {

using Numbers = std::vector<int>;

// A call of the MPI's that failed: its handler was called already.
struct Failed {
    int error;
};
inline void check(int error)
{
    if (error != MPI_SUCCESS)
        throw Failed{error};
}

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

struct Edge {
    int from, to, weight;
};

// What a process needs to know of the answer.
struct Seat {
    int rank;   // in the new order
    int origin; // in the new order: the process whose rank was this one's new one
};

// A communicator whose members agree on a new order. All that is done is collective.
class Placing {
public:
    explicit Placing(MPI_Comm comm);

    // Whether there is anything to gain, and all arguments of all make sense: what does not is left
    // to the MPI.
    bool is_worth_it(bool makes_sense);
    // `edges` of all processes together, or of rank 0 alone. False: nobody moves.
    bool place(const std::vector<Edge> &edges, int vertices, int64_t limit);

    const Seat &seat() const { return seat_; }
    int rank() const { return rank_; }
    void permute(OwnedComm &permuted) const
    {
        check(PMPI_Comm_split(comm_, 0, seat_.rank, permuted.address()));
    }

private:
    std::vector<Edge> collect(const std::vector<Edge> &mine) const;
    std::vector<double> find_rates() const;
    std::vector<double> gather_rows(std::vector<double> &row) const;
    int solve(const std::vector<Edge> &edges, int vertices, int64_t limit,
              const std::vector<double> &rates, Numbers &seats) const;

    MPI_Comm comm_;
    int rank_ = 0, size_ = 0;
    Numbers nodes_; // of each rank: the first rank there
    Seat seat_{};
};

} // namespace heddle::interpose
