// SPDX-License-Identifier: BSD-3-Clause
// Where a process is, so that two know whether they can read each other's device memory.
#pragma once

#include <cstdint>

namespace heddle::pipeline {

struct Whereabouts {
    uint64_t node = 0;    // the same for all processes that see each other; 0: not known
    uint64_t process = 0; // no other process has the same, nor will one that gets its number later
};

// Of this process.
Whereabouts whereabouts();

} // namespace heddle::pipeline
