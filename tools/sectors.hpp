// SPDX-License-Identifier: BSD-3-Clause
// What memory moves for a layout: it reads and writes whole sectors.
#pragma once

#include "build.hpp"

#include <cstdint>
#include <optional>

namespace heddle::tools {

constexpr int64_t sector = 32; // bytes, of a GPU's memory

// Bytes of the sectors that `count` instances of a committed type touch, each counted once, in a
// buffer that begins with one. Empty where there are too many runs to look at.
std::optional<int64_t> touched_bytes(const Type &type, int64_t count);

} // namespace heddle::tools
