// SPDX-License-Identifier: BSD-3-Clause
// The tables that come with Heddle. They are compiled in: a process that opens a device reads no
// file, and nobody can move or lose one. share/heddle has the same as files; maint/model-tables
// makes the source from those, and a test compares the two.
#pragma once

#include "gpu/core/backend.hpp"
#include "gpu/model/tables.hpp"

#include <span>

namespace heddle::gpu::model {

struct Constant {
    Method method;
    Pattern pattern;
    Path path;
    std::span<const int64_t> bytes, blocks;
    std::span<const float> us; // a row for each of `bytes`
};

struct Builtin {
    const char *device;
    int64_t together_most_bytes, together_link_most_bytes;
    std::span<const Constant> grids;
};

// The median of two H100s, PCIe 5 (share/heddle/h100-pcie5.json).
extern const Builtin h100_pcie5;

Tables made(const Builtin &from);

} // namespace heddle::gpu::model
