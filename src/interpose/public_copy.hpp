// SPDX-License-Identifier: BSD-3-Clause
// Windows in device memory. The MPI gets host memory in its place: the window's public copy, and
// the device memory is its private copy (MPI 4.0, section 12.4). That is the separate memory model:
// calls that synchronize make the copies equal.
//
// Fences and MPI_Win_post are such calls. Who locks a window does not ask its owner, and few
// programs then call MPI_Win_sync: they expect the unified model, where any call by which processes
// wait for each other will do. So each such call makes the copies equal, of windows that others may
// lock.
#pragma once

#include "interpose/data.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace heddle::interpose {

class PublicCopy {
public:
    // Null where no memory is left, or the device fails.
    static std::shared_ptr<PublicCopy> make(void *base, int64_t bytes, bool may_be_locked);
    ~PublicCopy();

    // What MPI gets, and what the program has.
    void *at() const { return public_.get(); }
    void *base() const { return private_; }

    // To the public copy: what was stored into the device memory. To the device memory: what was
    // put into the public copy. A byte that neither changed is not written, for a kernel may be
    // storing into it. Both return an error class; what was not carried out is left for the next.
    int publish();
    int collect();

    // Whether others may lock the window: until its owner shows that they use fences or groups
    // (MPI_Win_post, MPI_Win_start), and once it locks itself.
    bool may_be_locked() const { return may_be_locked_.load(); }
    void set_may_be_locked(bool may_be);

    // Where MPI writes a result that belongs into the device memory; `buffer` of an instance
    // that lies elsewhere.
    void *place_of(void *buffer, int64_t count, MPI_Datatype type) const;

private:
    struct Free {
        void operator()(std::byte *at) const;
    };
    using Bytes = std::unique_ptr<std::byte[], Free>;

    PublicCopy(void *base, int64_t bytes, bool may_be_locked);
    template <class Piece> int by_pieces(Piece piece);

    std::mutex mutex_; // of the copies
    std::atomic<bool> may_be_locked_{false};
    std::byte *const private_;
    const int64_t bytes_;
    Bytes public_;
    Bytes common_; // as both copies were when they were last made equal
    Staging piece_;
};

using PublicCopyPtr = std::shared_ptr<PublicCopy>;

// Null where the window is in host memory.
PublicCopyPtr public_copy_of(MPI_Win win);
void keep_public_copy(MPI_Win win, PublicCopyPtr copy);
void forget_public_copy(MPI_Win win);

// Calls by which processes wait for each other, of windows that others may lock: before such a call
// sends anything, and when it has ended. Errors are told to the windows' handlers.
bool any_may_be_locked();
void publish_all();
void collect_all();

// Collects when the call ends.
struct CollectsAtEnd {
    CollectsAtEnd() = default;
    CollectsAtEnd(const CollectsAtEnd &) = delete;
    CollectsAtEnd &operator=(const CollectsAtEnd &) = delete;
    ~CollectsAtEnd() { collect_all(); }
};

} // namespace heddle::interpose
