// SPDX-License-Identifier: BSD-3-Clause
// Which cells a new value is made of: how far it looks in each of the 26 directions.
#pragma once

#include "grid.hpp"

#include <string>

namespace stencil {

class Shape {
public:
    // "faces": along the axes alone; "edges": across edges, too; "corners": across all.
    // Throws std::invalid_argument at other words.
    Shape(const std::string &word, int radius);

    void set(const Side &direction, int radius) { radius_[index(direction)] = radius; }
    int radius(const Side &direction) const { return radius_[index(direction)]; }

    // How deep the halo is that a block needs on one of its sides. A direction with more than one
    // component leaves the block over several sides. 0: nothing is needed of the neighbour there.
    int halo(const Side &side) const;
    // The same along the axes: the margins of a block in memory, before and behind its cells.
    Cells before() const;
    Cells behind() const;

private:
    static size_t index(const Side &side) { return static_cast<size_t>(number_of(side)); }

    std::array<int, kSides> radius_{};
};

} // namespace stencil
