// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/together.hpp"

#include "interpose/activity.hpp"

#include "engine/immortal.hpp"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace heddle::interpose {

// Of a communicator.
struct Members {
    std::vector<Place> places;
    // By which all members know it. Rank 0 sends it with the first collective; it is needed, and
    // waited for, when a device fails.
    uint64_t name = 0;
    MPI_Request naming = MPI_REQUEST_NULL;
    uint64_t count = 0; // of collectives

    void finish_naming()
    {
        if (naming != MPI_REQUEST_NULL)
            PMPI_Wait(&naming, MPI_STATUS_IGNORE);
    }
};

namespace {

struct Table {
    std::mutex mutex;
    // Null: nobody can be told there.
    std::unordered_map<HandleKey, std::shared_ptr<Members>> all;
    decltype(all)::value_type *last = nullptr; // of `all`: programs use one many times
    uint64_t named = 0;                        // by this process
};

Table &table() { return immortal<Table>(); }

// With the lock held. All members decide alike: what they decide by is known to each.
std::shared_ptr<Members> find_members(MPI_Comm comm)
{
    int between = 0, size = 0, rank = 0;
    PMPI_Comm_test_inter(comm, &between);
    PMPI_Comm_size(comm, &size);
    PMPI_Comm_rank(comm, &rank);
    if (between || size == 1)
        return nullptr;
    auto members = std::make_shared<Members>();
    for (int each = 0; each < size; ++each) {
        const Place place = each == rank ? own_place() : place_of(each, comm);
        if (place == nobody)
            return nullptr;
        members->places.push_back(place);
    }
    members->name = uint64_t{1} + static_cast<uint64_t>(own_place()) +
                    static_cast<uint64_t>(most_places) * ++table().named;
    PMPI_Ibcast(&members->name, sizeof members->name, MPI_BYTE, 0, comm, &members->naming);
    return members;
}

} // namespace

Together::Together(MPI_Comm comm)
{
    if (!has_met_peers() || comm == MPI_COMM_NULL)
        return;
    Table &known = table();
    std::unique_lock lock(known.mutex, std::defer_lock);
    if (may_have_threads.load())
        lock.lock();
    if (!known.last || known.last->first != key_of(comm)) {
        const auto [found, is_new] = known.all.try_emplace(key_of(comm));
        if (is_new)
            found->second = find_members(comm);
        known.last = &*found;
    }
    members_ = known.last->second;
    if (members_)
        number_ = ++members_->count;
}

void Together::note_failure()
{
    if (!members_)
        return;
    const std::lock_guard lock(table().mutex);
    members_->finish_naming();
    Page &own = own_page();
    const uint32_t n = own.failure_count.load(std::memory_order_relaxed);
    if (n < Page::most_failures)
        own.failures[n] = {members_->name, number_, start_};
    own.failure_count.store(n + 1, std::memory_order_release);
    for (const Place each : members_->places)
        if (each != own_place())
            page_of(each)->failures_of_others.fetch_add(1, std::memory_order_release);
}

bool Together::has_failed() const
{
    if (!members_ || own_page().failures_of_others.load(std::memory_order_acquire) == 0)
        return false;
    const std::lock_guard lock(table().mutex);
    members_->finish_naming();
    const Failure this_one{members_->name, number_, start_};
    return std::ranges::any_of(members_->places, [&](Place each) {
        if (each == own_place())
            return false;
        const Page &its = *page_of(each);
        const uint32_t n = its.failure_count.load(std::memory_order_acquire);
        if (n > Page::most_failures) // it has failed too often to say when
            return true;
        return std::find(its.failures.begin(), its.failures.begin() + n, this_one) !=
               its.failures.begin() + n;
    });
}

void forget_members(MPI_Comm comm)
{
    std::shared_ptr<Members> gone;
    {
        const std::lock_guard lock(table().mutex);
        const auto found = table().all.find(key_of(comm));
        if (found == table().all.end())
            return;
        gone = std::move(found->second);
        table().all.erase(found);
        table().last = nullptr;
    }
    if (gone)
        gone->finish_naming();
}

void forget_all_members()
{
    const std::lock_guard lock(table().mutex);
    for (const auto &[comm, members] : table().all)
        if (members)
            members->finish_naming();
    table().all.clear();
    table().last = nullptr;
}

} // namespace heddle::interpose
