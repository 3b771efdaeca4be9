// SPDX-License-Identifier: BSD-3-Clause
#include "staging.hpp"

#include "../../gpu/settings.hpp"
#include "counters.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

namespace heddle::pipeline {

namespace {

// Who waits so long waits for somebody who is not coming back soon.
constexpr auto patience = std::chrono::milliseconds(50);
constexpr auto alignment = std::align_val_t{4096};

// What the host alone touches. Never destroyed: blocks may outlive static objects.
gpu::SlabPool &ordinary_memory()
{
    static gpu::SlabPool &pool =
        *std::make_unique<gpu::SlabPool>(
             [](size_t bytes, void **at) {
                 *at = ::operator new(bytes, alignment, std::nothrow);
                 return *at ? HEDDLE_SUCCESS : HEDDLE_ERR_NO_MEMORY;
             },
             [](void *at) { ::operator delete(at, alignment); }, gpu::Settings::get().slab_limit)
             .release();
    return pool;
}

} // namespace

// ---- blocks ----

void Block::swap(Block &other) noexcept
{
    std::swap(slab_, other.slab_);
    std::swap(plain_, other.plain_);
    std::swap(piece_, other.piece_);
    std::swap(staging_, other.staging_);
    std::swap(bytes_, other.bytes_);
}

Block::~Block()
{
    if (staging_)
        staging_->came_back(bytes_);
}

void Staging::came_back(int64_t bytes)
{
    held_ -= bytes;
    if (!line_.empty())
        moved_ = Clock::now();
}

// ---- the line ----

void Waiter::leave()
{
    if (line_)
        std::erase(line_->line_, this);
    line_ = nullptr;
}

void Staging::wait(Waiter &waiter)
{
    if (waiter.line_)
        return;
    if (line_.empty())
        moved_ = Clock::now();
    line_.push_back(&waiter);
    waiter.line_ = this;
}

int Staging::serve_line()
{
    int served = 0;
    while (!line_.empty()) {
        Waiter &first = *line_.front();
        const bool beyond = held_ == 0 || Clock::now() - moved_ > patience;
        Block block;
        const int e = take(first, beyond, block);
        if (e == HEDDLE_ERR_NO_MEMORY && !beyond) {
            count(Counter::waits, !std::exchange(first.counted_, true));
            break;
        }
        moved_ = Clock::now();
        line_.pop_front();
        first.line_ = nullptr;
        first.counted_ = false;
        ++served;
        if (first.granted(e, std::move(block)))
            wait(first);
    }
    return served;
}

// ---- taking ----

int Staging::take(const Waiter &waiter, bool beyond, Block &block)
{
    const auto bytes =
        static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(waiter.block_bytes())));
    if (!beyond && bytes > limit_ - held_)
        return HEDDLE_ERR_NO_MEMORY;
    gpu::Device *const device = waiter.block_device();
    const int e = mode_ == Mode::value
                      ? take_host(device, static_cast<size_t>(bytes), beyond, block)
                      : lend(*device, mode_, static_cast<size_t>(bytes), beyond, block.piece_);
    if (e)
        return e;
    block.staging_ = this;
    block.bytes_ = bytes;
    held_ += bytes;
    if (held_ > limit_ && held_ > bytes)
        count(Counter::beyond_limit);
    return HEDDLE_SUCCESS;
}

int Staging::take_host(gpu::Device *device, size_t bytes, bool beyond, Block &block)
{
    gpu::SlabPool &pool = device ? device->pinned : ordinary_memory();
    int e = pool.take(bytes, block.slab_);
    if (e != HEDDLE_ERR_NO_MEMORY || !beyond)
        return e;
    e = pool.take_apart(bytes, block.slab_);
    if (e != HEDDLE_ERR_NO_MEMORY)
        return e;
    block.plain_.reset(new (std::nothrow) char[bytes]);
    return block.plain_ ? HEDDLE_SUCCESS : HEDDLE_ERR_NO_MEMORY;
}

} // namespace heddle::pipeline
