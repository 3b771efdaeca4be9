// SPDX-License-Identifier: BSD-3-Clause
// Collectives of which one member's device fails. That member takes part with zeros, so that nobody
// waits for it, and notes the failure in its page before (peers.hpp). Who completes the same
// collective later looks there, and ends it with an error. Whose data depend on the failing
// member's completes later.
//
// So all members must be processes of one node under heddle-run --peer. Otherwise nobody can be
// told, and the failing member takes no part.
#pragma once

#include "interpose/peers.hpp"

#include <memory>

namespace heddle::interpose {

struct Members;

// One collective of a communicator. Made in the call, in each of its forms, for all members must
// count alike.
class Together {
public:
    Together() = default; // of none
    explicit Together(MPI_Comm comm);

    // Whether members tell each other.
    bool is_watched() const { return members_ != nullptr; }
    // This member fails. Before it takes part.
    void note_failure();
    // Whether another member has failed. Behind the collective.
    bool has_failed() const;
    // A persistent one is started again.
    void start_again() { ++start_; }

private:
    std::shared_ptr<Members> members_; // null: nobody can be told
    uint64_t number_ = 0, start_ = 0;
};

// Ends what the collectives have begun on a communicator that the program frees, or on all.
void forget_members(MPI_Comm comm);
void forget_all_members();

} // namespace heddle::interpose
