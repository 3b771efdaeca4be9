// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/accesses.hpp"

#include "engine/immortal.hpp"

#include <unordered_map>

namespace heddle::interpose {

namespace {

struct Table {
    std::mutex mutex;
    std::atomic<size_t> count{0};
    std::unordered_map<HandleKey, WindowPtr> all;
};

Table &table() { return immortal<Table>(); }

// Windows that others may lock, and those that have tables: both have to do at calls that wait.
Tally concerned;

} // namespace

const Access::Staged *Access::stage(const void *buffer, int64_t n, MPI_Datatype type)
{
    if (target_ == MPI_PROC_NULL) // nothing is moved
        return nullptr;
    // Whether an MPI takes device memory for its messages says little of its windows.
    std::optional<Data> data = device_data_of_any_form(buffer, n, type);
    if (!data)
        return nullptr;
    const bool keeps_form = data->shape->is_of_gaps();
    Staging staging(keeps_form ? data->high() - data->low() : data->bytes(), data->near());
    if (staging.failed())
        fail(MPI_ERR_NO_MEM);
    std::byte *const at = staging.at() - (keeps_form ? data->low() : 0);
    const heddle_side side = keeps_form ? heddle_side{at, data->count, data->shape->type(), 0}
                                        : packed_side(at, data->bytes());
    const MPI_Datatype made = keeps_form ? type : data->shape->dense();
    staged_->push_back(std::make_unique<const Staged>(
        Staged{*std::move(data), std::move(staging), at, made, side}));
    return staged_->back().get();
}

Window::Window(MPI_Win win, PublicCopyPtr copy, bool has_locks, std::unique_ptr<RegionTable> table)
    : win_(win),
      base_(copy ? copy->base() : nullptr),
      has_locks_(has_locks),
      table_(std::move(table)),
      has_copies_(copy != nullptr)
{
    if (table_)
        concerned.add(1);
    if (copy)
        add(std::move(copy));
}

Window::~Window()
{
    set_may_be_locked(false);
    if (table_)
        concerned.add(-1);
}

std::vector<PublicCopyPtr> Window::copies()
{
    const std::lock_guard lock(mutex_);
    return copies_;
}

int Window::at_all(int (PublicCopy::*does)())
{
    int error = MPI_SUCCESS;
    if (has_copies())
        for (const PublicCopyPtr &each : copies())
            if (const int own = (each.get()->*does)(); error == MPI_SUCCESS)
                error = own;
    return error;
}

int Window::place_result(void *&buffer, int64_t count, MPI_Datatype type)
{
    void *const given = buffer;
    for (const PublicCopyPtr &each : copies())
        if (const int error = each->place_result(buffer, count, type);
            error != MPI_SUCCESS || buffer != given)
            return error;
    return MPI_SUCCESS;
}

PublicCopyPtr Window::copy_at(const void *base)
{
    for (const PublicCopyPtr &each : copies())
        if (each->base() == base)
            return each;
    return nullptr;
}

void Window::add(PublicCopyPtr copy)
{
    {
        const std::lock_guard lock(mutex_);
        copies_.push_back(std::move(copy));
        has_copies_.store(true);
    }
    set_may_be_locked(has_locks_);
}

void Window::remove(const PublicCopyPtr &copy)
{
    copy->close();
    const std::lock_guard lock(mutex_);
    std::erase(copies_, copy);
    has_copies_.store(!copies_.empty());
}

void Window::close()
{
    for (const PublicCopyPtr &each : copies())
        each->close();
}

void Window::set_may_be_locked(bool may_be)
{
    if (may_be_locked_.exchange(may_be) != may_be)
        concerned.add(may_be ? 1 : -1);
}

void Window::fail_beside(int error)
{
    error_.store(error);
    PMPI_Win_call_errhandler(win_, error);
}

void Window::keep(AccessPtr access)
{
    constexpr size_t enough = 64;
    const std::lock_guard lock(mutex_);
    accesses_.push_back(std::move(access));
    if (accesses_.size() % enough == 0) // a program may wait for requests, and never synchronize
        forget_ended();
}

void Window::forget_ended()
{
    std::erase_if(accesses_, [](const AccessPtr &each) { return each->is_over(); });
}

std::vector<AccessPtr> Window::accesses_to(int target)
{
    std::vector<AccessPtr> found;
    const std::lock_guard lock(mutex_);
    for (const AccessPtr &each : accesses_)
        if (target == any_target || each->target() == target)
            found.push_back(each);
    return found;
}

int Window::end(const std::vector<AccessPtr> &accesses)
{
    if (accesses.empty())
        return MPI_SUCCESS;
    for (const AccessPtr &each : accesses)
        if (each->operation())
            finish(*each->operation());
    const std::lock_guard unpacking(unpacking_);
    std::vector<heddle_move> moves;
    for (const AccessPtr &each : accesses)
        if (!each->is_over())
            moves.insert(moves.end(), each->unpack().begin(), each->unpack().end());
    const int failed = transfer(moves);
    int error = failed;
    for (const AccessPtr &each : accesses) {
        if (!each->is_over())
            each->set_unpacked(failed);
        else if (error == MPI_SUCCESS)
            error = each->error();
    }
    const std::lock_guard lock(mutex_);
    forget_ended();
    return error;
}

// ---- all windows --------------------------------------------------------------------------------

WindowPtr find_window(MPI_Win win)
{
    if (table().count.load() == 0)
        return nullptr;
    const std::lock_guard lock(table().mutex);
    const auto found = table().all.find(key_of(win));
    return found == table().all.end() ? nullptr : found->second;
}

WindowPtr known_window(MPI_Win win)
{
    const std::lock_guard lock(table().mutex);
    WindowPtr &window = table().all[key_of(win)];
    if (!window)
        window = std::make_shared<Window>(win);
    table().count.store(table().all.size());
    return window;
}

void keep_window(MPI_Win win, WindowPtr window)
{
    const std::lock_guard lock(table().mutex);
    table().all[key_of(win)] = std::move(window);
    table().count.store(table().all.size());
}

WindowPtr take_window(MPI_Win win)
{
    if (table().count.load() == 0)
        return nullptr;
    const std::lock_guard lock(table().mutex);
    const auto found = table().all.find(key_of(win));
    if (found == table().all.end())
        return nullptr;
    WindowPtr window = std::move(found->second);
    table().all.erase(found);
    table().count.store(table().all.size());
    return window;
}

// ---- those that others may lock -----------------------------------------------------------------

namespace {

template <class Act> void for_all_lockable(Act act)
{
    if (!any_may_be_locked())
        return;
    std::vector<WindowPtr> all;
    {
        const std::lock_guard lock(table().mutex);
        for (const auto &[key, each] : table().all)
            if (each->may_be_locked())
                all.push_back(each);
    }
    for (const WindowPtr &each : all)
        if (const int error = act(*each); error != MPI_SUCCESS)
            each->fail_beside(error);
}

} // namespace

bool any_may_be_locked() { return concerned.load() != 0; }

void publish_all()
{
    for_all_lockable([](Window &window) { return window.publish(); });
}

void collect_all() { collect_others(nullptr); }

void collect_others(const Window *but)
{
    if (!any_may_be_locked())
        return;
    may_have_heard();
    for_all_lockable(
        [but](Window &window) { return &window == but ? int{MPI_SUCCESS} : window.collect(); });
}

} // namespace heddle::interpose
