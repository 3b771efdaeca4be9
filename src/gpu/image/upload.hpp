// SPDX-License-Identifier: BSD-3-Clause
// Copies from ordinary memory into a device's memory. They go by way of pinned slabs where there
// are any, for a copy from ordinary memory may wait for all of the device.
#pragma once

#include "gpu/core/devices.hpp"

#include <vector>

namespace heddle::gpu {

class Upload {
public:
    // `on_host`: to pinned memory in the place of the device's.
    Upload(Device &device, bool on_host) : device_(device), on_host_(on_host) {}
    Upload(const Upload &) = delete;
    // What has begun is over then.
    ~Upload();

    Error begin();
    // `is_pinned`: the source is, and stays until the end. Otherwise it is read before the call
    // returns.
    Error copy(char *to, const void *from, size_t bytes, bool is_pinned);
    // What else belongs to the upload goes on this stream.
    Stream stream() const { return stream_; }
    // Waits for all before, and reads a little of what was written.
    Error read(void *to, const void *from, size_t bytes);
    Error wait();

private:
    Error copy_bytes(void *to, const void *from, size_t bytes);

    Device &device_;
    const bool on_host_;
    Stream stream_ = nullptr;
    bool begun_ = false;      // the stream may be busy, also where it reads no slab
    std::vector<Slab> slabs_; // that copies read
};

} // namespace heddle::gpu
