// SPDX-License-Identifier: BSD-3-Clause
// Memory of other devices that other processes export. CUDA takes it for the importing device's
// own, but it is reached over a link, which other kernels and copies are made for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <shared_mutex>

namespace heddle::gpu::cuda {

class Imports {
    struct Range {
        size_t bytes;
        int times; // opened
    };

    template <class Ranges> static auto find(Ranges &ranges, uintptr_t address)
    {
        auto range = ranges.upper_bound(address);
        if (range == ranges.begin())
            return ranges.end();
        --range;
        return address - range->first < range->second.bytes ? range : ranges.end();
    }

public:
    void add(uintptr_t begin, size_t bytes)
    {
        const std::unique_lock lock(mutex_);
        const auto [range, added] = ranges_.try_emplace(begin, Range{bytes, 0});
        ++range->second.times;
        any_.store(true, std::memory_order_relaxed);
    }

    // The range that an address lies in, if there is one, once for each time that it was added.
    void remove(uintptr_t address)
    {
        const std::unique_lock lock(mutex_);
        if (const auto range = find(ranges_, address);
            range != ranges_.end() && --range->second.times == 0)
            ranges_.erase(range);
        any_.store(!ranges_.empty(), std::memory_order_relaxed);
    }

    // Costs a load where there is nothing.
    bool hold(uintptr_t address) const
    {
        if (!any_.load(std::memory_order_relaxed))
            return false;
        const std::shared_lock lock(mutex_);
        return find(ranges_, address) != ranges_.end();
    }

private:
    std::atomic<bool> any_{false};
    mutable std::shared_mutex mutex_;
    std::map<uintptr_t, Range> ranges_; // by where they begin
};

} // namespace heddle::gpu::cuda
