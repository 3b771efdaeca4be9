// SPDX-License-Identifier: BSD-3-Clause
// Receives and probes of a process that may get envelopes (reference.hpp). A probe has to tell the
// message's own size, so it takes what may be an envelope out of the MPI's queue. What it takes is
// held here, and later receives and probes look here first. In any other process all calls go
// straight to the MPI.
#pragma once

#include "interpose/handles.hpp"

namespace heddle::interpose {

// Where a message is to come from.
struct Source {
    int rank, tag;
    MPI_Comm comm;
};

// A buffer as the MPI gets it.
struct Target {
    void *at;
    int n;
    MPI_Datatype type;
};

// What a probe has passed through another communicator has lost its source.
constexpr int source_is_right = MPI_UNDEFINED;

// What a nonblocking receive has found among the held messages.
struct Found {
    int source = source_is_right; // otherwise the rank that belongs in the status
    // The target has no room for it. The MPI writes it elsewhere, and tells no error.
    bool is_truncated = false;
};

// No message is held, nor will be while this thread is in the MPI: what fits is there.
bool none_is_held();

// The communicator's handler has heard of an error.
int receive(const Target &to, const Source &from, MPI_Status *status);
int receive_matched(const Target &to, MPI_Message *message, MPI_Status *status);
// After an error, too, the request is gone.
int wait_for(MPI_Request request, MPI_Status *status);

int begin_receive(const Target &to, const Source &from, MPI_Request *request, Found *found);
// The same, unless any message is held: then false.
bool begin_unless_any_is_held(const Target &to, const Source &from, MPI_Request *request,
                              int *error);
// As begin_receive, by a persistent request, which has the same arguments, unless a held message
// fits.
int start_receive(MPI_Request persistent, const Target &to, const Source &from,
                  MPI_Request *request, Found *found);
int begin_receive_matched(const Target &to, MPI_Message *message, MPI_Request *request,
                          Found *found);
// Of a matched message: MPI_COMM_WORLD where it is not known.
MPI_Comm communicator_of(MPI_Message message);

// `*found` 0: there is none yet.
int probe_now(const Source &from, int *found, MPI_Status *status);
int take_now(const Source &from, int *found, MPI_Message *message, MPI_Status *status);

// In MPI_Init, behind meet_peers, before the program can attach anything to MPI_COMM_SELF.
void prepare_to_hold();
// The program frees this communicator, and a later one may have its handle.
void forget_held(MPI_Comm comm);
// In MPI_Finalize.
void forget_held();

} // namespace heddle::interpose
