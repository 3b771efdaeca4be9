// SPDX-License-Identifier: BSD-3-Clause
// The equations, as sums: a new value is a sum of old values around it, each with a factor. They
// are those of sound in a gas that damps it, and of dyes that spread in it.
#pragma once

#include "grid.hpp"
#include "shape.hpp"

#include <cstddef>
#include <vector>

namespace stencil {

constexpr int kDensity = 0;
constexpr int kVelocity = 1; // and the next two; the others are dyes
constexpr int kFewestQuantities = 4;
constexpr int kMostQuantities = 16;

struct Term {
    int64_t offset; // from the cell, in cells of memory
    int source;     // quantity
    double factor;
};

// Terms [first[q], first[q + 1]) make quantity q.
struct Update {
    std::vector<int> first;
    std::vector<Term> terms;
};

// How a block lies in memory: its cells and margins. Quantities are allocations of their own.
struct Layout {
    Cells whole{};  // with margins
    Cells before{}; // margins before the first cell
    Cells cells{};  // without margins

    int64_t index(int64_t x, int64_t y, int64_t z) const
    {
        return (z * whole[1] + y) * whole[0] + x;
    }
    size_t size() const { return static_cast<size_t>(product(whole)); }
    // The block's own cells, as indices that count margins.
    Box own() const
    {
        Box box{before, before};
        for (size_t axis = 0; axis < 3; ++axis)
            box.end[axis] += cells[axis];
        return box;
    }
};

Layout layout_of(const Cells &cells, const Shape &shape);

// Finite differences as accurate as the shape's radii allow, also where those of two opposite
// directions differ.
Update make_update(const Shape &shape, const Layout &layout, int quantities);

// On the host: `in` and `out` are a pointer for each quantity. The order of additions is the
// kernel's, so results have the same bits.
void update_on_host(const Update &update, const Layout &layout, const Box &box, double *const in[],
                    double *const out[]);

} // namespace stencil
