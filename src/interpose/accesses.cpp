// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/accesses.hpp"

#include "engine/immortal.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>
#include <unordered_map>

namespace heddle::interpose {

namespace {

struct Table {
    std::mutex mutex;
    std::atomic<int> count{0};
    std::unordered_map<HandleKey, std::vector<AccessPtr>> all; // by window
};

Table &table() { return immortal<Table>(); }

} // namespace

const Access::Staged *Access::stage(const void *buffer, int64_t n, MPI_Datatype type)
{
    // Whether an MPI takes device memory for its messages says little of its windows.
    std::optional<Data> data = device_data_of_any_form(buffer, n, type);
    if (!data)
        return nullptr;
    Staging staging(data->bytes(), data->near());
    if (staging.failed())
        error_ = MPI_ERR_NO_MEM;
    staged_->push_back(
        std::make_unique<const Staged>(Staged{*std::move(data), std::move(staging)}));
    return staged_->back().get();
}

void keep_access(MPI_Win win, AccessPtr access)
{
    constexpr size_t enough = 64;
    const std::lock_guard lock(table().mutex);
    std::vector<AccessPtr> &all = table().all[key_of(win)];
    all.push_back(std::move(access));
    table().count.fetch_add(1);
    if (all.size() % enough == 0) // a program may wait for requests alone, and never synchronize
        table().count.fetch_sub(static_cast<int>(std::erase_if(all, [](const AccessPtr &each) {
            return each->operation() && each->operation()->is_done();
        })));
}

std::vector<AccessPtr> take_accesses(MPI_Win win, int target)
{
    if (table().count.load() == 0)
        return {};
    const std::lock_guard lock(table().mutex);
    const auto found = table().all.find(key_of(win));
    if (found == table().all.end())
        return {};
    std::vector<AccessPtr> taken;
    std::erase_if(found->second, [&](AccessPtr &each) {
        const bool is_taken = target == any_target || each->target() == target;
        if (is_taken)
            taken.push_back(std::move(each));
        return is_taken;
    });
    if (found->second.empty())
        table().all.erase(found);
    table().count.fetch_sub(static_cast<int>(taken.size()));
    return taken;
}

void give_back_accesses(MPI_Win win, std::vector<AccessPtr> accesses)
{
    if (accesses.empty())
        return;
    const std::lock_guard lock(table().mutex);
    std::vector<AccessPtr> &kept = table().all[key_of(win)];
    table().count.fetch_add(static_cast<int>(accesses.size()));
    kept.insert(kept.begin(), std::make_move_iterator(accesses.begin()),
                std::make_move_iterator(accesses.end()));
}

int end_accesses(const std::vector<AccessPtr> &accesses)
{
    std::vector<heddle_move> moves;
    for (const AccessPtr &each : accesses)
        if (each->operation())
            finish(*each->operation());
        else
            moves.insert(moves.end(), each->unpack().begin(), each->unpack().end());
    return transfer(moves);
}

} // namespace heddle::interpose
