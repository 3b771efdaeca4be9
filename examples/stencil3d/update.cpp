// SPDX-License-Identifier: BSD-3-Clause
#include "update.hpp"

#include <array>
#include <cstdlib>
#include <utility>

namespace stencil {

namespace {

constexpr double kStep = 0.1;    // of time; a cell has the width 1, and sound the speed 1
constexpr double kDamping = 0.1; // of velocities and density, and how fast dyes spread

// The weights of the values at -before, ..., behind in the first or second derivative at 0: that of
// the polynomial through them. Empty where there are too few of them.
std::vector<double> difference(int derivative, int before, int behind)
{
    std::vector<double> weights;
    if (before + behind < derivative)
        return weights;
    for (int i = -before; i <= behind; ++i) {
        // The product of (x - j) for all j but i: its coefficients of 1, x and x squared.
        std::array<double, 3> product = {1, 0, 0};
        double at_i = 1;
        for (int j = -before; j <= behind; ++j) {
            if (j == i)
                continue;
            product = {-j * product[0], product[0] - j * product[1], product[1] - j * product[2]};
            at_i *= i - j;
        }
        weights.push_back(derivative * product[static_cast<size_t>(derivative)] / at_i);
    }
    return weights;
}

// Collects the terms of one quantity after the other.
class Maker {
public:
    Maker(const Shape &shape, const Layout &layout) : shape_(shape), layout_(layout) {}

    void begin() { made_.first.push_back(static_cast<int>(made_.terms.size())); }
    void add(int64_t offset, int source, double factor)
    {
        if (factor != 0)
            made_.terms.push_back({offset, source, factor});
    }
    // A derivative along a direction, times a factor.
    void add_derivative(int derivative, const Side &direction, int source, double factor)
    {
        const int before = shape_.radius(opposite(direction)), behind = shape_.radius(direction);
        const int64_t step = layout_.index(direction[0], direction[1], direction[2]);
        const std::vector<double> weights = difference(derivative, before, behind);
        for (size_t i = 0; i < weights.size(); ++i)
            add((static_cast<int64_t>(i) - before) * step, source, factor * weights[i]);
    }
    // What spreads, or is damped: second derivatives along all directions, of which there are
    // several for each axis.
    void add_spreading(int quantity)
    {
        for (int i = kMiddle + 1; i < kSides; ++i) {
            const Side side = side_of(i);
            const int squared = std::abs(side[0]) + std::abs(side[1]) + std::abs(side[2]);
            add_derivative(2, side, quantity, kStep * kDamping / (squared * squared));
        }
    }
    Update finish()
    {
        begin();
        return std::move(made_);
    }

private:
    const Shape &shape_;
    const Layout &layout_;
    Update made_;
};

Side along(int axis)
{
    Side side{};
    side[static_cast<size_t>(axis)] = 1;
    return side;
}

} // namespace

Layout layout_of(const Cells &cells, const Shape &shape)
{
    Layout layout{cells, shape.before(), cells};
    const Cells behind = shape.behind();
    for (size_t axis = 0; axis < 3; ++axis)
        layout.whole[axis] += layout.before[axis] + behind[axis];
    return layout;
}

Update make_update(const Shape &shape, const Layout &layout, int quantities)
{
    Maker maker(shape, layout);
    for (int q = 0; q < quantities; ++q) {
        maker.begin();
        maker.add(0, q, 1);
        for (int axis = 0; axis < 3; ++axis) {
            if (q == kDensity) // it falls where more flows out than in
                maker.add_derivative(1, along(axis), kVelocity + axis, -kStep);
            if (q == kVelocity + axis) // towards less pressure
                maker.add_derivative(1, along(axis), kDensity, -kStep);
        }
        maker.add_spreading(q);
    }
    return maker.finish();
}

void update_on_host(const Update &update, const Layout &layout, const Box &box, double *const in[],
                    double *const out[])
{
    for (size_t q = 0; q + 1 < update.first.size(); ++q)
        for (int64_t z = box.begin[2]; z < box.end[2]; ++z)
            for (int64_t y = box.begin[1]; y < box.end[1]; ++y)
                for (int64_t x = box.begin[0]; x < box.end[0]; ++x) {
                    const int64_t at = layout.index(x, y, z);
                    double sum = 0;
                    for (int t = update.first[q]; t < update.first[q + 1]; ++t) {
                        const Term &term = update.terms[static_cast<size_t>(t)];
                        sum += term.factor * in[term.source][at + term.offset];
                    }
                    out[q][at] = sum;
                }
}

} // namespace stencil
