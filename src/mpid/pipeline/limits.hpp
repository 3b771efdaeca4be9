// SPDX-License-Identifier: BSD-3-Clause
// What a port may use, and how a message is cut.
#pragma once

#include "heddle.h"

namespace heddle::pipeline {

constexpr int64_t smallest_chunk = 4096;

struct Limits {
    int64_t chunk = 0;   // most bytes of a chunk: a power of two
    int64_t window = 0;  // most chunks of a message on their way
    int64_t staging = 0; // bytes of staging memory each way
    int peer = HEDDLE_PEER_AUTO;
    uint32_t number = 0;
};

// Errors: ARG.
int find_limits(const heddle_port_options *options, Limits &limits);

// The chunk for a message of `bytes` bytes: small enough that packing, sending and unpacking overlap, large
// enough to be worth a launch and a header.
int64_t chunk_of(int64_t bytes, int64_t most);

} // namespace heddle::pipeline
