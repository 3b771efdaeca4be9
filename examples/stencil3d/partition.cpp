// SPDX-License-Identifier: BSD-3-Clause
#include "partition.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace stencil {

namespace {

// The largest first.
std::vector<int> prime_factors(int n)
{
    std::vector<int> factors;
    for (int p = 2; p <= n; ++p)
        for (; n % p == 0; n /= p)
            factors.insert(factors.begin(), p);
    return factors;
}

// How many parts along each axis; `surface` tells what a cut across an axis adds, of a piece.
Cells split(int parts, std::array<double, 3> piece, const Cells &depth)
{
    Cells dims = {1, 1, 1};
    const auto surface = [&](size_t axis) {
        return piece[(axis + 1) % 3] * piece[(axis + 2) % 3] * static_cast<double>(depth[axis]);
    };
    for (const int factor : prime_factors(parts)) {
        size_t best = 0;
        for (size_t axis = 1; axis < 3; ++axis)
            if (surface(axis) < surface(best))
                best = axis;
        dims[best] *= factor;
        piece[best] /= factor;
    }
    return dims;
}

std::array<double, 3> pieces(const Cells &extents, const Cells &dims)
{
    std::array<double, 3> piece;
    for (size_t axis = 0; axis < 3; ++axis)
        piece[axis] = static_cast<double>(extents[axis]) / static_cast<double>(dims[axis]);
    return piece;
}

// Of both sides; an axis without a halo costs little.
Cells depths(const Shape &shape)
{
    const Cells before = shape.before(), behind = shape.behind();
    Cells depth;
    for (size_t axis = 0; axis < 3; ++axis)
        depth[axis] = before[axis] + behind[axis];
    return depth;
}

// Grows where the grid is thinnest, so that it stays compact.
Cells grow(int parts, Cells &extents)
{
    Cells dims = {1, 1, 1};
    for (const int factor : prime_factors(parts)) {
        const auto thinnest =
            static_cast<size_t>(std::min_element(extents.begin(), extents.end()) - extents.begin());
        dims[thinnest] *= factor;
        extents[thinnest] *= factor;
    }
    return dims;
}

Cells split_nodes(const Cells &extents, int nodes, const Shape &shape)
{
    return split(nodes, pieces(extents, {1, 1, 1}), depths(shape));
}

} // namespace

Partition::Partition(const Cells &extents, int nodes, int gpus, const Shape &shape)
    : Partition(extents, split_nodes(extents, nodes, shape),
                split(gpus, pieces(extents, split_nodes(extents, nodes, shape)), depths(shape)),
                shape)
{
}

Partition Partition::of_cubes(int64_t edge, int nodes, int gpus, const Shape &shape)
{
    Cells extents = {edge, edge, edge};
    const Cells of_node = grow(gpus, extents), of_all = grow(nodes, extents);
    return Partition(extents, of_all, of_node, shape);
}

Partition::Partition(const Cells &extents, const Cells &nodes, const Cells &gpus,
                     const Shape &shape)
    : extents_(extents), nodes_(nodes), gpus_(gpus)
{
    const Cells before = shape.before(), behind = shape.behind();
    for (size_t axis = 0; axis < 3; ++axis) {
        const int64_t thinnest = extents[axis] / (nodes[axis] * gpus[axis]);
        if (thinnest < std::max({before[axis], behind[axis], int64_t{1}}))
            throw std::invalid_argument("a part has " + std::to_string(thinnest) +
                                        " cells along axis " + "xyz"[axis] +
                                        std::string(", less than the halo: choose a larger grid"));
    }
}

Cells Partition::place(int part) const
{
    const int64_t x = nodes_[0] * gpus_[0], y = nodes_[1] * gpus_[1];
    return {part % x, part / x % y, part / x / y};
}

int Partition::part(Cells place) const
{
    for (size_t axis = 0; axis < 3; ++axis) {
        const int64_t n = nodes_[axis] * gpus_[axis];
        place[axis] = (place[axis] % n + n) % n;
    }
    return static_cast<int>((place[2] * nodes_[1] * gpus_[1] + place[1]) * nodes_[0] * gpus_[0] +
                            place[0]);
}

int Partition::neighbour(int part_here, const Side &side) const
{
    Cells there = place(part_here);
    for (size_t axis = 0; axis < 3; ++axis)
        there[axis] += side[axis];
    return part(there);
}

Box Partition::box(int part) const
{
    Box box;
    const Cells at = place(part);
    for (size_t axis = 0; axis < 3; ++axis) {
        const int64_t n = nodes_[axis] * gpus_[axis];
        box.begin[axis] = extents_[axis] * at[axis] / n;
        box.end[axis] = extents_[axis] * (at[axis] + 1) / n;
    }
    return box;
}

} // namespace stencil
