// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/peer_memory/staging.hpp"

#include "engine/immortal.hpp"
#include "gpu/core/settings.hpp"
#include "pipeline/counters.hpp"
#include "pipeline/limits.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <new>
#include <utility>

namespace heddle::pipeline {

namespace {

constexpr auto alignment = std::align_val_t{4096};

// What the host alone touches. Never destroyed: blocks may outlive static objects.
gpu::SlabPool &ordinary_memory()
{
    static Immortal<gpu::SlabPool> pool(
        [](size_t bytes, void **at) {
            *at = ::operator new(bytes, alignment, std::nothrow);
            return *at ? HEDDLE_SUCCESS : HEDDLE_ERR_NO_MEMORY;
        },
        [](void *at) { ::operator delete(at, alignment); }, gpu::Settings::get().slab_limit);
    return *pool;
}

} // namespace

void GiveBackShare::operator()(const Share &share) const
{
    if (share.piece.pool)
        give_back(share.piece);
    share.staging->held_ -= share.bytes;
    if (share.staging->anyone_waits())
        share.staging->moved_ = Staging::Clock::now();
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
    assert(!waiter.line_ || waiter.line_ == this);
    if (waiter.line_)
        return;
    if (line_.empty())
        moved_ = Clock::now();
    line_.push_back(&waiter);
    waiter.line_ = this;
}

int Staging::serve()
{
    int served = 0;
    while (!line_.empty()) {
        Waiter &first = *line_.front();
        const bool beyond = held_ == 0 || Clock::now() - moved_ > staging_timeout;
        Block block;
        const Error e = take(first, beyond, block);
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

Error Staging::take(const Waiter &waiter, bool beyond, Block &block)
{
    const auto bytes =
        static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(waiter.block_bytes())));
    if (!beyond && bytes > limit_ - held_)
        return HEDDLE_ERR_NO_MEMORY;
    gpu::Device *const device = waiter.block_device();
    Piece piece;
    const Error e = mode_ == Mode::value
                        ? take_host(device, static_cast<size_t>(bytes), beyond, block)
                        : take_piece(*device, mode_, static_cast<size_t>(bytes), beyond, piece);
    if (e)
        return e;
    block.value_ = {this, bytes, piece};
    held_ += bytes;
    if (held_ > limit_ && held_ > bytes)
        count(Counter::beyond_limit);
    return HEDDLE_SUCCESS;
}

Error Staging::take_host(gpu::Device *device, size_t bytes, bool beyond, Block &block)
{
    gpu::SlabPool &pool = device ? device->pinned : ordinary_memory();
    Error e = pool.take(bytes, block.slab_);
    if (e == HEDDLE_ERR_NO_MEMORY && beyond)
        e = pool.take_apart(bytes, block.slab_);
    if (e == HEDDLE_ERR_NO_MEMORY && beyond && device)
        e = ordinary_memory().take_apart(bytes, block.slab_);
    return e;
}

} // namespace heddle::pipeline
