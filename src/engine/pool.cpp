// SPDX-License-Identifier: BSD-3-Clause
#include "engine/pool.hpp"

#include "engine/sanitizer.hpp"
#include "engine/spin_lock.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>

namespace heddle {

namespace {

// Nothing is kept from the sanitizer, or it would miss what is used after its end.
#if defined(HEDDLE_ADDRESS_SANITIZER)
constexpr size_t kept = 0;
#else
constexpr size_t kept = 1;
#endif
// What lies idle at most: as much as glibc's malloc keeps of a program that frees large blocks. Of
// what messages land in nobody may have touched more than a page: then addresses are all it takes.
constexpr size_t most_idle = kept * (size_t{64} << 20), most_staging = kept * (size_t{256} << 20);

class Pool {
public:
    explicit constexpr Pool(size_t most) : most_(most) {}

    // The latest of exactly so many bytes; none: null.
    PoolBlock take(size_t bytes) noexcept
    {
        const std::lock_guard lock(lock_);
        for (size_t i = count_; i > 0; --i)
            if (idle_[i - 1].bytes == bytes)
                return remove(i - 1);
        return {};
    }

    // What must go to the system, so that the block is kept: null once it is. What is too large for
    // the pool goes itself.
    PoolBlock keep(PoolBlock block) noexcept
    {
        const std::lock_guard lock(lock_);
        if (block.bytes > most_)
            return block;
        if (count_ == idle_.size() || bytes_ > most_ - block.bytes)
            return remove(0);
        idle_[count_++] = block;
        bytes_ += block.bytes;
        return {};
    }

    size_t bytes() noexcept
    {
        const std::lock_guard lock(lock_);
        return bytes_;
    }

private:
    PoolBlock remove(size_t i) noexcept
    {
        const PoolBlock removed = idle_[i];
        std::copy(idle_.begin() + i + 1, idle_.begin() + count_, idle_.begin() + i);
        --count_;
        bytes_ -= removed.bytes;
        return removed;
    }

    const size_t most_; // bytes that lie idle
    SpinLock lock_;
    std::array<PoolBlock, 64> idle_{}; // the longest idle first
    size_t count_ = 0;
    size_t bytes_ = 0;
};

// By use. Never destroyed: types may outlive them.
constinit Pool pools[] = {Pool(most_idle), Pool(most_idle), Pool(most_staging)};
constinit std::atomic<BlockEnds> block_ends{nullptr};

Pool &pool_of(PoolUse use) { return pools[static_cast<size_t>(use)]; }

void free_block(PoolBlock block, PoolUse use) noexcept
{
    if (use == PoolUse::arrays && block.bytes >= least_of_pages)
        if (const BlockEnds call = block_ends.load(std::memory_order_acquire))
            call(block.at);
    std::free(block.at);
}

} // namespace

void on_block_end(BlockEnds call) noexcept { block_ends.store(call, std::memory_order_release); }

PoolBlock take_block(size_t bytes, PoolUse use)
{
    const size_t size = block_size(bytes);
    if (size >= least_pooled)
        if (const PoolBlock found = pool_of(use).take(size); found.at)
            return found;
    constexpr size_t line = 64;
    auto *const at = static_cast<char *>(
        size < least_pooled ? std::malloc(size)
                            : std::aligned_alloc(size < least_of_pages ? line : page_bytes, size));
    if (!at)
        throw std::bad_alloc();
    return {at, size};
}

void give_block(PoolBlock block, PoolUse use) noexcept
{
    if (block.bytes < least_pooled)
        return std::free(block.at);
    Pool &pool = pool_of(use);
    for (PoolBlock gone = pool.keep(block); gone.at; gone = pool.keep(block)) {
        free_block(gone, use);
        if (gone.at == block.at)
            return;
    }
}

size_t idle_bytes() noexcept
{
    size_t bytes = 0;
    for (Pool &pool : pools)
        bytes += pool.bytes();
    return bytes;
}

} // namespace heddle
