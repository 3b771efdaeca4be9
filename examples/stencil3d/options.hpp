// SPDX-License-Identifier: BSD-3-Clause
// What the program is asked to do.
#pragma once

#include "grid.hpp"
#include "shape.hpp"

#include <stdexcept>
#include <string>
#include <vector>

namespace stencil {

struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Options {
    int64_t each = 32;
    Cells size{}; // 0: by `each`
    int steps = 20, quantities = 8, radius = 3, broken = 0;
    std::string shape = "faces", memory = "host", exchange = "messages", picture;
    struct OfDirection {
        Side side;
        int radius;
    };
    std::vector<OfDirection> radii;
    bool overlaps = true, reorders = true, checks = false, tests = false, helps = false;
};

extern const char *const usage;

// Throws UsageError.
Options parse(int argc, char **argv);

Shape shape_of(const Options &options);

} // namespace stencil
