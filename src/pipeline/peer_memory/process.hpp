// SPDX-License-Identifier: BSD-3-Clause
// Which process of which node this is, and whether another one still lives.
#pragma once

#include <cstdint>
#include <sys/types.h>

namespace heddle::pipeline {

struct ProcessId {
    uint64_t node = 0;    // the same for all processes that see each other; 0: not known
    uint64_t process = 0; // no other process has the same, nor will one that gets its number later
};

// Of `process`, the bits that are the process's number on its node, as many as Linux gives them;
// the others are random.
constexpr int number_bits = 22;
constexpr pid_t number_of(uint64_t process)
{
    return static_cast<pid_t>(process & ((1u << number_bits) - 1));
}

// Of this process.
ProcessId process_id();

// Whether a process of this node has. Once true it stays so. False where it cannot be seen. The
// first look should come while it lives: a process that begins later may have its number.
bool has_ended(uint64_t process);

} // namespace heddle::pipeline
