// SPDX-License-Identifier: BSD-3-Clause
#include "shape.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

namespace stencil {

Shape::Shape(const std::string &word, int radius)
{
    const int components = word == "faces" ? 1 : word == "edges" ? 2 : word == "corners" ? 3 : 0;
    if (components == 0)
        throw std::invalid_argument("a shape is faces, edges or corners, not " + word);
    for (int i = 0; i < kSides; ++i) {
        const Side side = side_of(i);
        const int used = std::abs(side[0]) + std::abs(side[1]) + std::abs(side[2]);
        if (used > 0 && used <= components)
            set(side, radius);
    }
}

int Shape::halo(const Side &side) const
{
    int deepest = 0;
    for (int i = 0; i < kSides; ++i) {
        const Side direction = side_of(i);
        bool leaves_there = i != kMiddle;
        for (size_t axis = 0; axis < 3; ++axis)
            leaves_there = leaves_there && (side[axis] == 0 || side[axis] == direction[axis]);
        if (leaves_there)
            deepest = std::max(deepest, radius(direction));
    }
    return deepest;
}

Cells Shape::before() const { return {halo({-1, 0, 0}), halo({0, -1, 0}), halo({0, 0, -1})}; }
Cells Shape::behind() const { return {halo({1, 0, 0}), halo({0, 1, 0}), halo({0, 0, 1})}; }

} // namespace stencil
