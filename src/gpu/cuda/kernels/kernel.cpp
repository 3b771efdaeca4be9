// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/cuda/kernels/kernel.hpp"

namespace heddle::gpu::cuda {

CUfunction Functions::find(const void *kernel, cudaError_t &error)
{
    const uint64_t mixed = reinterpret_cast<uintptr_t>(kernel) * 0x9e3779b97f4a7c15;
    for (size_t i = mixed >> (64 - room_bits);; i = (i + 1) % room) {
        const void *const known = entries_[i].kernel.load(std::memory_order_acquire);
        if (known == kernel) [[likely]]
            return entries_[i].function;
        if (!known)
            return add(i, kernel, error);
    }
}

CUfunction Functions::add(size_t i, const void *kernel, cudaError_t &error)
{
    cudaFunction_t function = nullptr;
    error = cudaGetFuncBySymbol(&function, kernel);
    if (error != cudaSuccess)
        return nullptr;
    const std::lock_guard lock(mutex_);
    while (const void *const known = entries_[i].kernel.load(std::memory_order_relaxed)) {
        if (known == kernel)
            return function;
        i = (i + 1) % room;
    }
    if (known_ < room - 1) { // one entry stays empty, or a search would not end
        ++known_;
        entries_[i].function = function;
        entries_[i].kernel.store(kernel, std::memory_order_release);
    }
    return function;
}

cudaError_t Launcher::launch(const void *kernel, unsigned blocks, unsigned threads, unsigned shared,
                             void **pointers)
{
    cudaError_t error = cudaSuccess;
    const CUfunction function = functions_.find(kernel, error);
    if (!function)
        return error;
    functions_.count();
    CUlaunchAttribute overlap{};
    overlap.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    overlap.value.programmaticStreamSerializationAllowed = 1;
    const CUlaunchConfig config{blocks, 1,      1,       threads,  1,
                                1,      shared, stream_, &overlap, processors_.overlaps ? 1u : 0u};
    // Both interfaces number their errors alike.
    return static_cast<cudaError_t>(cuLaunchKernelEx(&config, function, pointers, nullptr));
}

} // namespace heddle::gpu::cuda
