// SPDX-License-Identifier: BSD-3-Clause
#include "explosion.hpp"

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

namespace stencil {

namespace {

constexpr double kDensityAtRest = 0.5;
constexpr double kNoise = 1e-3;

// In [0, 1), of the cell and the quantity alone (the finalizer of MurmurHash3).
double random(int quantity, const Cells &cell, const Cells &extents)
{
    auto bits = static_cast<uint64_t>(
        ((quantity * extents[2] + cell[2]) * extents[1] + cell[1]) * extents[0] + cell[0] + 1);
    bits = (bits ^ (bits >> 33)) * 0xff51afd7ed558ccdULL;
    bits = (bits ^ (bits >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    return static_cast<double>((bits ^ (bits >> 33)) >> 11) * 0x1p-53;
}

// The component of the velocity along an axis, of an explosion's nearest image.
double velocity(const Explosion &explosion, const Cells &cell, const Cells &extents, size_t axis)
{
    double from_center[3], squared = 0;
    for (size_t a = 0; a < 3; ++a) {
        const auto extent = static_cast<double>(extents[a]);
        from_center[a] =
            std::remainder(static_cast<double>(cell[a]) + 0.5 - explosion.center[a], extent);
        squared += from_center[a] * from_center[a];
    }
    const double r = std::sqrt(squared);
    if (r == 0)
        return 0;
    const double outside = (r - explosion.radius) / explosion.width;
    return explosion.strength * std::exp(-0.5 * outside * outside) * from_center[axis] / r;
}

} // namespace

double Start::value(int quantity, Cells cell) const
{
    for (size_t axis = 0; axis < 3; ++axis)
        cell[axis] = (cell[axis] % extents_[axis] + extents_[axis]) % extents_[axis];
    const double noise = random(quantity, cell, extents_);
    if (quantity == kDensity)
        return kDensityAtRest + kNoise * noise;
    if (quantity >= kVelocity + 3)
        return noise;
    double sum = kNoise * noise;
    for (const Explosion &each : explosions_)
        sum += velocity(each, cell, extents_, static_cast<size_t>(quantity - kVelocity));
    return sum;
}

std::vector<Explosion> on_boundaries(const Partition &partition, const Side &side)
{
    std::vector<Explosion> all;
    for (int part = 0; part < partition.parts(); ++part) {
        const Box box = partition.box(part);
        Explosion explosion;
        for (size_t axis = 0; axis < 3; ++axis) {
            const int64_t at = side[axis] < 0   ? box.begin[axis]
                               : side[axis] > 0 ? box.end[axis]
                                                : (box.begin[axis] + box.end[axis]) / 2;
            explosion.center[axis] = static_cast<double>(at);
        }
        explosion.strength *= 1 + 0.1 * part;
        explosion.radius = 3;
        all.push_back(explosion);
    }
    return all;
}

namespace {

// Calls function(quantity's number, index in memory, cell of the grid) for each cell of a box.
// `first` is the grid's cell where the block's own cells begin.
template <class Function>
void each_cell(const Layout &layout, const Box &box, const Cells &first, Function function)
{
    for (int64_t z = box.begin[2]; z < box.end[2]; ++z)
        for (int64_t y = box.begin[1]; y < box.end[1]; ++y)
            for (int64_t x = box.begin[0]; x < box.end[0]; ++x)
                function(static_cast<size_t>(layout.index(x, y, z)),
                         Cells{first[0] + x - layout.before[0], first[1] + y - layout.before[1],
                               first[2] + z - layout.before[2]});
}

// A part and a margin around it that shrinks with each step, until the part itself is left.
class Alone {
public:
    Alone(const Box &part, const Shape &shape, const Start &start, int quantities, int steps)
        : quantities_(quantities)
    {
        const Cells before = shape.before(), behind = shape.behind();
        Cells first = part.begin;
        for (size_t axis = 0; axis < 3; ++axis) {
            layout_.before[axis] = steps * before[axis];
            layout_.cells[axis] = part.extent(static_cast<int>(axis));
            layout_.whole[axis] = layout_.cells[axis] + steps * (before[axis] + behind[axis]);
        }
        for (auto &state : states_)
            state.assign(static_cast<size_t>(quantities), std::vector<double>(layout_.size()));
        for (int q = 0; q < quantities; ++q)
            each_cell(layout_, {{0, 0, 0}, layout_.whole}, first,
                      [&](size_t at, const Cells &cell) {
                          states_[0][static_cast<size_t>(q)][at] = start.value(q, cell);
                      });
        const Update update = make_update(shape, layout_, quantities);
        Box box{{0, 0, 0}, layout_.whole};
        for (int step = 0; step < steps; ++step) {
            for (size_t axis = 0; axis < 3; ++axis) {
                box.begin[axis] += before[axis];
                box.end[axis] -= behind[axis];
            }
            const auto in = pointers(0), out = pointers(1);
            update_on_host(update, layout_, box, in.data(), out.data());
            std::swap(states_[0], states_[1]);
        }
    }

    const Layout &layout() const { return layout_; }
    const std::vector<double> &quantity(int q) const { return states_[0][static_cast<size_t>(q)]; }

private:
    std::array<double *, kMostQuantities> pointers(size_t state)
    {
        std::array<double *, kMostQuantities> all{};
        for (size_t q = 0; q < static_cast<size_t>(quantities_); ++q)
            all[q] = states_[state][q].data();
        return all;
    }

    int quantities_;
    Layout layout_;
    std::array<std::vector<std::vector<double>>, 2> states_;
};

} // namespace

void fill(const Quantities &quantities, int which, const Box &part, const Start &start)
{
    const Layout &layout = quantities.layout();
    for (int q = 0; q < quantities.count(); ++q) {
        std::vector<double> values(layout.size(), std::numeric_limits<double>::quiet_NaN());
        each_cell(layout, layout.own(), part.begin,
                  [&](size_t at, const Cells &cell) { values[at] = start.value(q, cell); });
        quantities.device().write(quantities.at(which)[q], values.data(), values.size());
    }
}

int64_t count_wrong(const Quantities &quantities, int which, const Box &part, const Shape &shape,
                    const Start &start, int steps)
{
    const Layout &layout = quantities.layout();
    const Alone alone(part, shape, start, quantities.count(), steps);
    int64_t wrong = 0;
    for (int q = 0; q < quantities.count(); ++q) {
        std::vector<double> found(layout.size());
        quantities.device().read(found.data(), quantities.at(which)[q], found.size());
        each_cell(layout, layout.own(), part.begin, [&](size_t at, const Cells &cell) {
            const double right = alone.quantity(q)[static_cast<size_t>(
                alone.layout().index(cell[0] - part.begin[0] + alone.layout().before[0],
                                     cell[1] - part.begin[1] + alone.layout().before[1],
                                     cell[2] - part.begin[2] + alone.layout().before[2]))];
            if (std::memcmp(&found[at], &right, sizeof right) == 0 || wrong++ > 0)
                return;
            std::fprintf(stderr,
                         "stencil3d: quantity %d of cell (%" PRId64 ", %" PRId64 ", %" PRId64
                         ") is %.17g, and should be %.17g\n",
                         q, cell[0], cell[1], cell[2], found[at], right);
        });
    }
    return wrong;
}

} // namespace stencil
