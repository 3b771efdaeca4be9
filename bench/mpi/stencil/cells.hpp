// SPDX-License-Identifier: BSD-3-Clause
// Values of a block's cells that tell where they belong, written and compared where they lie.
#pragma once

#include "../../../examples/stencil3d/device.hpp"

#include <cstdint>

#ifdef __CUDACC__
#define BENCH_ANYWHERE __host__ __device__
#else
#define BENCH_ANYWHERE
#endif

namespace bench {

// A block of a periodic grid, as a kernel takes it.
struct Block {
    int64_t whole[3], before[3], cells[3]; // x, y, z: with margins; before and without them
    int64_t first[3], grid[3];             // its first cell in the grid; the grid's extents
    int quantities;
    double *at[stencil::kMostQuantities];

    BENCH_ANYWHERE int64_t size() const { return whole[0] * whole[1] * whole[2]; }
    // Of the cell with this index, at a round; `is_halo`: it lies in the margins.
    BENCH_ANYWHERE double value(int quantity, int64_t index, int round, bool &is_halo) const
    {
        int64_t number = int64_t{round} % 16 * quantities + quantity;
        const int64_t place[3] = {index % whole[0], index / whole[0] % whole[1],
                                  index / whole[0] / whole[1]};
        is_halo = false;
        for (int axis = 2; axis >= 0; --axis) {
            const int64_t own = place[axis] - before[axis];
            is_halo = is_halo || own < 0 || own >= cells[axis];
            number = number * grid[axis] + (first[axis] + own + grid[axis]) % grid[axis];
        }
        return static_cast<double>(number);
    }
};

// Own cells get the values of a round, margins another one.
void fill_cells(stencil::Device &device, const Block &block, int round);
// How many cells, margins included, do not have them.
int64_t count_wrong(stencil::Device &device, const Block &block, int round);
// Of the bits of all own cells.
uint64_t checksum(stencil::Device &device, const Block &block);

} // namespace bench
