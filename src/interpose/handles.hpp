// SPDX-License-Identifier: BSD-3-Clause
// The MPI at hand, and what its handles have in common: MPICH's are integers, Open MPI's pointers.
#pragma once

// What mpi.h declares is exported, though all else of ours is hidden.
#pragma GCC visibility push(default)
#include <mpi.h>
#pragma GCC visibility pop

#include <cstdint>

namespace heddle::interpose {

using HandleKey = std::uintptr_t;

// No named cast takes both integers and pointers.
template <class Handle> HandleKey key_of(Handle handle) { return (HandleKey)handle; }

// Handles that are given up where MPI must not be called: in its callbacks. The next call that
// makes progress frees them.
void free_type_later(MPI_Datatype type);
void free_request_later(MPI_Request request);
void free_what_waits();

} // namespace heddle::interpose
