// SPDX-License-Identifier: BSD-3-Clause
#include "step.hpp"

#include <algorithm>

namespace stencil {

namespace {

// Along one axis a block has cells near its beginning, in the middle, and near its end.
Box third_of(const Layout &layout, const Shape &shape, const Side &side)
{
    Box box = layout.own();
    const Cells before = shape.before(), behind = shape.behind();
    for (size_t axis = 0; axis < 3; ++axis) {
        const int64_t low = std::min(box.begin[axis] + before[axis], box.end[axis]);
        const int64_t high = std::max(box.end[axis] - behind[axis], low);
        if (side[axis] < 0)
            box.end[axis] = low;
        else if (side[axis] > 0)
            box.begin[axis] = high;
        else
            box.begin[axis] = low, box.end[axis] = high;
    }
    return box;
}

// Whether some cell of the box looks over a side of the block.
bool reaches(const Box &box, const Layout &layout, const Shape &shape, const Side &side)
{
    const Box own = layout.own();
    bool does = shape.halo(side) > 0;
    for (size_t axis = 0; axis < 3; ++axis) {
        if (side[axis] < 0)
            does = does && box.begin[axis] < own.begin[axis] + shape.before()[axis];
        if (side[axis] > 0)
            does = does && box.end[axis] > own.end[axis] - shape.behind()[axis];
    }
    return does;
}

} // namespace

std::vector<Region> regions_of(const Layout &layout, const Shape &shape)
{
    std::vector<Region> regions;
    for (int i = 0; i < kSides; ++i) {
        Region region{third_of(layout, shape, side_of(i))};
        if (region.box.is_empty())
            continue;
        for (int side = 0; side < kSides; ++side)
            region.needs[static_cast<size_t>(side)] =
                side != kMiddle && reaches(region.box, layout, shape, side_of(side));
        regions.push_back(region);
    }
    // What needs least begins first: the inner cells.
    const auto needs = [](const Region &region) {
        return std::count(region.needs.begin(), region.needs.end(), true);
    };
    std::stable_sort(regions.begin(), regions.end(),
                     [&](const Region &a, const Region &b) { return needs(a) < needs(b); });
    return regions;
}

Stepper::Stepper(Quantities &quantities, Exchange &exchange, const Shape &shape)
    : quantities_(quantities), exchange_(exchange), regions_(regions_of(quantities.layout(), shape))
{
}

void Stepper::update(const Box &box)
{
    quantities_.device().update(box, quantities_.at(now_), quantities_.at(1 - now_));
}

void Stepper::update_ready(std::vector<bool> &is_begun)
{
    for (size_t i = 0; i < regions_.size(); ++i) {
        bool is_ready = !is_begun[i];
        for (size_t side = 0; side < kSides; ++side)
            is_ready = is_ready && (!regions_[i].needs[side] || has_come_[side]);
        if (!is_ready)
            continue;
        update(regions_[i].box);
        is_begun[i] = true;
    }
}

void Stepper::with_overlap()
{
    std::vector<bool> is_begun(regions_.size(), false);
    has_come_.fill(false);
    exchange_.start(now_);
    update_ready(is_begun); // the inner cells
    for (;;) {
        const std::vector<Side> sides = exchange_.wait_some();
        if (sides.empty())
            break;
        for (const Side &side : sides)
            has_come_[static_cast<size_t>(number_of(side))] = true;
        update_ready(is_begun);
    }
    quantities_.device().wait();
    now_ = 1 - now_;
}

void Stepper::without_overlap()
{
    exchange();
    update(quantities_.layout().own());
    quantities_.device().wait();
    now_ = 1 - now_;
}

void Stepper::exchange()
{
    exchange_.start(now_);
    while (!exchange_.wait_some().empty())
        ;
}

} // namespace stencil
