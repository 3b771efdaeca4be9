// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/watched.hpp"

#include "interpose/activity.hpp"
#include "interpose/message.hpp"
#include "interpose/report.hpp"

#include "engine/immortal.hpp"

#include <array>
#include <atomic>
#include <utility>

namespace heddle::interpose {

namespace {

struct Entry {
    std::atomic<HandleKey> key{0};
    std::atomic<MPI_Comm> comm{MPI_COMM_NULL};
    Watched what;
    MPI_Request outer = MPI_REQUEST_NULL; // of the operation that stands for it
};

// Without a lock: an entry belongs to the thread that completes its request, and MPI allows no two
// to do so at the same time.
class Table {
public:
    Entry *find(MPI_Request request)
    {
        const HandleKey key = key_of(request);
        for (Entry &each : set_of(key))
            if (each.key.load(std::memory_order_acquire) == key)
                return &each;
        return nullptr;
    }
    // Null where all entries that it may have are taken.
    Entry *take(MPI_Request request)
    {
        for (Entry &each : set_of(key_of(request))) {
            HandleKey expected = free;
            if (each.key.load(std::memory_order_relaxed) == free &&
                each.key.compare_exchange_strong(expected, reserved, std::memory_order_acquire))
                return &each;
        }
        return nullptr;
    }
    // The entry of this request, from now on.
    static void publish(Entry &entry, MPI_Request request)
    {
        entry.key.store(key_of(request), std::memory_order_release);
    }
    static void give_back(Entry &entry)
    {
        entry.what.together = {};
        entry.outer = MPI_REQUEST_NULL;
        entry.key.store(free, std::memory_order_release);
    }
    void forget(MPI_Comm comm)
    {
        for (auto &set : sets_)
            for (Entry &each : set) {
                MPI_Comm expected = comm;
                each.comm.compare_exchange_strong(expected, MPI_COMM_WORLD);
            }
    }

private:
    static constexpr HandleKey free = 0, reserved = 1; // no requests
    static constexpr int log_sets = 9, ways = 4;
    using Set = std::array<Entry, ways>;

    Set &set_of(HandleKey key) { return sets_[hash_of(key, log_sets)]; }

    std::array<Set, size_t{1} << log_sets> sets_;
};

Table &table() { return immortal<Table>(); }

MPI_Request never = MPI_REQUEST_NULL; // complete

// The class of the error that a request has ended with, though MPI_Request_get_status succeeded:
// Open MPI tells of a message that was too long in its status alone, at times by the count alone.
int error_in(const Watched &what, const MPI_Status &status)
{
    int error_class = MPI_SUCCESS, cancelled = 0;
    if (status.MPI_ERROR != MPI_SUCCESS)
        PMPI_Error_class(status.MPI_ERROR, &error_class);
    else if (what.at && bytes_of(status) > what.bytes) {
        PMPI_Test_cancelled(&status, &cancelled);
        error_class = cancelled ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
    }
    return error_class;
}

bool has_something_to_do(const Watched &what, const MPI_Status &status)
{
    const int64_t received = what.at ? bytes_of(status) : 0;
    if (status.MPI_ERROR != MPI_SUCCESS || received > what.bytes)
        return error_in(what, status) != MPI_SUCCESS;
    return what.at ? Incoming::has_come_instead(what.at, received, status)
                   : what.together.has_failed();
}

Steps steps_of(const Watched &what, MPI_Comm comm)
{
    Steps steps;
    steps.comm = comm;
    if (what.at) {
        const auto message =
            std::make_shared<const Incoming>(*any_data(what.at, what.bytes, MPI_BYTE));
        message->add_unpacking(steps);
        steps.keep = message;
    } else {
        steps.unpack = [together = what.together](MPI_Status &, std::vector<heddle_move> &) {
            return together.has_failed() ? MPI_ERR_OTHER : MPI_SUCCESS;
        };
    }
    return steps;
}

// Of a receive that has ended so, if there is something. Returns as raise does (report.hpp).
int receive_what_came_instead(const Watched &what, MPI_Status &status, MPI_Comm comm)
{
    const int64_t received = bytes_of(status);
    if (received > what.bytes || !Incoming::has_come_instead(what.at, received, status))
        return MPI_SUCCESS;
    const Incoming message(*any_data(what.at, what.bytes, MPI_BYTE));
    const auto as_it_ended = [ended = status](const Target &, MPI_Status *found) {
        *found = ended;
        return MPI_SUCCESS;
    };
    return message.receive_by(as_it_ended, comm, &status);
}

int begin_now(Steps steps, MPI_Request *request)
{
    return begin_published(std::make_shared<const Steps>(std::move(steps)), true, request);
}

// The request becomes the operation's own.
int make_operation(const Watched &what, MPI_Comm comm, MPI_Request *request)
{
    Steps steps = steps_of(what, comm);
    steps.issue = [inner = *request](MPI_Request *begun) {
        *begun = inner;
        return MPI_SUCCESS;
    };
    return begin_now(std::move(steps), request);
}

// Of a request that has ended so. It stays the program's, so the MPI keeps it: the program may have
// asked by MPI_Request_get_status.
MPI_Request begin_for_complete(const Entry &entry, const MPI_Status &ended)
{
    Steps steps = steps_of(entry.what, entry.comm.load());
    steps.issue = [](MPI_Request *) { return MPI_SUCCESS; };
    if (const int error = error_in(entry.what, ended); error != MPI_SUCCESS) {
        steps.goes_on = nullptr;
        steps.unpack = [=](MPI_Status &, std::vector<heddle_move> &) { return error; };
    }
    if (steps.goes_on)
        steps.goes_on = [=, then = std::move(steps.goes_on)](const MPI_Status &) {
            return then(ended);
        };
    steps.unpack = [=, then = std::move(steps.unpack)](MPI_Status &status,
                                                       std::vector<heddle_move> &moves) {
        status = ended;
        return then(status, moves);
    };
    MPI_Request outer = MPI_REQUEST_NULL;
    begin_now(std::move(steps), &outer);
    return outer;
}

} // namespace

int watch(Watched what, MPI_Comm comm, MPI_Request *request)
{
    // Collectives that have nothing to do, and so are complete, share a handle with others.
    if (!what.at && table().find(*request))
        return what.together.has_failed() ? make_operation(what, comm, request) : MPI_SUCCESS;
    Entry *const entry = table().take(*request);
    if (!entry)
        return make_operation(what, comm, request);
    entry->what = std::move(what);
    entry->comm.store(comm, std::memory_order_relaxed);
    Table::publish(*entry, *request);
    return MPI_SUCCESS;
}

MPI_Request settle_watched(MPI_Request request)
{
    Entry *const entry = table().find(request);
    if (!entry)
        return request;
    if (entry->outer != MPI_REQUEST_NULL)
        return entry->outer;
    MPI_Status status;
    status.MPI_ERROR = MPI_SUCCESS; // which the MPI need not write
    int done = 0;
    const int error = PMPI_Request_get_status(request, &done, &status);
    if (error == MPI_SUCCESS && !done)
        return never;
    if (error == MPI_SUCCESS && has_something_to_do(entry->what, status))
        return entry->outer = begin_for_complete(*entry, status);
    Table::give_back(*entry);
    return request;
}

std::optional<int> wait_in_mpi(MPI_Request *request, MPI_Status *status)
{
    Entry *const entry = *request == MPI_REQUEST_NULL ? nullptr : table().find(*request);
    if (!entry)
        return PMPI_Wait(request, status);
    if (entry->outer != MPI_REQUEST_NULL || may_have_threads.load())
        return {};
    // An error handler that the MPI calls may get another request by this handle.
    Watched what = std::move(entry->what);
    const MPI_Comm comm = entry->comm.load();
    Table::give_back(*entry);
    MPI_Status own;
    MPI_Status *const found = status == MPI_STATUS_IGNORE ? &own : status;
    const int result = PMPI_Wait(request, found);
    if (result != MPI_SUCCESS && *request != MPI_REQUEST_NULL)
        static_cast<void>(watch(std::move(what), comm, request));
    if (result != MPI_SUCCESS)
        return result;
    return what.at ? receive_what_came_instead(what, *found, comm)
                   : raise(comm, what.together.has_failed() ? MPI_ERR_OTHER : MPI_SUCCESS);
}

bool is_pending(MPI_Request settled) { return settled != MPI_REQUEST_NULL && settled == never; }

void end_watch(MPI_Request *request)
{
    Entry *const entry = table().find(*request);
    const bool is_receive = entry && entry->what.at; // its error was told
    if (entry)
        Table::give_back(*entry);
    if (is_receive)
        PMPI_Request_free(request);
    else
        PMPI_Wait(request, MPI_STATUS_IGNORE);
}

// A receive goes on, so an operation does. The operation of the others must not end in the MPI's
// callback.
int free_request(MPI_Request *request)
{
    MPI_Request outer = settled(*request);
    if (is_pending(outer)) {
        Entry &entry = *table().find(*request);
        const Watched what = std::move(entry.what);
        const MPI_Comm comm = entry.comm.load();
        Table::give_back(entry);
        if (what.at)
            make_operation(what, comm, request);
        outer = *request;
    }
    const OperationPtr kept = operation_of(outer);
    if (outer == *request)
        return PMPI_Request_free(request);
    const int result = PMPI_Request_free(&outer);
    end_watch(request);
    return result;
}

void forget_communicator_of_watched(MPI_Comm comm)
{
    if (has_met_peers())
        table().forget(comm);
}

namespace {

int query_never(void *, MPI_Status *) { return MPI_SUCCESS; }
int free_never(void *) { return MPI_SUCCESS; }
int cancel_never(void *, int) { return MPI_SUCCESS; }

} // namespace

void prepare_to_watch()
{
    if (has_met_peers())
        PMPI_Grequest_start(query_never, free_never, cancel_never, nullptr, &never);
}

void end_watching()
{
    if (never == MPI_REQUEST_NULL)
        return;
    PMPI_Grequest_complete(never);
    PMPI_Request_free(&never);
}

} // namespace heddle::interpose
