// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/core/slabs.hpp"

#include "heddle.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

namespace heddle::gpu {

void GiveBackSlab::operator()(const SlabMemory &memory) const
{
    if (memory.pooled)
        memory.pool->give_back(memory.at, memory.bytes);
    else
        memory.pool->give_back_apart({memory.at, memory.bytes});
}

SlabPool::SlabPool(Allocate allocate, Free free, size_t limit)
    : allocate_(std::move(allocate)), free_(std::move(free)), limit_(limit)
{
}

Error SlabPool::take(size_t bytes, Slab &slab)
{
    if (bytes > limit_)
        return HEDDLE_ERR_NO_MEMORY;
    const size_t size = std::bit_ceil(std::max(bytes, smallest));
    const auto log = static_cast<size_t>(std::countr_zero(size));
    if (log >= idle_.size() || size > limit_)
        return HEDDLE_ERR_NO_MEMORY;
    slab = {}; // what it holds comes back first
    {
        const std::lock_guard lock(mutex_);
        auto &idle = idle_[log];
        if (!idle.empty()) {
            slab = Slab({this, idle.back(), size, true});
            idle.pop_back();
            in_use_ += size;
            return HEDDLE_SUCCESS;
        }
    }
    for (;;) {
        bool room;
        {
            const std::lock_guard lock(mutex_);
            room = held_ + size <= limit_;
            if (room) {
                held_ += size;
                in_use_ += size;
            }
        }
        if (room) {
            void *at = nullptr;
            const Error error = allocate_(size, &at);
            if (error == HEDDLE_SUCCESS) {
                slab = Slab({this, static_cast<char *>(at), size, true});
                return HEDDLE_SUCCESS;
            }
            {
                const std::lock_guard lock(mutex_);
                held_ -= size;
                in_use_ -= size;
            }
            if (error != HEDDLE_ERR_NO_MEMORY)
                return error;
        }
        if (!trim())
            return HEDDLE_ERR_NO_MEMORY;
    }
}

Error SlabPool::take_up_to(size_t bytes, Slab &slab)
{
    for (;; bytes /= 2) {
        const Error error = take(bytes, slab);
        if (error != HEDDLE_ERR_NO_MEMORY || bytes <= smallest)
            return error;
    }
}

Error SlabPool::take_apart(size_t bytes, Slab &slab)
{
    slab = {};
    {
        const std::lock_guard lock(mutex_);
        const auto fits = [&](const Apart &each) {
            return each.bytes >= bytes && each.bytes / 2 <= bytes;
        };
        if (const auto found = std::find_if(apart_.begin(), apart_.end(), fits);
            found != apart_.end()) {
            slab = Slab({this, found->at, found->bytes, false});
            held_ -= found->bytes;
            *found = apart_.back();
            apart_.pop_back();
            return HEDDLE_SUCCESS;
        }
    }
    void *at = nullptr;
    Error error = allocate_(bytes, &at);
    if (error == HEDDLE_ERR_NO_MEMORY && trim())
        error = allocate_(bytes, &at);
    if (error == HEDDLE_SUCCESS)
        slab = Slab({this, static_cast<char *>(at), bytes, false});
    return error;
}

size_t SlabPool::in_use() const
{
    const std::lock_guard lock(mutex_);
    return in_use_;
}

size_t SlabPool::held() const
{
    const std::lock_guard lock(mutex_);
    return held_;
}

// `at` was just emptied of its user: keeping it must not fail.
void SlabPool::give_back(char *at, size_t bytes)
{
    assert(std::has_single_bit(bytes));
    const auto log = static_cast<size_t>(std::countr_zero(bytes));
    bool kept = true;
    {
        const std::lock_guard lock(mutex_);
        assert(in_use_ >= bytes && held_ >= in_use_);
        in_use_ -= bytes;
        try {
            idle_[log].push_back(at);
        } catch (...) {
            kept = false;
            held_ -= bytes;
        }
    }
    if (!kept)
        free_(at);
}

// To free it may mean to wait for the device, which who releases a type does not expect.
void SlabPool::give_back_apart(Apart memory)
{
    bool kept = false;
    {
        const std::lock_guard lock(mutex_);
        if (held_ + memory.bytes <= limit_) {
            try {
                apart_.push_back(memory);
                held_ += memory.bytes;
                kept = true;
            } catch (...) {
            }
        }
    }
    if (!kept)
        free_(memory.at);
}

// Frees what lies idle, for slabs of another size. Whether there was anything.
bool SlabPool::trim()
{
    std::array<std::vector<char *>, 48> idle;
    std::vector<Apart> apart;
    bool any = false;
    {
        const std::lock_guard lock(mutex_);
        apart.swap(apart_);
        any = !apart.empty();
        for (const Apart &each : apart)
            held_ -= each.bytes;
        for (size_t log = 0; log < idle_.size(); ++log) {
            idle[log].swap(idle_[log]);
            held_ -= idle[log].size() << log;
            any = any || !idle[log].empty();
        }
    }
    for (const auto &size : idle)
        for (char *at : size)
            free_(at);
    for (const Apart &each : apart)
        free_(each.at);
    return any;
}

} // namespace heddle::gpu
