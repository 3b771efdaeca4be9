// SPDX-License-Identifier: BSD-3-Clause
// The halo exchange in plain MPI. A graph communicator tells MPI who says how much to whom, and
// lets it choose who gets which part. All quantities of all sides that two processes share travel
// as one message: its datatype names every allocation, and no buffer is packed by hand.
#pragma once

#include "device.hpp"
#include "partition.hpp"

#include <mpi.h>

#include <memory>
#include <vector>

namespace stencil {

// What two parts share. Sides are those of the receiver's halo, in the order of their numbers, so
// both ends agree.
struct Neighbour {
    int part;
    std::vector<Side> sides;
    int64_t cells; // of one quantity
};

// The parts of a communicator. Who has which is up to MPI.
class Parts {
public:
    // Collective. `reorder`: MPI may move parts to other processes.
    Parts(MPI_Comm comm, const Partition &partition, const Shape &shape, int quantities,
          bool reorder);
    Parts(const Parts &) = delete;
    Parts &operator=(const Parts &) = delete;
    ~Parts() { MPI_Comm_free(&comm_); }

    MPI_Comm comm() const { return comm_; }
    int mine() const { return mine_; } // this process's part, which is its rank
    const std::vector<Neighbour> &sources() const { return sources_; }
    const std::vector<Neighbour> &destinations() const { return destinations_; }
    // The share of all data that stays within nodes; collective. `comm`: as if its ranks were
    // parts.
    double share_within_nodes(MPI_Comm comm) const;

private:
    void find_neighbours(const Partition &partition, const Shape &shape);

    MPI_Comm comm_ = MPI_COMM_NULL;
    int mine_ = 0;
    std::vector<Neighbour> sources_, destinations_; // those with the most data first
};

// The halo of a side, and what a neighbour sends for it, in a block's memory.
Box halo_of(const Layout &layout, const Shape &shape, const Side &side);
Box sent_for(const Layout &layout, const Shape &shape, const Side &side);

// One datatype of absolute addresses for all that goes to, or comes from, a neighbour.
class Types {
public:
    enum class Way { out, in };
    Types(const std::vector<Neighbour> &neighbours, const Shape &shape,
          const Quantities &quantities, int which, Way way);
    Types(Types &&) = default;
    ~Types();

    const std::vector<MPI_Datatype> &get() const { return types_; }

private:
    std::vector<MPI_Datatype> types_;
};

// The part of one quantity that such a type is made of.
MPI_Datatype type_of_region(const Quantities &quantities, const Shape &shape, const Side &side,
                            Types::Way way);

// Everything is prepared once, and started in each step.
class Exchange {
public:
    virtual ~Exchange() = default;
    virtual void start(int which) = 0; // of the two states of all quantities
    // Waits until more has come, and says whose halos: sides of this block. Empty: the exchange is
    // over, and what was sent may be overwritten.
    virtual std::vector<Side> wait_some() = 0;
};

// One persistent MPI_Neighbor_alltoallw: the least to write.
std::unique_ptr<Exchange> by_alltoallw(const Parts &parts, const Shape &shape,
                                       const Quantities &quantities);
// A persistent message for each neighbour: what has come can be used while others are under way.
std::unique_ptr<Exchange> by_messages(const Parts &parts, const Shape &shape,
                                      const Quantities &quantities);

} // namespace stencil
