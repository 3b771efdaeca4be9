// SPDX-License-Identifier: BSD-3-Clause
#include "device.hpp"

#include "error.hpp"

#include <cstdio>

namespace heddle::gpu::cuda {

int Scope::enter(CUcontext context)
{
    if (const int e = check("cuCtxGetCurrent", cuCtxGetCurrent(&before_)))
        return e;
    if (before_ == context)
        return HEDDLE_SUCCESS;
    if (const int e = check("cuCtxSetCurrent", cuCtxSetCurrent(context)))
        return e;
    changed_ = true;
    return HEDDLE_SUCCESS;
}

int Device::open(int ordinal)
{
    ordinal_ = ordinal;
    if (const int e = check("cuDeviceGet", cuDeviceGet(&handle_, ordinal)))
        return e;
    char text[256] = "";
    if (const int e = check("cuDeviceGetName", cuDeviceGetName(text, sizeof text, handle_)))
        return e;
    name_ = text;
    if (const int e = check("cuDeviceGetPCIBusId", cuDeviceGetPCIBusId(text, sizeof text, handle_)))
        return e;
    bus_id_ = text;
    if (const int e = check("cuDeviceGetUuid", cuDeviceGetUuid(&uuid_, handle_)))
        return e;
    const auto attribute = [&](CUdevice_attribute which, int *value) {
        return check("cuDeviceGetAttribute", cuDeviceGetAttribute(value, which, handle_));
    };
    if (const int e = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &processors_))
        return e;
    if (const int e = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &shared_limit_))
        return e;
    int memory_operations = 0;
    if (const int e =
            attribute(CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, &memory_operations))
        return e;
    writes_in_order_ = memory_operations != 0;
    int major = 0;
    if (const int e = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major))
        return e;
    overlaps_ = major >= 9;
    return HEDDLE_SUCCESS;
}

int Device::enter(Scope &scope)
{
    if (!ready_.load(std::memory_order_acquire)) [[unlikely]] {
        const std::lock_guard lock(mutex_);
        if (!ready_.load(std::memory_order_relaxed))
            if (const int e = prepare())
                return e;
    }
    return scope.enter(context_);
}

// What a failed try made stays for the next one.
int Device::prepare()
{
    if (!context_)
        if (const int e =
                check("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain(&context_, handle_)))
            return e;
    Scope scope;
    if (const int e = scope.enter(context_))
        return e;
    if (const int e = check("cudaDeviceGetStreamPriorityRange",
                            cudaDeviceGetStreamPriorityRange(&least_priority_, &priority_)))
        return e;
    if (!service_)
        if (const int e =
                check("cudaStreamCreateWithPriority",
                      cudaStreamCreateWithPriority(&service_, cudaStreamNonBlocking, priority_)))
            return e;
    // Not linked to, for a driver may lack it.
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
    int major = 0;
    int minor = 0;
    cuDeviceTotalMem(&bytes, handle_);
    cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, handle_);
    cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, handle_);
    char rest[128];
    std::snprintf(
        rest, sizeof rest, ", %.1f GiB, compute capability %d.%d, %d multiprocessors, PCI ",
        static_cast<double>(bytes) / (1024.0 * 1024.0 * 1024.0), major, minor, processors_);
    return name_ + rest + bus_id_;
}

} // namespace heddle::gpu::cuda
