// SPDX-License-Identifier: BSD-3-Clause
// Whether another process of this node still lives, so that nobody waits for one that was killed.
#pragma once

#include <cstdint>

namespace heddle::pipeline {

// `process`: its name (whereabouts.hpp). Once true it stays so. False where it cannot be seen. The
// first look should come while it lives: a process that begins later may have its number.
bool has_ended(uint64_t process);

} // namespace heddle::pipeline
