// SPDX-License-Identifier: BSD-3-Clause
// What the grid holds at first: a shell of gas that flies apart (C. Pearson's dissertation, section
// 4.6.7), and dyes without any order, of which no cell can be wrong unseen.
#pragma once

#include "device.hpp"
#include "partition.hpp"

#include <vector>

namespace stencil {

struct Explosion {
    std::array<double, 3> center{}; // in cells of the periodic grid
    double strength = 0.1;          // of the velocity
    double radius = 8, width = 2;   // of the shell
};

class Start {
public:
    Start(const Cells &extents, std::vector<Explosion> explosions)
        : extents_(extents), explosions_(std::move(explosions))
    {
    }
    // Of a cell anywhere; the grid is periodic.
    double value(int quantity, Cells cell) const;

private:
    Cells extents_;
    std::vector<Explosion> explosions_;
};

// An explosion on the boundary that each part has on a side, each of another strength.
std::vector<Explosion> on_boundaries(const Partition &partition, const Side &side);

// The first state of a part's own cells. Halos get a value that is no right one.
void fill(const Quantities &quantities, int which, const Box &part, const Start &start);

// Computes a part's cells anew, alone: in a block so large that no neighbour is needed. Returns how
// many of all quantities do not have the same bits, and says of the first on stderr.
int64_t count_wrong(const Quantities &quantities, int which, const Box &part, const Shape &shape,
                    const Start &start, int steps);

} // namespace stencil
