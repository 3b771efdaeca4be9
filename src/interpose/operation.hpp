// SPDX-License-Identifier: BSD-3-Clause
// A nonblocking operation on device memory. The program's request is a generalized one, so that
// every function of the MPI understands it. Behind it three things follow each other: data are
// packed, the MPI moves what is packed (the inner request), and what has come is unpacked.
//
// Locks: one for all operations, held while they move on, and one for the table of requests, which
// is never held while MPI is called. MPI's callbacks take the second alone, for they may run with
// locks of the MPI's own. An error handler of the program's runs with the first held, and may call
// MPI: the same thread comes in again, and leaves the operation alone that the handler is called
// for.
#pragma once

#include "interpose/activity.hpp"
#include "interpose/data.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

namespace heddle::interpose {

// What an operation is to do.
struct Steps {
    // Whose error handler hears of failures to pack and unpack: the file's or window's, if there is
    // one.
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_File file = MPI_FILE_NULL;
    MPI_Win win = MPI_WIN_NULL;
    std::vector<heddle_move> pack;
    // Packing fails by this error, whatever is to be packed.
    int cannot_pack = MPI_SUCCESS;
    // Calls MPI, which writes the inner request.
    std::function<int(MPI_Request *)> issue;
    // A second call, which has to end too; its status does not count. May be empty. If it fails,
    // what the first one receives is unpacked all the same.
    std::function<int(MPI_Request *)> issue_also;
    // Takes the place of the last of these calls where packing has failed. May be empty: then MPI
    // is not called at all.
    std::function<int(MPI_Request *)> issue_notice;
    // What to unpack of a message or a collective that has ended so. May correct the status.
    // Returns an error class. May be empty.
    std::function<int(MPI_Status &, std::vector<heddle_move> &)> unpack;
    // All is unpacked, or never will be. May be empty.
    std::function<void()> ended;
    // Whether the operation goes on, though MPI has moved all: what ended so. May be empty.
    std::function<bool(const MPI_Status &)> goes_on;
    // Packs more while MPI moves what it has, and gives it to MPI: what is packed by now, or, if it
    // `waits`, all of it. Whether there is more. May be empty. What has begun is not cancelled
    // then.
    std::function<bool(bool waits)> pack_rest;
    // MPI has cancelled it. May be empty.
    std::function<void()> cancelled;
    // The inner request is persistent: not freed when it has ended.
    bool keeps_inner = false;
    // Whether the inner request's status is the operation's.
    bool has_status = false;
    // Staging memory, shapes and the like, held until the end.
    std::shared_ptr<const void> keep;
};

class Operation {
public:
    explicit Operation(std::shared_ptr<const Steps> steps)
        : steps_(std::move(steps)), comm_(steps_->comm)
    {
    }
    Operation(const Operation &) = delete;
    Operation &operator=(const Operation &) = delete;

    // Its outer request is complete; what follows may be asked then.
    bool is_done() const { return done_.load(std::memory_order_acquire); }
    int error() const { return error_; }

private:
    friend class Operations;
    friend class Callbacks;
    enum class State { packing, running, unpacking, ended };

    int start_packing();
    bool is_packed();
    void issue();
    int call(const std::function<int(MPI_Request *)> &last);
    void take_back();
    void fail_packing(int error);
    void move_on();
    bool has_moved();
    bool goes_on();
    void begin_unpacking();
    void end();
    void fail(int error);
    void tell(int error) const;
    void fail_and_tell(int error);
    void cancel();

    const std::shared_ptr<const Steps> steps_;
    MPI_Comm comm_; // of the steps, until the program frees it
    State state_ = State::packing;
    heddle_request *transfer_ = nullptr;
    MPI_Request inner_ = MPI_REQUEST_NULL, also_ = MPI_REQUEST_NULL, outer_ = MPI_REQUEST_NULL;
    bool inner_is_done_ = false, inner_has_failed_ = false, may_be_cancelled_ = false;
    bool is_busy_ = false;  // moves on, perhaps in an error handler
    bool is_taken_ = false; // has ended, and is being completed
    MPI_Status status_{};
    int cancelled_ = 0, error_ = MPI_SUCCESS;
    std::atomic<bool> wants_cancel_{false}, done_{false};
};

using OperationPtr = std::shared_ptr<Operation>;

// Begins one. `*request` receives its outer request. Packing goes on when this returns; where
// `packs_now`, it has ended, and the MPI has been called. Returns what MPI returned, or an error
// that the communicator's handler has heard of.
int begin(std::shared_ptr<const Steps> steps, bool packs_now, MPI_Request *request);
// The same, where the caller has published what the owners of windows stored.
int begin_published(std::shared_ptr<const Steps> steps, bool packs_now, MPI_Request *request);

// The operation behind an outer request, or null.
OperationPtr operation_of(MPI_Request outer);

// Calls `act` while MPI moves the operation's data, and nobody asks for its inner request. False
// where MPI does not, or no longer.
bool while_running(const Operation &operation, const std::function<void()> &act);

// The program frees this communicator: MPI_COMM_WORLD's handler hears of what fails from now on.
void forget_communicator(MPI_Comm comm);

// Whether an operation is under way, or waits to be completed by the program.
bool has_operations();
inline bool is_idle() { return is_quiet() || !has_operations(); }

// Moves all operations on, and waits for nothing.
void progress();

// Ends what is being packed, and gives it to MPI; and publishes what the owner of a window has
// stored (accesses.hpp). Every call that sends comes here first, for it must not overtake; so does
// every call that may wait for another process, which may itself wait for what is being packed
// here.
void flush_activity();
inline void flush()
{
    if (!is_quiet())
        flush_activity();
}
// The first of these alone.
void flush_packed();

// Returns when the operation is done.
void finish(const Operation &operation);
// Returns when all are done: in MPI_Finalize.
void finish_all();

// Gives the core away after a while of polling.
class Patience {
public:
    void wait();

private:
    int polls_ = 0;
};

} // namespace heddle::interpose
