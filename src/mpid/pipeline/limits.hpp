// SPDX-License-Identifier: BSD-3-Clause
// What a port may use, and how a message is cut.
#pragma once

#include "wire.hpp"

namespace heddle::pipeline {

constexpr int64_t smallest_chunk = 4096;
constexpr int64_t largest_chunk = int64_t{1} << 30;

struct Limits {
    int64_t chunk = 0;   // most bytes of a chunk that travels: a power of two
    int64_t window = 0;  // most chunks of a message on their way
    int64_t staging = 0; // bytes of staging memory each way
    int peer = HEDDLE_PEER_AUTO;
    int64_t in_place = 0; // from so many bytes on, out of one allocation, dense buffers are lent
                          // themselves
    int64_t patience = 0; // microseconds for which a message is offered before it is copied
    uint16_t number = 0;
};

// Whether they rule nothing out that the mode needs.
bool allows(const Limits &limits, Mode mode);

// Errors: ARG.
int find_limits(const heddle_port_options *options, Limits &limits);

// Bytes that are moved in about the time that a launch and a header take.
int64_t worth_a_launch(Mode mode);

// Most bytes of a chunk, where `chunk` is that of one that travels.
int64_t most_of(Mode mode, int64_t chunk);

// The chunk for a message of `bytes` bytes between ports of which the lower limit is `chunk`: small
// enough that packing, sending and unpacking overlap, large enough to be worth a launch and a
// header. By reference those are as large as may be: packing takes a fraction of the time that
// reading does, and the launches of another chunk as long as what they would hide (two H200s, 6.4
// MB of irregular blocks: 48 us in one chunk, 57 in two). A multiple of the smallest; none is much
// shorter than the others.
int64_t chunk_of(Mode mode, int64_t bytes, int64_t chunk);

// The chunk where nothing is packed: all of it, if that goes.
int64_t whole_chunk(int64_t bytes);

} // namespace heddle::pipeline
