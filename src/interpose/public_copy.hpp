// SPDX-License-Identifier: BSD-3-Clause
// Windows in device memory. The MPI gets host memory in its place: the window's public copy, and
// the device memory is its private copy (MPI 4.0, section 12.4). That is the separate memory model:
// the copies are made equal where the standard says so, by the calls that synchronize.
//
// Who locks a window does not ask its owner, and few programs then call MPI_Win_sync: they expect
// the unified model. So each call by which processes wait for each other makes the copies equal,
// too, of windows that others may lock (accesses.hpp).
#pragma once

#include "interpose/activity.hpp"
#include "interpose/data.hpp"

#include <memory>
#include <mutex>
#include <vector>

namespace heddle::interpose {

class PublicCopy {
public:
    // Null where no memory is left, or the device fails.
    static std::shared_ptr<PublicCopy> make(void *base, int64_t bytes);

    // What MPI gets, and what the program has.
    void *at() const { return public_.get(); }
    void *base() const { return private_; }

    // To the public copy: what was stored into the device memory. To the device memory: what was
    // put into the public copy. A byte that neither changed is not written, for a kernel may be
    // storing into it. Both return an error class; what was not carried out is left for the next.
    int publish() { return publish(0, bytes_); }
    int collect();

    // The program may free the device memory: it is not touched any more.
    void close();

    // MPI is to write a result into the device memory: `buffer` becomes where it writes. Where that
    // lies elsewhere, nothing happens. What was stored there before is published first, for it is
    // older than the result. Returns an error class.
    int place_result(void *&buffer, int64_t count, MPI_Datatype type);

private:
    struct Free {
        void operator()(std::byte *at) const;
    };
    using Bytes = std::unique_ptr<std::byte[], Free>;

    PublicCopy(void *base, int64_t bytes);
    int publish(int64_t begin, int64_t end);
    template <class Piece> int by_pieces(int64_t begin, int64_t end, Piece piece);

    std::mutex mutex_; // of the copies
    bool is_closed_ = false;
    std::byte *const private_;
    const int64_t bytes_;
    Bytes public_;
    Bytes common_; // as both copies were when they were last made equal
    Staging piece_;
};

using PublicCopyPtr = std::shared_ptr<PublicCopy>;

// Calls by which processes wait for each other, of windows that others may lock: before such a call
// sends anything, and when it has ended. Defined where windows are known (accesses.cpp).
bool any_may_be_locked();
void publish_all();
void collect_all();

// Collects when the call ends.
struct CollectsAtEnd {
    CollectsAtEnd() = default;
    CollectsAtEnd(const CollectsAtEnd &) = delete;
    CollectsAtEnd &operator=(const CollectsAtEnd &) = delete;
    ~CollectsAtEnd()
    {
        if (!is_quiet())
            collect_all();
    }
};

} // namespace heddle::interpose
