// SPDX-License-Identifier: BSD-3-Clause
// Requests that stay the MPI's own, though there may be something to do behind them. Into host
// memory an envelope or a notice may come in place of the data (message.hpp), and a member of a
// collective may have failed (together.hpp). That is rare. So the calls that complete requests look
// here, before the MPI may free one. If there is something to do, an operation stands for the
// request from then on, as for an active persistent one. MPI_Wait of one thread looks behind it.
// All this is only if has_met_peers().
#pragma once

#include "interpose/together.hpp"

#include <cstdint>
#include <optional>

namespace heddle::interpose {

// What has been begun.
struct Watched {
    // A receive: so many bytes of host memory. Null: a collective.
    void *at = nullptr;
    int64_t bytes = 0;
    Together together{};
};

// Watches a request of the MPI's. Of more than there is room for, it becomes an operation's.
// Returns an error as begin does (operation.hpp).
int watch(Watched what, MPI_Comm comm, MPI_Request *request);

// What the MPI is to get in place of the program's request: the request itself, unless it is
// watched. While that is not complete: one that never is. Then: the outer request of an operation,
// or itself, if there is nothing to do. It is not watched any more then.
MPI_Request settle_watched(MPI_Request request); // of one that may be, with peers
inline MPI_Request settled(MPI_Request request)
{
    return has_met_peers() && request != MPI_REQUEST_NULL ? settle_watched(request) : request;
}
// It stands for one that is not complete.
bool is_pending(MPI_Request settled);

// Waits for a request in the MPI, and does what is to be done behind it. Nothing happens where an
// operation stands for it, or where another thread may get its handle before that is done. Not of
// several requests: another process may wait until one is read, and complete the others only then.
std::optional<int> wait_in_mpi(MPI_Request *request, MPI_Status *status);

// The operation that stood for the request is complete.
void end_watch(MPI_Request *request);
// As MPI_Request_free, of any request but a persistent one.
int free_request(MPI_Request *request);
// The program frees this communicator: MPI_COMM_WORLD's handler hears of what fails from now on.
void forget_communicator_of_watched(MPI_Comm comm);

// In MPI_Init and MPI_Finalize.
void prepare_to_watch();
void end_watching();

} // namespace heddle::interpose
