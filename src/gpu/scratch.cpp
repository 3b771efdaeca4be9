// SPDX-License-Identifier: BSD-3-Clause
// Memory on loan to callers of the C API, for what they compute beside a buffer. A device's has no
// room of the host's in front of it: what it came from is remembered by its address.
#include "scratch.hpp"

#include "devices.hpp"
#include "error_detail.hpp"

#include <cstdlib>
#include <unordered_map>

namespace heddle::gpu {
namespace {

constexpr size_t alignment = 64;

class Loans {
public:
    // Never destroyed: the device's library may be gone before static objects end.
    static Loans &get()
    {
        static Loans &loans = *std::make_unique<Loans>().release();
        return loans;
    }

    void *add(Slab &&slab)
    {
        void *const at = slab.at();
        const std::lock_guard lock(mutex_);
        all_.emplace(at, std::move(slab));
        count_.fetch_add(1, std::memory_order_relaxed);
        return at;
    }
    // Empty where it is none. Who asks for one of his own finds it; where there are none at all,
    // nothing is locked.
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
    bool is_passing(const void *at)
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
    return Loans::get().add(std::move(slab));
}

} // namespace

bool is_passing(const void *base) { return Loans::get().is_passing(base); }

} // namespace heddle::gpu

using namespace heddle;
using namespace heddle::gpu;

int heddle_scratch_alloc(int64_t bytes, const void *near, void **ptr)
{
    if (bytes < 0 || !ptr)
        return HEDDLE_ERR_ARG;
    if (bytes > INT64_MAX - static_cast<int64_t>(alignment))
        return HEDDLE_ERR_NO_MEMORY;
    return answer([&] {
        const size_t whole = (std::max<size_t>(static_cast<size_t>(bytes), 1) + alignment - 1) /
                             alignment * alignment;
        void *at = near ? of_device(near, whole) : nullptr;
        if (!at)
            at = std::aligned_alloc(alignment, whole);
        if (!at)
            return int{HEDDLE_ERR_NO_MEMORY};
        *ptr = at;
        return int{HEDDLE_SUCCESS};
    });
}

void heddle_scratch_free(void *ptr)
{
    if (const Slab slab = Loans::get().remove(ptr); !slab)
        std::free(ptr);
}
