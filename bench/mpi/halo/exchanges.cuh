// SPDX-License-Identifier: BSD-3-Clause
// The halo exchange by MPI's datatypes, and by hand.
#pragma once

#include "../by_hand.hpp"
#include "grid.cuh"

#include <map>
#include <memory>

namespace bench {

// MPI_Type_create_subarray for every region.
class ByMpi {
public:
    explicit ByMpi(const Grid &grid);
    ByMpi(const ByMpi &) = delete;
    ~ByMpi();
    void by_isend() const;
    void by_neighbours() const; // MPI_Neighbor_alltoallw

private:
    const Grid &grid_;
    MPI_Comm graph_;
    std::array<MPI_Datatype, directions> out_, in_;
};

// One kernel packs all regions, each into the memory of the GPU that it belongs to (CUDA IPC). A
// message of no bytes goes to and comes from each neighbour. One kernel unpacks all. The memory for
// packed data is there twice, so that nobody has to be asked whether it was unpacked.
class HaloByHand {
public:
    explicit HaloByHand(const Grid &grid);
    void exchange();

private:
    const Grid &grid_;
    Device landing_;
    std::map<int, std::unique_ptr<Opened>> opened_; // by the neighbour's rank
    Stream stream_;
    int turn_ = 0;
};

} // namespace bench
