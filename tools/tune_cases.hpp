// SPDX-License-Identifier: BSD-3-Clause
// What is measured for a table: layouts that stand for each pattern of the model, and the amounts,
// blocks and methods of each of its grids.
#pragma once

#include "gpu/model/question.hpp"
#include "handle.hpp"

#include <vector>

namespace heddle::tools {

using gpu::model::Path;
using gpu::model::Pattern;

// A layout of about so many bytes: never more, and at least one block.
struct Layout {
    Type type;
    int64_t count = 1;
    int64_t bytes = 0; // packed
    int64_t span = 0;  // from the buffer's address to behind its last byte
};

// `spread`: how far apart blocks begin, by their length; 0: as the grid was measured.
// Throws std::runtime_error where the library refuses.
Layout layout_of(Pattern pattern, Path path, int64_t bytes, int64_t block, int64_t spread = 0);

// A grid for each of the methods.
struct GridPlan {
    Pattern pattern;
    Path path;
    std::vector<const char *> methods;
    std::vector<int64_t> bytes, blocks;
};

// The grids of a table. `quick`: fewer entries. No amounts above `most_bytes`.
std::vector<GridPlan> grid_plans(bool quick, int64_t most_bytes);

// Several contiguous copies in one call: how many, and their sizes.
constexpr int copies_together = 8;
std::vector<int64_t> together_sizes(int64_t most_bytes);

} // namespace heddle::tools
