// SPDX-License-Identifier: BSD-3-Clause
// How messages are cut: by the rates of packing and of the links that a table has, or as it was
// found on H100s.
#pragma once

#include "gpu/model/tables.hpp"

#include <algorithm>

namespace heddle::gpu::model {

struct MessageSizes {
    // Most bytes of a chunk that travels, or stays in host memory; and of one between nodes.
    int64_t chunk = int64_t{1} << 20;
    int64_t chunk_between_nodes = chunk;
    // Most bytes of a message that travels sooner packed as a whole than in chunks.
    int64_t whole = int64_t{1} << 17;
    // Bytes that are moved in about the time that a launch and a header take: by the transport,
    // over a device's link with the host, and over a link between devices.
    int64_t worth_value = int64_t{1} << 17;
    int64_t worth_shared = int64_t{1} << 18;
    int64_t worth_reference = int64_t{1} << 21;
    // What a message takes by the transport, by its size. Empty: not known.
    Grid transport;
};

// Into how many chunks a message is cut: each of at most `chunk` bytes and, up to four, worth a
// launch. So packing, sending and unpacking overlap.
constexpr int64_t pieces_of(int64_t bytes, int64_t chunk, int64_t worth)
{
    constexpr int64_t overlapping = 4;
    const int64_t fewest = bytes / chunk + (bytes % chunk != 0);
    return std::max({fewest, std::min(bytes / worth, overlapping), int64_t{1}});
}

// Chunks of a message on their way, where nobody says how many.
constexpr int64_t least_window = 8;

// Chunks of `chunk` bytes that keep the transport busy. It moves so many while one goes there and
// its answer comes back (the bandwidth-delay product); one each is packed and unpacked meanwhile.
// At least least_window, beyond that no more than `staging` bytes.
int64_t window_of(const MessageSizes &sizes, int64_t chunk, int64_t staging);

// What a table has no links for stays as it is above. All sizes are powers of two.
MessageSizes message_sizes(const Tables &tables);

} // namespace heddle::gpu::model
