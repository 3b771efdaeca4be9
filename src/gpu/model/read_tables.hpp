// SPDX-License-Identifier: BSD-3-Clause
// Tables as a file holds them, in JSON (heddle-tune writes such files):
//
//   {"heddle_tuning": 1, "device": "...", "together_most_bytes": N,
//    "together_link_most_bytes": N,
//    "grids": [{"method": "...", "pattern": "...", "path": "...",
//               "bytes": [...], "blocks": [...], "us": [[...], ...]}, ...]}
//
// The number behind "heddle_tuning" is the version of this form. Other members say how the table
// was made; nothing here depends on them.
#pragma once

#include "gpu/model/tables.hpp"

namespace heddle::gpu::model {

constexpr int tables_version = 1;

// Reads `file` into `tables`. Empty where all is well; else why not, in words that complete "FILE
// is ignored: ", and `tables` stays as it was.
std::string read_tables(const std::string &file, Tables &tables);

} // namespace heddle::gpu::model
