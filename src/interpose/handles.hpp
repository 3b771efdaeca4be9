// SPDX-License-Identifier: BSD-3-Clause
// The MPI at hand, and what its handles have in common: MPICH's are integers, Open MPI's pointers.
#pragma once

// What mpi.h declares is exported, though all else of ours is hidden.
#pragma GCC visibility push(default)
#include <mpi.h>
#pragma GCC visibility pop

#include <cstddef>
#include <cstdint>

// MPI 4's calls other than those of large counts. Open MPI's header is of MPI 3.1, but Open MPI 5
// has them; so they are declared where they are used.
#if MPI_VERSION >= 4 || defined(OPEN_MPI)
#define HEDDLE_MPI_4 1
#endif

// Combiners of Fortran's old constructors, whose names the other headers refuse.
#if !defined(OPEN_MPI) && !defined(HEDDLE_MPI_ABI)
#define HEDDLE_OLD_COMBINERS 1
#endif

namespace heddle::interpose {

using HandleKey = std::uintptr_t;

// No named cast takes both integers and pointers.
template <class Handle> HandleKey key_of(Handle handle) { return (HandleKey)handle; }

// A number of so many bits for a small table. Some handles are numbers that follow each other, some
// are addresses, whose last bits are alike.
inline size_t hash_of(HandleKey key, int bits)
{
    constexpr uint64_t golden = 0x9e3779b97f4a7c15; // Fibonacci hashing
    return uint64_t{key} * golden >> (64 - bits);
}

// Handles that are given up where MPI must not be called: in its callbacks. The next call that
// makes progress frees them.
void free_type_later(MPI_Datatype type);
void free_request_later(MPI_Request request);
void free_what_waits();

} // namespace heddle::interpose
