// SPDX-License-Identifier: BSD-3-Clause
// Tables as a file holds them, in JSON (heddle-tune writes such files):
//
//   {"heddle_tuning": 3, "device": "...", "together_most_bytes": N,
//    "together_link_most_bytes": N,
//    "grids": [{"method": "...", "pattern": "...", "path": "...",
//               "bytes": [...], "blocks": [...], "us": [[...], ...]}, ...]}
//
// Links may follow, of which each list may be missing:
//
//    "devices": N,
//    "peers": [{"method": "...", "from": N, "to": N, "bytes": [...], "us": [...]}, ...],
//    "nodes": [{"device": N, "node": N, "path": "...", "bytes": [...], "us": [...]}, ...],
//    "imports": [{"from": N, "to": N, "open_us": X, "bytes": [...], "us": [...]}, ...],
//    "messages": [{"where": "local" or "remote", "bytes": [...], "us": [...]}, ...]
//
// The number behind "heddle_tuning" is the version of this form. Version 1 has no links, version 2
// no messages. Other members say how the table was made; nothing here depends on them.
#pragma once

#include "gpu/model/tables.hpp"

namespace heddle::gpu::model {

constexpr int tables_version = 3;

// Reads `file` into `tables`. Empty where all is well; else why not, in words that complete "FILE
// is ignored: ", and `tables` stays as it was.
std::string read_tables(const std::string &file, Tables &tables);

} // namespace heddle::gpu::model
