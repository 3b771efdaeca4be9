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
    // over a device's link with the host, and over a link between devices. The first is measured by
    // no table.
    int64_t worth_value = int64_t{1} << 17;
    int64_t worth_shared = int64_t{1} << 18;
    int64_t worth_reference = int64_t{1} << 21;
};

// What a table has no links for stays as it is above. All are powers of two.
MessageSizes message_sizes(const Tables &tables);

} // namespace heddle::gpu::model
