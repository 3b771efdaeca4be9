// SPDX-License-Identifier: BSD-3-Clause
// What was done since the process began, and what is held now, for heddle_info and
// heddle_counter_read.
#pragma once

#include <cstdint>
#include <vector>

namespace heddle::gpu {

struct Count {
    const char *group;       // a word
    const char *name;        // another
    const char *description; // of the group
    int64_t value;
    bool level = false; // goes down, too
};
using Counts = std::vector<Count>;

// `source` is asked for its counts for each reading. It gives the same ones each time, in one
// order. Sources are made before main begins, so that the numbers of their counters never change.
struct Source {
    explicit Source(void (*source)(Counts &counts));
};

Counts all_counts();

} // namespace heddle::gpu
