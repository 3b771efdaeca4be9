// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/cuda/host/done.hpp"

#include "gpu/cuda/host/error.hpp"

#include <algorithm>
#include <new>

namespace heddle::gpu::cuda {

CudaDone *DonePool::idle()
{
    const std::lock_guard lock(mutex_);
    if (free_.empty())
        return nullptr;
    CudaDone *const done = free_.back();
    free_.pop_back();
    return done;
}

Error DonePool::acquire(int device, cudaStream_t stream, CudaDone **done)
{
    const std::lock_guard lock(mutex_);
    if (free_.empty())
        if (const Error e = grow(device, stream))
            return e;
    *done = free_.back();
    free_.pop_back();
    return HEDDLE_SUCCESS;
}

void DonePool::release(CudaDone *done)
{
    const std::lock_guard lock(mutex_);
    free_.push_back(done); // grow() made room for every object
}

// Slots and counters live as long as the process, as the context does.
Error DonePool::grow(int device, cudaStream_t stream)
{
    std::unique_ptr<CudaDone[]> block(new (std::nothrow) CudaDone[block_size]);
    if (!block)
        return HEDDLE_ERR_NO_MEMORY;
    try {
        blocks_.reserve(blocks_.size() + 1);
        free_.reserve((blocks_.size() + 1) * block_size);
    } catch (const std::bad_alloc &) {
        return HEDDLE_ERR_NO_MEMORY;
    }

    void *slots = nullptr;
    void *counters = nullptr;
    if (const Error e =
            check("cudaHostAlloc", cudaHostAlloc(&slots, block_size * sizeof(Slot),
                                                 cudaHostAllocPortable | cudaHostAllocMapped)))
        return e;
    Error e = check("cudaMalloc", cudaMalloc(&counters, block_size * sizeof(uint32_t)));
    if (!e)
        e = check("cudaMemsetAsync",
                  cudaMemsetAsync(counters, 0, block_size * sizeof(uint32_t), stream));
    if (!e)
        e = check("cudaStreamSynchronize", cudaStreamSynchronize(stream));
    if (e) {
        cudaFree(counters);
        cudaFreeHost(slots);
        return e;
    }
    for (int i = 0; i < block_size; ++i) {
        Slot *slot = static_cast<Slot *>(slots) + i;
        std::fill_n(slot->words, Signal::words, 0);
        block[i].device = device;
        block[i].signal = {slot->words, static_cast<uint32_t *>(counters) + i, 0};
        free_.push_back(&block[i]);
    }
    blocks_.push_back(std::move(block));
    return HEDDLE_SUCCESS;
}

} // namespace heddle::gpu::cuda
