// SPDX-License-Identifier: BSD-3-Clause
// Memory that other processes of the node can map, too. Nothing in the file system names it, and it
// goes with the last process that maps it; others find it among the open files of the one that made
// it, for as long as that lives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <sys/types.h>

namespace heddle::pipeline {

class MemoryFile {
public:
    MemoryFile() = default;
    MemoryFile(const MemoryFile &) = delete;
    MemoryFile &operator=(const MemoryFile &) = delete;
    ~MemoryFile();

    // New memory, all zeros. Errors: NO_MEMORY; DEVICE where the system has no such memory.
    int make(const char *name, size_t bytes);
    // What another process made: `path` leads to it. `inode`, if it is not 0, must be its own.
    // Errors: FORMAT where there is no such memory (any more), or it must not be seen; NO_MEMORY;
    // DEVICE.
    int open(const std::string &path, size_t bytes, uint64_t inode);

    char *at() const { return at_; }
    size_t bytes() const { return bytes_; }
    // Of what this process made: its number among the open files, and what tells it from a later
    // one with that number.
    int number() const { return file_; }
    uint64_t inode() const;

private:
    int map(size_t bytes);

    int file_ = -1;
    char *at_ = nullptr;
    size_t bytes_ = 0;
};

// Of an open file of a process; without one, of all of them.
std::string path_of(pid_t process, const std::string &file = "");

} // namespace heddle::pipeline
