// SPDX-License-Identifier: BSD-3-Clause
// Completion objects: each has a slot in host memory that the device writes a number into, so that the host
// learns of the end of a kernel by a load. A slot's numbers only grow: nothing is reset between uses.
#pragma once

#include "../backend.hpp"
#include "kernel.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace heddle::gpu::cuda {

struct CudaDone : Done {
    Signal signal;                     // `value` is what the slot holds when the latest use is reached
    cudaEvent_t event = nullptr;       // made only where the device cannot write slots in stream order
    bool by_event = false;             // the latest use is reached by the event, not by the slot
    std::atomic<uint32_t> unanswered{0}; // tests since the device was asked for errors

    bool slot_reached() const
    {
        const uint32_t now = std::atomic_ref<uint32_t>(*signal.slot).load(std::memory_order_acquire);
        return static_cast<int32_t>(now - signal.value) >= 0; // numbers may wrap around
    }
};

// The completion objects of one device. All calls are made with the device's context current.
class DonePool {
public:
    // One that lies idle; null where all are in use.
    CudaDone *idle();
    // One that lies idle or is made, in the device's context.
    int acquire(int device, cudaStream_t stream, CudaDone **done);
    void release(CudaDone *done);

private:
    // Slots lie a cache line apart, as different threads poll them.
    struct alignas(64) Slot {
        uint32_t value;
    };
    static constexpr int block_size = 64;

    int grow(int device, cudaStream_t stream);

    std::mutex mutex_;
    std::vector<std::unique_ptr<CudaDone[]>> blocks_;
    std::vector<CudaDone *> free_;
};

} // namespace heddle::gpu::cuda
