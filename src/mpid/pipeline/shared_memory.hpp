// SPDX-License-Identifier: BSD-3-Clause
// Host memory that several processes of a node map, each device of which reaches it: chunks meet
// there where devices do not reach each other. Nothing in the file system names it, and it goes
// with the last process that maps it.
#pragma once

#include "../../gpu/devices.hpp"
#include "memory_file.hpp"

namespace heddle::pipeline {

class SharedMemory {
public:
    SharedMemory() = default;
    SharedMemory(const SharedMemory &) = delete;
    SharedMemory &operator=(const SharedMemory &) = delete;
    ~SharedMemory();

    // New memory, for `device`. Errors: NO_MEMORY; DEVICE where the system has no such memory.
    int make(gpu::Device &device, size_t bytes);
    // Pins it near the device, and writes what names it for other processes that see this one in
    // /proc, for as long as this one lives. Errors: NO_MEMORY, DEVICE.
    int publish(unsigned char handle[gpu::Backend::handle_bytes]);
    // What another process named so, for `device`. Errors: FORMAT where there is no such memory
    // (any more), or it must not be seen; NO_MEMORY; DEVICE.
    int open(gpu::Device &device, const unsigned char handle[gpu::Backend::handle_bytes]);

    char *at() const { return file_.at(); }
    size_t bytes() const { return file_.bytes(); }

private:
    int pin();

    gpu::Device *device_ = nullptr;
    MemoryFile file_;
    bool pinned_ = false;
};

} // namespace heddle::pipeline
