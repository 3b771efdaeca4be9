// SPDX-License-Identifier: BSD-3-Clause
// How messages are cut: by the rates of packing and of the links that a table has, or as it was
// found on H100s.
#pragma once

#include "gpu/model/tables.hpp"

namespace heddle::gpu::model {

struct MessageSizes {
    // Most bytes of a chunk that travels, or stays in host memory.
    int64_t chunk = int64_t{1} << 20;
    // Bytes that are moved in about the time that a launch and a header take: by the transport,
    // over a device's link with the host, and over a link between devices.
    int64_t worth_value = int64_t{1} << 17;
    int64_t worth_shared = int64_t{1} << 18;
    int64_t worth_reference = int64_t{1} << 21;
    // What a message takes by the transport, by its size. Empty: not known.
    Grid transport;
};

// Chunks of a message on their way, where nobody says how many.
constexpr int64_t least_window = 8;

// Chunks of `chunk` bytes that keep the transport busy. It moves so many while one goes there and
// its answer comes back (the bandwidth-delay product); one each is packed and unpacked meanwhile.
// At least least_window, beyond that no more than `staging` bytes.
int64_t window_of(const MessageSizes &sizes, int64_t chunk, int64_t staging);

// What a table has no links for stays as it is above. All sizes are powers of two.
MessageSizes message_sizes(const Tables &tables);

} // namespace heddle::gpu::model
