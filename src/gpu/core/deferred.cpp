// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/core/deferred.hpp"

namespace heddle::gpu {

namespace {

constexpr size_t enough_count = 32;
constexpr size_t enough_bytes = size_t{8} << 20;

} // namespace

DeferredFree::DeferredFree(Backend &backend, int ordinal) : backend_(backend), ordinal_(ordinal) {}

DeferredFree::~DeferredFree() = default;

void DeferredFree::add(std::unique_ptr<Deferred> one) noexcept
{
    {
        const std::lock_guard lock(mutex_);
        ++count_;
        bytes_ += one->memory.bytes();
        one->next = std::move(waiting_);
        waiting_ = std::move(one);
    }
    collect(false);
}

void DeferredFree::collect(bool all) noexcept
{
    List passed; // ends outside of the lock
    {
        const std::lock_guard lock(mutex_);
        bool reached = false;
        if (done_ && (backend_.done_test(done_, &reached) || reached)) { // or the device failed
            passed = std::move(marked_);
            backend_.done_release(done_);
            done_ = nullptr;
        }
        if (!done_ && waiting_ && (all || count_ >= enough_count || bytes_ >= enough_bytes))
            mark();
    }
    drop(std::move(passed));
}

void DeferredFree::mark() noexcept
{
    if (backend_.done_acquire(ordinal_, &done_)) {
        done_ = nullptr;
        return;
    }
    if (backend_.done_after_all(ordinal_, done_)) {
        backend_.done_release(done_);
        done_ = nullptr;
        return;
    }
    marked_ = std::move(waiting_);
    count_ = 0;
    bytes_ = 0;
}

void DeferredFree::drop(List list) noexcept
{
    while (list)
        list = std::move(list->next);
}

} // namespace heddle::gpu
