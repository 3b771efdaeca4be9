// SPDX-License-Identifier: BSD-3-Clause
// Axes, directions, boxes of cells. Axis 0 is x, which is fastest in memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stencil {

using Cells = std::array<int64_t, 3>; // along x, y, z
using Side = std::array<int, 3>;      // -1, 0 or 1 along x, y, z

// All sides of a block have numbers, its middle included. The opposite of side i is side 26 - i.
constexpr int kSides = 27;
constexpr int kMiddle = 13;

constexpr int number_of(const Side &side)
{
    return (side[0] + 1) * 9 + (side[1] + 1) * 3 + side[2] + 1;
}
constexpr Side side_of(int number) { return {number / 9 - 1, number / 3 % 3 - 1, number % 3 - 1}; }
constexpr Side opposite(const Side &side) { return {-side[0], -side[1], -side[2]}; }

// Cells from `begin` up to, but without, `end`.
struct Box {
    Cells begin{}, end{};

    int64_t extent(int axis) const
    {
        const auto a = static_cast<size_t>(axis);
        return end[a] - begin[a];
    }
    int64_t cells() const { return extent(0) * extent(1) * extent(2); }
    bool is_empty() const { return extent(0) <= 0 || extent(1) <= 0 || extent(2) <= 0; }
};

constexpr int64_t product(const Cells &cells) { return cells[0] * cells[1] * cells[2]; }

} // namespace stencil
