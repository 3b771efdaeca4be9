// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/image/pinned_blocks.hpp"

#include "engine/immortal.hpp"
#include "engine/pool.hpp"

#include <algorithm>
#include <mutex>

namespace heddle::gpu {

namespace {

// As many blocks as the pool keeps, and those of types that are there.
constexpr size_t most_known = 64;
// Like the pool, this does not hold more of the system's memory than that.
constexpr size_t most_pinned = size_t{64} << 20;

class PinnedBlocks {
public:
    PinnedBlocks()
    {
        on_block_end([](char *at) noexcept { immortal<PinnedBlocks>().forget(at); });
    }

    bool ask(Device &device, char *at, size_t bytes)
    {
        const std::lock_guard lock(mutex_);
        const auto found = find(at);
        if (found == known_.end()) {
            if (known_.size() < most_known)
                known_.push_back({at, 0, nullptr});
            return false;
        }
        if (found->bytes >= bytes)
            return true;
        unpin(*found);
        if (bytes > most_pinned - pinned_ ||
            device.backend().pin(device.ordinal(), at, bytes) != HEDDLE_SUCCESS)
            return false;
        found->bytes = bytes;
        found->device = &device;
        pinned_ += bytes;
        return true;
    }

private:
    struct Known {
        char *at;
        size_t bytes; // pinned; 0: none
        Device *device;
    };

    std::vector<Known>::iterator find(const char *at)
    {
        return std::find_if(known_.begin(), known_.end(),
                            [at](const Known &each) { return each.at == at; });
    }
    void unpin(Known &block) noexcept
    {
        if (block.bytes == 0)
            return;
        static_cast<void>(block.device->backend().unpin(block.device->ordinal(), block.at));
        pinned_ -= block.bytes;
        block.bytes = 0;
    }
    void forget(char *at) noexcept
    {
        const std::lock_guard lock(mutex_);
        const auto found = find(at);
        if (found == known_.end())
            return;
        unpin(*found);
        *found = known_.back();
        known_.pop_back();
    }

    std::mutex mutex_;
    std::vector<Known> known_;
    size_t pinned_ = 0; // bytes
};

} // namespace

bool is_pinned_block(Device &device, const void *at, size_t bytes)
{
    if (bytes < least_of_pages || reinterpret_cast<uintptr_t>(at) % page_bytes != 0)
        return false;
    auto *const begin = static_cast<char *>(const_cast<void *>(at));
    return immortal<PinnedBlocks>().ask(device, begin,
                                        (bytes + page_bytes - 1) / page_bytes * page_bytes);
}

} // namespace heddle::gpu
