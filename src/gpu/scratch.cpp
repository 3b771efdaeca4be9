// SPDX-License-Identifier: BSD-3-Clause
// Memory on loan to callers of the C API, for what they compute beside a buffer. A device's has no room of the host's
// in front of it: what it came from is remembered by its address.
#include "devices.hpp"

#include "../mpi/datatype/engine/guard.hpp"

#include <cstdlib>
#include <unordered_map>

using namespace heddle;
using namespace heddle::gpu;

namespace {

constexpr size_t alignment = 64;

std::mutex mutex;
std::unordered_map<void *, Slab> on_loan; // guarded by `mutex`
std::atomic<int64_t> loans{0};            // how many they are, so that the host's memory comes back without the lock

// Large ones of exactly their size, where the pool has no room: they are freed when they come back.
Slab take(Device &device, size_t bytes)
{
    Slab slab;
    if (device.memory.take(bytes, slab) && device.memory.take_apart(bytes, slab))
        return {};
    return slab;
}

void *of_device(const void *near, size_t bytes)
{
    Devices *const devices = Devices::open();
    if (!devices)
        return nullptr;
    const Memory memory = devices->backend().query(near, false);
    if (!memory.of_device() || memory.device < 0)
        return nullptr;
    Slab slab = take(devices->device(memory.device), bytes);
    if (!slab)
        return nullptr;
    void *const at = slab.at();
    const std::lock_guard lock(mutex);
    on_loan.emplace(at, std::move(slab));
    loans.fetch_add(1, std::memory_order_relaxed);
    return at;
}

} // namespace

int heddle_scratch_alloc(int64_t bytes, const void *near, void **ptr)
{
    if (bytes < 0 || !ptr)
        return HEDDLE_ERR_ARG;
    return guard([&] {
        const size_t whole = (static_cast<size_t>(bytes) + alignment) / alignment * alignment;
        *ptr = near ? of_device(near, whole) : nullptr;
        if (!*ptr)
            *ptr = std::aligned_alloc(alignment, whole);
        return int{*ptr ? HEDDLE_SUCCESS : HEDDLE_ERR_NO_MEMORY};
    });
}

void heddle_scratch_free(void *ptr)
{
    Slab slab; // goes back without the lock
    if (loans.load(std::memory_order_relaxed) > 0) {
        const std::lock_guard lock(mutex);
        const auto found = on_loan.find(ptr);
        if (found != on_loan.end()) {
            slab = std::move(found->second);
            on_loan.erase(found);
            loans.fetch_sub(1, std::memory_order_relaxed);
        }
    }
    if (!slab)
        std::free(ptr);
}
