// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/persistent.hpp"

#include "engine/immortal.hpp"

#include <mutex>
#include <unordered_map>
#include <utility>

namespace heddle::interpose {

namespace {

// The MPI's request, and what the steps held besides.
struct Owned {
    MPI_Request request;
    std::shared_ptr<const void> rest;

    Owned(MPI_Request request, std::shared_ptr<const void> rest)
        : request(request), rest(std::move(rest))
    {
    }
    Owned(const Owned &) = delete;
    Owned &operator=(const Owned &) = delete;
    ~Owned() { free_request_later(request); }
};

struct Persistent {
    std::shared_ptr<const Steps> steps;
    Start start;
    MPI_Request outer = MPI_REQUEST_NULL;
};

// With what the other holds, too.
std::shared_ptr<const void> both(std::shared_ptr<const void> first,
                                 std::shared_ptr<const void> second)
{
    using Two = std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>;
    return std::make_shared<Two>(std::move(first), std::move(second));
}

struct Table {
    std::mutex mutex;
    std::atomic<size_t> count{0};
    std::unordered_map<HandleKey, Persistent> all;

    // With the lock held. Null where the handle is none of ours.
    Persistent *find(MPI_Request handle)
    {
        const auto found = all.find(key_of(handle));
        return found == all.end() ? nullptr : &found->second;
    }
};

Table &table() { return immortal<Table>(); }

} // namespace

void keep_persistent(MPI_Request inner, Steps steps, Start start)
{
    steps.keeps_inner = true;
    steps.keep = std::make_shared<Owned>(inner, std::move(steps.keep));
    if (!steps.issue)
        steps.issue = [inner](MPI_Request *request) {
            *request = inner;
            return PMPI_Start(request);
        };
    const std::lock_guard lock(table().mutex);
    table().all[key_of(inner)] = {std::make_shared<const Steps>(std::move(steps)), std::move(start),
                                  MPI_REQUEST_NULL};
    table().count.store(table().all.size());
}

bool is_persistent(MPI_Request handle)
{
    if (table().count.load(std::memory_order_relaxed) == 0)
        return false;
    const std::lock_guard lock(table().mutex);
    return table().find(handle) != nullptr;
}

int start_persistent(MPI_Request handle)
{
    std::shared_ptr<const Steps> steps;
    Start start;
    {
        const std::lock_guard lock(table().mutex);
        steps = table().find(handle)->steps;
        start = table().find(handle)->start;
    }
    if (start) {
        Steps own = *steps;
        start(own);
        own.keep = both(own.keep, steps->keep);
        steps = std::make_shared<const Steps>(std::move(own));
    }
    MPI_Request outer = MPI_REQUEST_NULL;
    // A receive must not be behind what another thread packs: the next receive would overtake it.
    const int error = begin_published(steps, steps->pack.empty() && !steps->pack_rest, &outer);
    const std::lock_guard lock(table().mutex);
    table().find(handle)->outer = outer;
    return error;
}

MPI_Request active_request(MPI_Request handle)
{
    if (table().count.load(std::memory_order_relaxed) == 0)
        return handle;
    const std::lock_guard lock(table().mutex);
    const Persistent *const found = table().find(handle);
    return found && found->outer != MPI_REQUEST_NULL ? found->outer : handle;
}

void end_activity(MPI_Request handle)
{
    const std::lock_guard lock(table().mutex);
    if (Persistent *const found = table().find(handle))
        found->outer = MPI_REQUEST_NULL;
}

void forget_communicator_of_persistent(MPI_Comm comm)
{
    if (table().count.load(std::memory_order_relaxed) == 0)
        return;
    const std::lock_guard lock(table().mutex);
    for (auto &[handle, each] : table().all) {
        if (each.steps->comm != comm)
            continue;
        Steps steps = *each.steps;
        steps.comm = MPI_COMM_WORLD;
        steps.issue_notice = nullptr; // it needs the communicator
        each.start = nullptr;         // so does this
        each.steps = std::make_shared<const Steps>(std::move(steps));
    }
}

int free_persistent(MPI_Request handle)
{
    Persistent gone; // destroyed without the lock
    {
        const std::lock_guard lock(table().mutex);
        gone = std::move(*table().find(handle));
        table().all.erase(key_of(handle));
        table().count.store(table().all.size());
    }
    const OperationPtr kept = operation_of(gone.outer); // does not end in MPI's callback
    return gone.outer == MPI_REQUEST_NULL ? MPI_SUCCESS : PMPI_Request_free(&gone.outer);
}

} // namespace heddle::interpose
