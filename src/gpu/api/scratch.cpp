// SPDX-License-Identifier: BSD-3-Clause
// Scratch memory of callers of the C API, for what they compute beside a buffer. A device's has no
// room of the host's in front of it: what it came from is remembered by its address.
#include "gpu/api/scratch.hpp"

#include "engine/immortal.hpp"
#include "gpu/core/devices.hpp"
#include "gpu/core/error_detail.hpp"

#include "engine/pool.hpp"

#include <unordered_map>

namespace heddle::gpu {
namespace {

constexpr size_t alignment = 64;

class Scratch {
public:
    static Scratch &get() { return immortal<Scratch>(); }

    void *add(Slab &&slab)
    {
        void *const at = slab.at();
        const std::lock_guard lock(mutex_);
        all_.emplace(at, std::move(slab));
        count_.fetch_add(1, std::memory_order_relaxed);
        return at;
    }
    // Empty where it is none. A caller that asks for its own block finds it. Where there are no
    // blocks at all, nothing is locked.
    Slab remove(void *at)
    {
        if (count_.load(std::memory_order_relaxed) == 0)
            return {};
        const std::lock_guard lock(mutex_);
        const auto found = all_.find(at);
        if (found == all_.end())
            return {};
        Slab slab = std::move(found->second);
        all_.erase(found);
        count_.fetch_sub(1, std::memory_order_relaxed);
        return slab;
    }
    bool is_temporary(const void *at)
    {
        if (count_.load(std::memory_order_relaxed) == 0)
            return false;
        const std::lock_guard lock(mutex_);
        const auto found = all_.find(const_cast<void *>(at));
        return found != all_.end() && !found->second.stays();
    }

private:
    std::mutex mutex_;
    std::unordered_map<void *, Slab> all_;
    std::atomic<int64_t> count_{0};
};

void *of_device(const void *near, size_t bytes)
{
    const Devices *const devices = Devices::open();
    Device *const device = devices ? devices->device_of(near) : nullptr;
    Slab slab;
    if (!device || (device->memory.take(bytes, slab) && device->memory.take_apart(bytes, slab)))
        return nullptr;
    return Scratch::get().add(std::move(slab));
}

// Of the host, out of the pool. The block is remembered in front of what its user gets.
void *of_host(size_t bytes)
{
    const PoolBlock block = take_block(sizeof block + alignment + bytes, PoolUse::scratch);
    const auto least = reinterpret_cast<uintptr_t>(block.at) + sizeof block;
    char *const at = block.at + sizeof block + (alignment - least % alignment) % alignment;
    std::memcpy(at - sizeof block, &block, sizeof block);
    return at;
}

void free_of_host(void *at)
{
    if (!at)
        return;
    PoolBlock block;
    std::memcpy(&block, static_cast<char *>(at) - sizeof block, sizeof block);
    give_block(block, PoolUse::scratch);
}

} // namespace

bool is_temporary(const void *base) { return Scratch::get().is_temporary(base); }

} // namespace heddle::gpu

using namespace heddle;
using namespace heddle::gpu;

int heddle_scratch_alloc(int64_t bytes, const void *near, void **ptr)
{
    if (bytes < 0 || !ptr)
        return HEDDLE_ERR_ARG;
    if (bytes > INT64_MAX - 2 * static_cast<int64_t>(alignment))
        return HEDDLE_ERR_NO_MEMORY;
    return answer([&] {
        const size_t whole = (std::max<size_t>(static_cast<size_t>(bytes), 1) + alignment - 1) /
                             alignment * alignment;
        void *const at = near ? of_device(near, whole) : nullptr;
        *ptr = at ? at : of_host(whole);
    });
}

void heddle_scratch_free(void *ptr)
{
    if (const Slab slab = Scratch::get().remove(ptr); !slab)
        free_of_host(ptr);
}
