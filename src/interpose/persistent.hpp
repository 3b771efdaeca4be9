// SPDX-License-Identifier: BSD-3-Clause
// Persistent requests on device memory. The program's handle is the MPI's persistent request on
// staging memory. While it is active, an operation (operation.hpp) stands for it: its outer request
// goes to the MPI in the handle's place, and the handle stays.
#pragma once

#include "interpose/operation.hpp"

namespace heddle::interpose {

// What one start does otherwise than the others: may change its steps.
using Start = std::function<void(Steps &)>;

// `inner` becomes the program's handle; `steps` is what each start does. Without `issue` it starts
// `inner`.
void keep_persistent(MPI_Request inner, Steps steps, Start start = {});

// Whether the handle is one of ours.
bool is_persistent(MPI_Request handle);

// Begins what the handle stands for. The caller has published (operation.hpp).
int start_persistent(MPI_Request handle);

// The outer request of an active handle; any other as it is.
MPI_Request active_request(MPI_Request handle);
// What the handle stood for is complete.
void end_activity(MPI_Request handle);

// The program frees this communicator: errors of later starts are told to MPI_COMM_WORLD's handler.
void forget_communicator_of_persistent(MPI_Comm comm);

// Frees the handle, when its activity has ended.
int free_persistent(MPI_Request handle);

} // namespace heddle::interpose
