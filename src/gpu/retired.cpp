// SPDX-License-Identifier: BSD-3-Clause
#include "retired.hpp"

#include "resident.hpp"

namespace heddle::gpu {

namespace {

constexpr size_t enough_images = 32;
constexpr size_t enough_bytes = size_t{8} << 20;

} // namespace

Retired::Retired(Backend &backend, int ordinal) : backend_(backend), ordinal_(ordinal) {}

Retired::~Retired() = default;

void Retired::add(std::unique_ptr<Resident> image) noexcept
{
    {
        const std::lock_guard lock(mutex_);
        ++count_;
        bytes_ += image->memory.bytes();
        image->next = std::move(waiting_);
        waiting_ = std::move(image);
    }
    collect(false);
}

void Retired::collect(bool all) noexcept
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
        if (!done_ && waiting_ && (all || count_ >= enough_images || bytes_ >= enough_bytes))
            mark();
    }
    drop(std::move(passed));
}

void Retired::mark() noexcept
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

void Retired::drop(List list) noexcept
{
    while (list)
        list = std::move(list->next);
}

} // namespace heddle::gpu
