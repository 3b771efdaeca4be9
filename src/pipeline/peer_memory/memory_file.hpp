// SPDX-License-Identifier: BSD-3-Clause
// Memory that other processes of the node can map, too. Nothing in the file system names it, and it
// goes with the last process that maps it; others find it among the open files of the one that made
// it, for as long as that lives.
#pragma once

#include "engine/error.hpp"
#include "gpu/core/devices.hpp"

#include <cstdint>
#include <string>
#include <sys/types.h>

namespace heddle::pipeline {

// By which other processes that see the one that made it in /proc find it, for as long as that
// lives.
struct SharedName {
    uint64_t magic;
    uint64_t inode; // the number of a process may come again, and that of a file
    uint64_t bytes;
    int32_t process;
    int32_t file;
};

class SharedMemory {
public:
    SharedMemory() = default;
    SharedMemory(const SharedMemory &) = delete;
    SharedMemory &operator=(const SharedMemory &) = delete;
    ~SharedMemory();

    // New memory, all zeros; `name` stands in /proc. Errors: NO_MEMORY; DEVICE where the system has
    // no such memory.
    Error make(size_t bytes, const char *name = "heddle");
    SharedName name() const;
    // Nobody opens it any more.
    void close_file();
    // Pins it near the device, and writes its name. Errors: NO_MEMORY, DEVICE.
    Error publish(gpu::Device &device, unsigned char key[gpu::Backend::handle_bytes]);
    // What another process made: `path` leads to it. `inode`, if it is not 0, must be its own.
    // Errors: FORMAT where there is no such memory (any more), or it must not be seen; NO_MEMORY;
    // DEVICE.
    Error open(const std::string &path, size_t bytes, uint64_t inode = 0);
    Error open(const SharedName &name);
    // The same for `device`: each device reaches it, so chunks meet there
    // where devices do not reach each other.
    Error open(gpu::Device &device, const unsigned char key[gpu::Backend::handle_bytes]);

    char *at() const { return at_; }
    size_t bytes() const { return bytes_; }

private:
    Error map(size_t bytes);
    Error pin(gpu::Device &device);

    int file_ = -1;
    char *at_ = nullptr;
    size_t bytes_ = 0;
    gpu::Device *device_ = nullptr; // once pinned for it
};

// Whether memory or descriptors have run out, by `errno`: there may be some another time.
bool is_shortage(int reason);

// Of an open file of a process; without one, of all of them.
std::string path_of(pid_t process, const std::string &file = "");

} // namespace heddle::pipeline
