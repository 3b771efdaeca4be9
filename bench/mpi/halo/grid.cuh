// SPDX-License-Identifier: BSD-3-Clause
// A periodic 3-D grid of several quantities with a halo, a block of it on each GPU, and the 26
// regions of it that travel. Axes are ordered quantity, z, y, x, as they lie in memory.
#pragma once

#include "../../gpu/owner.hpp"

#include <mpi.h>

#include <array>

namespace bench {

constexpr int directions = 26;

// A part of the block, halo included, in cells.
struct Region {
    int start[3], count[3]; // z, y, x; all quantities
    int64_t first;          // of its cells among those of all regions, packed in their order
};

// What kernels are told.
struct Block {
    int whole[3], interior[3], place[3], dims[3]; // cells with and without halo; of the process in
                                                  // the grid of them
    int radius, quantities;
    Region out[directions], in[directions]; // message i travels from out[i] to in[i] of another
    int64_t packed;                         // cells of all regions that go out

    __host__ __device__ int64_t cells() const
    {
        return int64_t{quantities} * whole[0] * whole[1] * whole[2];
    }
};

class Grid {
public:
    // A block of `size` cells along each axis for every process of MPI_COMM_WORLD,
    // which goes with it.
    Grid(int size, int radius, int quantities);
    Grid(const Grid &) = delete;
    ~Grid();

    const Block &block() const { return block_; }
    MPI_Comm comm() const { return comm_; }
    // Who sends message i here, and who gets it from here.
    int source(int i) const { return sources_[static_cast<size_t>(i)]; }
    int destination(int i) const { return destinations_[static_cast<size_t>(i)]; }
    double *cells() const { return reinterpret_cast<double *>(cells_.get()); }

    // The interior gets the values of an exchange, the halo none of them.
    void fill(int exchange) const;
    // How many cells, halo included, do not hold what they should after it.
    int64_t wrong(int exchange) const;

private:
    Block block_{};
    MPI_Comm comm_;
    std::array<int, directions> sources_{}, destinations_{};
    Device cells_;
};

} // namespace bench
