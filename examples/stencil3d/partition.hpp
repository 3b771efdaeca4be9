// SPDX-License-Identifier: BSD-3-Clause
// Who computes what: a periodic grid is split among nodes, and each node's part among its GPUs
// (C. Pearson's dissertation, section 4.3).
#pragma once

#include "grid.hpp"
#include "shape.hpp"

namespace stencil {

class Partition {
public:
    // Recursive bisection by prime factors, the largest first: each split adds as little surface as
    // it can. Parts differ by one cell along an axis. Throws std::invalid_argument where a part
    // would be thinner than its neighbours' halo.
    Partition(const Cells &extents, int nodes, int gpus, const Shape &shape);
    // A cube of so many cells for each GPU; the grid is as compact as it can be.
    static Partition of_cubes(int64_t edge, int nodes, int gpus, const Shape &shape);

    const Cells &extents() const { return extents_; }
    const Cells &nodes() const { return nodes_; } // along each axis
    const Cells &gpus() const { return gpus_; }   // of a node
    int parts() const { return static_cast<int>(product(nodes_) * product(gpus_)); }

    // Parts are numbered row by row, as most programs do: MPI finds out who is near whom.
    Cells place(int part) const;
    int part(Cells place) const; // periodic
    int neighbour(int part, const Side &side) const;
    // Its cells in the grid.
    Box box(int part) const;

private:
    Partition(const Cells &extents, const Cells &nodes, const Cells &gpus, const Shape &shape);

    Cells extents_, nodes_, gpus_;
};

} // namespace stencil
