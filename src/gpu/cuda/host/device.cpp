// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/cuda/host/device.hpp"

#include "gpu/cuda/host/error.hpp"
#include "gpu/cuda/host/targets.hpp"

#include <cstdio>

namespace heddle::gpu::cuda {

Error Scope::enter(CUcontext context)
{
    if (const Error e = check("cuCtxGetCurrent", cuCtxGetCurrent(&before_)))
        return e;
    if (before_ == context)
        return HEDDLE_SUCCESS;
    if (const Error e = check("cuCtxSetCurrent", cuCtxSetCurrent(context)))
        return e;
    changed_ = true;
    return HEDDLE_SUCCESS;
}

Error Device::open(int ordinal)
{
    ordinal_ = ordinal;
    if (const Error e = check("cuDeviceGet", cuDeviceGet(&handle_, ordinal)))
        return e;
    char text[256] = "";
    if (const Error e = check("cuDeviceGetName", cuDeviceGetName(text, sizeof text, handle_)))
        return e;
    name_ = text;
    if (const Error e =
            check("cuDeviceGetPCIBusId", cuDeviceGetPCIBusId(text, sizeof text, handle_)))
        return e;
    bus_id_ = text;
    if (const Error e = check("cuDeviceGetUuid", cuDeviceGetUuid(&uuid_, handle_)))
        return e;
    const auto attribute = [&](CUdevice_attribute which, int *value) {
        return check("cuDeviceGetAttribute", cuDeviceGetAttribute(value, which, handle_));
    };
    if (const Error e = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &processors_.count))
        return e;
    int memory_operations = 0;
    if (const Error e =
            attribute(CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, &memory_operations))
        return e;
    writes_in_order_ = memory_operations != 0;
    if (const Error e = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major_))
        return e;
    if (const Error e = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor_))
        return e;
    int threads = 0, cache = 0;
    if (const Error e = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &threads))
        return e;
    if (const Error e = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &cache))
        return e;
    processors_.overlaps = major_ >= 9;
    processors_.tuning =
        tuning_of({10 * major_ + minor_, int64_t{processors_.count} * threads, cache});
    if (!has_code_for(HEDDLE_CUDA_TARGETS, major_, minor_)) {
        refused_ = "device " + std::to_string(ordinal) + " (" + describe() +
                   "): libheddle-cuda.so was built for " HEDDLE_CUDA_TARGETS
                   " alone; see configure's --with-cuda-arch";
        warn(refused_);
    }
    return HEDDLE_SUCCESS;
}

Error Device::enter(Scope &scope)
{
    if (!ready_.load(std::memory_order_acquire)) [[unlikely]] {
        const std::lock_guard lock(mutex_);
        if (!ready_.load(std::memory_order_relaxed))
            if (const Error e = prepare())
                return e;
    }
    return scope.enter(context_);
}

// What a failed try made stays for the next one.
Error Device::prepare()
{
    if (!refused_.empty())
        return refuse(refused_);
    if (!context_)
        if (const Error e =
                check("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain(&context_, handle_)))
            return e;
    Scope scope;
    if (const Error e = scope.enter(context_))
        return e;
    if (const Error e = check("cudaDeviceGetStreamPriorityRange",
                              cudaDeviceGetStreamPriorityRange(&least_priority_, &priority_)))
        return e;
    if (!service_)
        if (const Error e =
                check("cudaStreamCreateWithPriority",
                      cudaStreamCreateWithPriority(&service_, cudaStreamNonBlocking, priority_)))
            return e;
    // The function is not linked to, for a driver may lack it.
    void *found = nullptr;
    if (cuGetProcAddress("cuCtxRecordEvent", &found, 12050, CU_GET_PROC_ADDRESS_DEFAULT, nullptr) ==
        CUDA_SUCCESS)
        record_all_ = reinterpret_cast<CUresult (*)(CUcontext, CUevent)>(found);
    ready_.store(true, std::memory_order_release);
    return HEDDLE_SUCCESS;
}

bool Device::in_use() const
{
    unsigned flags = 0;
    int active = 0;
    return cuDevicePrimaryCtxGetState(handle_, &flags, &active) == CUDA_SUCCESS && active;
}

std::string Device::describe() const
{
    size_t bytes = 0;
    cuDeviceTotalMem(&bytes, handle_);
    char rest[128];
    std::snprintf(
        rest, sizeof rest, ", %.1f GiB, compute capability %d.%d, %d multiprocessors, PCI ",
        static_cast<double>(bytes) / (1024.0 * 1024.0 * 1024.0), major_, minor_, processors_.count);
    return name_ + rest + bus_id_;
}

} // namespace heddle::gpu::cuda
