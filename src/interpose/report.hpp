// SPDX-License-Identifier: BSD-3-Clause
// What the interposer tells: counters (HEDDLE_LOG=interpose prints them in MPI_Finalize),
// complaints on the standard error output, and errors in MPI's terms.
#pragma once

#include "interpose/handles.hpp"

#include <atomic>
#include <cstdint>

namespace heddle::interpose {

enum class Count : uint8_t {
    passed,
    staged,
    by_reference,
    in_chunks,
    copied_windows,
    not_rebuilt,
    count
};

extern std::atomic<int64_t> counters[static_cast<int>(Count::count)];

// HEDDLE_LOG=interpose, in MPI_Init. Only then does anybody see the counters.
inline bool is_logged = false;

inline void count(Count which)
{
    if (is_logged)
        counters[static_cast<int>(which)].fetch_add(1, std::memory_order_relaxed);
}

// With HEDDLE_LOG=interpose: which MPI is below, and what is done for it.
void print_start(bool has_device);
void print_counters();

// Prints the text once in a process. `text` is a literal.
void complain_once(const char *text);

// This process's rank in MPI_COMM_WORLD.
int own_rank();

// The MPI's error class for an error of the engine's.
int class_of(int heddle_error);

// Calls the communicator's error handler. Returns `error`.
int raise(MPI_Comm comm, int error);

} // namespace heddle::interpose
