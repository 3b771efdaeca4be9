// SPDX-License-Identifier: BSD-3-Clause
// The image and list of a type of many irregular blocks. Its arrays go to the device as they are,
// out of the type's own memory, and the device makes the list there (Backend::list_runs). The
// processor does not read them.
#pragma once

#include "gpu/core/devices.hpp"
#include "gpu/image/repeated.hpp"

namespace heddle::gpu {

// Whether it is one: the list is the arrays of one node.
bool is_long_list(const Plan &plan, const Repeated &of);

class LongList {
public:
    // Of a plan and its part that make one.
    LongList(const Plan &plan, const Repeated &of);

    // Of device memory.
    size_t bytes() const { return bytes_; }

    // Fills so many bytes of device memory, or `on_host` of pinned memory, and waits for that. The
    // list is left out where a block is too far away for one.
    Error fill(Device &device, bool on_host, char *memory, ImageView &image, RunList &runs) const;

private:
    Listing listing(char *memory) const;

    const Image &image_;
    const Repeated of_;
    ImageNode root_;
    int64_t even_; // bytes of each block; 0: they differ
    int64_t tiles_;
    // Where what lies in the memory. Nodes and facts come first, for they are one copy.
    size_t nodes_ = 0, facts_ = 0, side_ = 0, prefix_ = 0, entries_ = 0, tile_ = 0;
    size_t bytes_ = 0;
};

} // namespace heddle::gpu
