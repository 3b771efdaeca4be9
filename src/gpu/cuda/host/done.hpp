// SPDX-License-Identifier: BSD-3-Clause
// Completion objects. Each has a slot in host memory that the device writes a number into. So the
// host learns of the end of a kernel by a load, or by a load for each of its few blocks. A slot's
// numbers only grow: nothing is reset between uses. A copy is followed by an event.
#pragma once

#include "gpu/core/backend.hpp"
#include "gpu/cuda/kernels/kernel.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace heddle::gpu::cuda {

struct CudaDone : Done {
    Signal signal;               // `value` is what the slot holds when the latest use is reached
    int words = 1;               // of the slot: so many hold it then
    cudaEvent_t event = nullptr; // made when it is first needed
    bool by_event = false;       // the latest use is reached by the event, not by the slot
    std::atomic<uint32_t> unanswered{0}; // tests since the device was asked for errors

    // Begins a use.
    void next()
    {
        by_event = false;
        words = 1;
        // Numbers may wrap around. A word that was not written for long must not seem to be ahead.
        if (++signal.value % (1u << 30) == 0)
            for (int i = 0; i < Signal::words; ++i)
                word(i).store(signal.value - 1, std::memory_order_relaxed);
    }

    bool slot_reached() const
    {
        for (int i = 0; i < words; ++i)
            if (static_cast<int32_t>(word(i).load(std::memory_order_acquire) - signal.value) < 0)
                return false;
        return true;
    }

    std::atomic_ref<uint32_t> word(int i) const
    {
        return std::atomic_ref<uint32_t>(signal.slot[i]);
    }
};

// The completion objects of one device. All calls are made with the device's context current.
class DonePool {
public:
    // One that lies idle; null where all are in use.
    CudaDone *idle();
    // One that lies idle or is made, in the device's context.
    Error acquire(int device, cudaStream_t stream, CudaDone **done);
    void release(CudaDone *done);

private:
    // A cache line each, as different threads poll them.
    struct alignas(64) Slot {
        uint32_t words[Signal::words];
    };
    static constexpr int block_size = 64;

    Error grow(int device, cudaStream_t stream);

    std::mutex mutex_;
    std::vector<std::unique_ptr<CudaDone[]>> blocks_;
    std::vector<CudaDone *> free_;
};

} // namespace heddle::gpu::cuda
