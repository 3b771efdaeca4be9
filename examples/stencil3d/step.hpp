// SPDX-License-Identifier: BSD-3-Clause
// One step of time: cells that need no halo are updated while the halo travels, the others as soon
// as what they need has come.
#pragma once

#include "device.hpp"
#include "exchange.hpp"

#include <vector>

namespace stencil {

// A box of a block's cells, and the sides whose halo they need.
struct Region {
    Box box;
    std::array<bool, kSides> needs{};
};

// The inner cells, which need nothing, and up to 26 regions around them.
std::vector<Region> regions_of(const Layout &layout, const Shape &shape);

class Stepper {
public:
    Stepper(Quantities &quantities, Exchange &exchange, const Shape &shape);

    // From the present state to the next, which is the present one then.
    void with_overlap();
    void without_overlap();
    // The halo alone.
    void exchange();
    int now() const { return now_; }

private:
    void update_ready(std::vector<bool> &is_begun);
    void update(const Box &box);

    Quantities &quantities_;
    Exchange &exchange_;
    std::vector<Region> regions_;
    std::array<bool, kSides> has_come_{};
    int now_ = 0;
};

} // namespace stencil
