// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/operation.hpp"

#include "interpose/public_copy.hpp"
#include "interpose/report.hpp"

#include "engine/immortal.hpp"

#include <algorithm>
#include <list>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <unordered_map>

namespace heddle::interpose {

// ---- one operation ------------------------------------------------------------------------------

int Operation::start_packing()
{
    const std::vector<heddle_move> &moves = steps_->pack;
    if (steps_->cannot_pack != MPI_SUCCESS)
        return steps_->cannot_pack;
    if (moves.empty())
        return MPI_SUCCESS;
    return class_of(
        heddle_transfer_begin(moves.data(), static_cast<int64_t>(moves.size()), &transfer_));
}

// Whether packing has ended, well or not.
bool Operation::is_packed()
{
    int done = 0;
    const int error = heddle_test(&transfer_, &done);
    if (error != HEDDLE_SUCCESS)
        fail_packing(class_of(error));
    return error != HEDDLE_SUCCESS || done;
}

void Operation::issue()
{
    const int error = call(steps_->issue_also ? steps_->issue_also : steps_->issue);
    if (error == MPI_SUCCESS)
        return;
    fail(error);
    end();
}

// Calls MPI, by `last` in the last place. Returns what MPI returned.
int Operation::call(const std::function<int(MPI_Request *)> &last)
{
    int error = MPI_SUCCESS;
    if (!steps_->issue_also)
        error = last(&inner_);
    else if (error = steps_->issue(&inner_); error == MPI_SUCCESS) {
        error = last(&also_);
        if (error != MPI_SUCCESS)
            take_back();
    }
    if (error == MPI_SUCCESS)
        state_ = State::running;
    return error;
}

// The second call has failed, and nobody will wait for the first: that must not write into memory
// that is free then. If a message has come already, it is received; its sender may wait for that.
void Operation::take_back()
{
    also_ = MPI_REQUEST_NULL;
    PMPI_Cancel(&inner_);
    may_be_cancelled_ = true;
    for (Patience patience; !has_moved(); patience.wait())
        ;
}

// The operation ends with the error, after the notice where there is one. The handler hears of it
// last: what it sends must not overtake the notice.
void Operation::fail_packing(int error)
{
    fail(error);
    if (!steps_->issue_notice || comm_ != steps_->comm || call(steps_->issue_notice) != MPI_SUCCESS)
        end();
    tell(error);
}

void Operation::tell(int error) const
{
    if (steps_->file != MPI_FILE_NULL)
        PMPI_File_call_errhandler(steps_->file, error);
    else if (steps_->win != MPI_WIN_NULL)
        PMPI_Win_call_errhandler(steps_->win, error);
    else
        raise(comm_, error);
}

void Operation::fail_and_tell(int error)
{
    fail(error);
    tell(error);
}

void Operation::fail(int error)
{
    if (error_ == MPI_SUCCESS)
        error_ = error;
}

void Operation::cancel()
{
    if (!wants_cancel_.exchange(false))
        return;
    if (state_ == State::packing) {
        heddle_wait(&transfer_);
        cancelled_ = 1;
        end();
    } else if (state_ == State::running && !inner_is_done_ && !steps_->pack_rest) {
        PMPI_Cancel(&inner_);
        may_be_cancelled_ = true;
    }
}

// Whether MPI has moved all, or said by an error that it never will.
bool Operation::has_moved()
{
    int done = 0;
    const bool is_packing = steps_->pack_rest && steps_->pack_rest(false);
    if (!inner_is_done_) {
        const int error = PMPI_Test(&inner_, &done, &status_);
        if (error != MPI_SUCCESS && inner_ != MPI_REQUEST_NULL && !steps_->keeps_inner)
            PMPI_Request_free(&inner_);
        fail(error);
        inner_has_failed_ = error != MPI_SUCCESS;
        inner_is_done_ = done != 0 || inner_has_failed_;
    }
    if (also_ != MPI_REQUEST_NULL) {
        const int error = PMPI_Test(&also_, &done, MPI_STATUS_IGNORE);
        fail(error);
        if (error != MPI_SUCCESS)
            also_ = MPI_REQUEST_NULL;
    }
    return !is_packing && inner_is_done_ && also_ == MPI_REQUEST_NULL &&
           (inner_has_failed_ || !goes_on());
}

// A cancelled one does not.
bool Operation::goes_on()
{
    if (may_be_cancelled_) // Open MPI 4.1 says anything of requests of files
        PMPI_Test_cancelled(&status_, &cancelled_);
    return !cancelled_ && steps_->goes_on && steps_->goes_on(status_);
}

void Operation::begin_unpacking()
{
    if (cancelled_ && steps_->cancelled)
        steps_->cancelled();
    // An exchange receives, though its send has failed.
    const bool has_data =
        !inner_has_failed_ && !cancelled_ && (error_ == MPI_SUCCESS || steps_->issue_also);
    std::vector<heddle_move> moves;
    int error = MPI_SUCCESS;
    if (steps_->unpack && has_data)
        error = steps_->unpack(status_, moves);
    state_ = State::unpacking;
    if (error == MPI_SUCCESS && !moves.empty())
        error = class_of(
            heddle_transfer_begin(moves.data(), static_cast<int64_t>(moves.size()), &transfer_));
    if (error != MPI_SUCCESS)
        fail_and_tell(error);
}

// Behind packing.
void Operation::move_on()
{
    if (state_ == State::running && has_moved())
        begin_unpacking();
    if (state_ != State::unpacking)
        return;
    int done = 0;
    const int error = heddle_test(&transfer_, &done);
    if (error != HEDDLE_SUCCESS)
        fail_and_tell(class_of(error));
    if (error != HEDDLE_SUCCESS || done)
        end();
}

void Operation::end()
{
    state_ = State::ended;
    if (steps_->ended)
        steps_->ended();
}

// ---- the callbacks of generalized requests ------------------------------------------------------

class Callbacks {
public:
    // Errors are told by the call that completes the request (completion.cpp): from here MPI would
    // give them to MPI_COMM_WORLD's handler, though the inner call's has heard of them.
    static int query(void *state, MPI_Status *status)
    {
        const Operation &operation = *static_cast<Operation *>(state);
        const bool has_status = operation.steps_->has_status;
        status->MPI_SOURCE = has_status ? operation.status_.MPI_SOURCE : MPI_ANY_SOURCE;
        status->MPI_TAG = has_status ? operation.status_.MPI_TAG : MPI_ANY_TAG;
        const bool is_whole = has_status && operation.error_ == MPI_SUCCESS;
        PMPI_Status_set_elements_x(status, MPI_BYTE, is_whole ? bytes_of(operation.status_) : 0);
        PMPI_Status_set_cancelled(status, operation.cancelled_);
        return MPI_SUCCESS;
    }
    static int free(void *state);
    static int cancel(void *state, int complete)
    {
        if (!complete)
            static_cast<Operation *>(state)->wants_cancel_.store(true);
        return MPI_SUCCESS;
    }
};

// ---- all operations -----------------------------------------------------------------------------

class Operations {
public:
    int begin(const OperationPtr &operation, bool packs_now, MPI_Request *request)
    {
        if (packs_now && !operation->steps_->pack.empty())
            flush();
        PMPI_Grequest_start(Callbacks::query, Callbacks::free, Callbacks::cancel, operation.get(),
                            &operation->outer_);
        enlist(operation);
        *request = operation->outer_;
        int error = MPI_SUCCESS;
        {
            const std::lock_guard lock(mutex_);
            const Busy busy(*operation);
            error = start(*operation, packs_now);
            if (error == MPI_SUCCESS) {
                under_way_.push_back(operation);
                under_way_count_.add(1);
                if (operation->steps_->pack_rest)
                    with_rest_count_.fetch_add(1);
            }
        }
        if (error != MPI_SUCCESS) {
            PMPI_Grequest_complete(operation->outer_);
            PMPI_Request_free(request);
        }
        flush_for_others();
        return error;
    }

    void progress()
    {
        std::vector<OperationPtr> ended;
        {
            const std::unique_lock lock(mutex_, std::try_to_lock);
            if (!lock.owns_lock())
                return;             // another thread does it
            bool must_wait = false; // what is behind one that is being packed
            const Walk walk(*this);
            for (const OperationPtr &each : under_way_)
                advance(*each, must_wait);
            ended = take_ended();
        }
        complete(ended);
        free_what_waits();
    }

    void flush()
    {
        note_thread();
        free_what_waits(); // a program of blocking calls comes by nothing else
        if (packing_count_.load() == 0 && with_rest_count_.load() == 0)
            return;
        const std::lock_guard lock(mutex_);
        flush_locked();
    }

    bool while_running(const Operation &operation, const std::function<void()> &act)
    {
        const std::lock_guard lock(mutex_);
        if (operation.state_ != Operation::State::running)
            return false;
        act();
        return true;
    }

    void forget_communicator(MPI_Comm comm)
    {
        if (under_way_count_.load() == 0)
            return;
        const std::lock_guard lock(mutex_);
        for (const OperationPtr &each : under_way_)
            if (each->comm_ == comm)
                each->comm_ = MPI_COMM_WORLD;
    }

    OperationPtr find(MPI_Request outer)
    {
        const std::lock_guard lock(table_mutex_);
        const auto found = table_.find(key_of(outer));
        return found == table_.end() ? nullptr : found->second;
    }
    void enlist(const OperationPtr &operation)
    {
        const std::lock_guard lock(table_mutex_);
        table_[key_of(operation->outer_)] = operation;
        table_count_.add(1);
    }
    void strike(const Operation &operation)
    {
        OperationPtr gone; // destroyed without the lock
        const std::lock_guard lock(table_mutex_);
        const auto found = table_.find(key_of(operation.outer_));
        if (found == table_.end())
            return;
        gone = std::move(found->second);
        table_.erase(found);
        table_count_.add(-1);
    }

    bool is_idle()
    {
        note_thread();
        return table_count_.load() == 0 && under_way_count_.load() == 0;
    }
    bool is_any_under_way() const { return under_way_count_.load() != 0; }

private:
    // The thread deals with that operation.
    class Busy {
    public:
        explicit Busy(Operation &operation) : operation_(operation) { operation_.is_busy_ = true; }
        Busy(const Busy &) = delete;
        Busy &operator=(const Busy &) = delete;
        ~Busy() { operation_.is_busy_ = false; }

    private:
        Operation &operation_;
    };
    // The thread walks over all operations: whoever comes in again leaves them in the list.
    class Walk {
    public:
        explicit Walk(Operations &all) : all_(all) { ++all_.walks_; }
        Walk(const Walk &) = delete;
        Walk &operator=(const Walk &) = delete;
        ~Walk() { --all_.walks_; }

    private:
        Operations &all_;
    };

    // Every call that may wait comes here before, if two threads may call at the same time.
    void note_thread()
    {
        const pthread_t own = pthread_self();
        if (first_thread_.load(std::memory_order_relaxed) == own)
            return;
        pthread_t first = 0;
        if (!first_thread_.compare_exchange_strong(first, own) && !has_threads_.load())
            has_threads_.store(true);
    }
    // Another thread may wait in the MPI, where it moves nothing on; and this thread may call no
    // more until that one returns.
    void flush_for_others()
    {
        note_thread();
        if (has_threads_.load())
            flush();
    }

    // Returns the error of an operation that has ended already.
    int start(Operation &operation, bool packs_now)
    {
        int error = operation.start_packing();
        if (error == MPI_SUCCESS && packs_now)
            error = class_of(heddle_wait(&operation.transfer_));
        if (error != MPI_SUCCESS)
            fail_in_turn(operation, error);
        else if (!is_packed_in_turn(operation, packs_now))
            packing_count_.fetch_add(1);
        else if (operation.state_ == Operation::State::packing)
            operation.issue();
        return operation.state_ == Operation::State::ended ? operation.error_ : MPI_SUCCESS;
    }
    void fail_in_turn(Operation &operation, int error)
    {
        flush_locked();
        operation.fail_packing(error);
    }
    bool is_packed_in_turn(Operation &operation, bool packs_now)
    {
        return (packs_now || packing_count_.load() == 0) && operation.is_packed();
    }

    void flush_locked()
    {
        const Walk walk(*this);
        for (const OperationPtr &each : under_way_) {
            if (each->is_busy_)
                continue;
            const Busy busy(*each);
            if (each->state_ == Operation::State::packing)
                finish_packing(*each);
            if (each->state_ == Operation::State::running && each->steps_->pack_rest)
                each->steps_->pack_rest(true);
        }
    }
    void finish_packing(Operation &operation)
    {
        const int error = heddle_wait(&operation.transfer_);
        packing_count_.fetch_sub(1);
        if (error == HEDDLE_SUCCESS)
            operation.issue();
        else
            operation.fail_packing(class_of(error));
    }

    void advance(Operation &operation, bool &must_wait)
    {
        if (operation.is_busy_)
            return;
        const Busy busy(operation);
        const bool was_packing = operation.state_ == Operation::State::packing;
        operation.cancel();
        if (was_packing && operation.state_ == Operation::State::packing) {
            if (must_wait || !operation.is_packed()) {
                must_wait = true;
                return;
            }
            if (operation.state_ == Operation::State::packing)
                operation.issue();
        }
        if (was_packing)
            packing_count_.fetch_sub(1);
        operation.move_on();
    }

    // What has ended, and is not complete.
    std::vector<OperationPtr> take_ended()
    {
        std::vector<OperationPtr> ended;
        for (const OperationPtr &each : under_way_) {
            if (each->state_ != Operation::State::ended || each->is_busy_ || each->is_taken_)
                continue;
            each->is_taken_ = true;
            if (each->steps_->pack_rest)
                with_rest_count_.fetch_sub(1);
            ended.push_back(each);
        }
        if (walks_ == 1)
            std::erase_if(under_way_, [](const OperationPtr &each) { return each->is_taken_; });
        return ended;
    }

    void complete(const std::vector<OperationPtr> &ended)
    {
        for (const OperationPtr &each : ended) {
            each->done_.store(true, std::memory_order_release);
            PMPI_Grequest_complete(each->outer_);
            under_way_count_.add(-1);
        }
    }

    std::atomic<pthread_t> first_thread_{0}; // of those that have called
    std::atomic<bool> has_threads_{false};   // more have
    std::recursive_mutex mutex_;
    int walks_ = 0;                     // of the thread that holds the lock
    std::list<OperationPtr> under_way_; // in the order in which they were begun
    Tally under_way_count_, table_count_;
    std::atomic<int> packing_count_{0}, with_rest_count_{0}; // of those under way
    std::mutex table_mutex_;
    std::unordered_map<HandleKey, OperationPtr> table_;
};

int Callbacks::free(void *state)
{
    immortal<Operations>().strike(*static_cast<Operation *>(state));
    return MPI_SUCCESS;
}

// ---- what others call ---------------------------------------------------------------------------

int begin(std::shared_ptr<const Steps> steps, bool packs_now, MPI_Request *request)
{
    if (steps->win == MPI_WIN_NULL) // what waits for one-sided operations publishes, too
        publish_all();
    return begin_published(std::move(steps), packs_now, request);
}

int begin_published(std::shared_ptr<const Steps> steps, bool packs_now, MPI_Request *request)
{
    count(Count::staged);
    return immortal<Operations>().begin(std::make_shared<Operation>(std::move(steps)), packs_now,
                                        request);
}

OperationPtr operation_of(MPI_Request outer)
{
    return outer == MPI_REQUEST_NULL ? nullptr : immortal<Operations>().find(outer);
}

bool while_running(const Operation &operation, const std::function<void()> &act)
{
    return immortal<Operations>().while_running(operation, act);
}

void forget_communicator(MPI_Comm comm) { immortal<Operations>().forget_communicator(comm); }

bool has_operations() { return !immortal<Operations>().is_idle(); }

void progress() { immortal<Operations>().progress(); }

void flush_activity()
{
    publish_all();
    flush_packed();
}

void flush_packed() { immortal<Operations>().flush(); }

void finish(const Operation &operation)
{
    for (Patience patience; !operation.is_done(); patience.wait())
        progress();
}

void finish_all()
{
    Operations &all = immortal<Operations>();
    for (Patience patience; all.is_any_under_way(); patience.wait())
        progress();
}

void Patience::wait()
{
    constexpr int enough = 32; // polls; ranks may outnumber cores
    if (++polls_ > enough)
        sched_yield();
}

} // namespace heddle::interpose
