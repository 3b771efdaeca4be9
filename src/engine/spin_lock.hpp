// SPDX-License-Identifier: BSD-3-Clause
// A lock for sections of a few instructions. std::mutex costs two atomic operations, which is a
// tenth of making a small type; this one costs one, and none while the process has one thread.
#pragma once

#include <atomic>
#include <thread>

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

namespace heddle {

// May say no of a process that has one thread, never yes of one that has more.
inline bool is_single_threaded() noexcept
{
#if __has_include(<sys/single_threaded.h>)
    return __libc_single_threaded;
#else
    return false;
#endif
}

class SpinLock {
public:
    void lock() noexcept
    {
        if (is_single_threaded()) {
            held_.store(true, std::memory_order_relaxed);
            return;
        }
        while (held_.exchange(true, std::memory_order_acquire))
            while (held_.load(std::memory_order_relaxed))
                std::this_thread::yield(); // its holder may wait for this core
    }

    void unlock() noexcept { held_.store(false, std::memory_order_release); }

private:
    std::atomic<bool> held_{false};
};

} // namespace heddle
