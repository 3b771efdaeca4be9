// SPDX-License-Identifier: BSD-3-Clause
// The one symbol of the plug-in.
#include "gpu/cuda/host/backend.hpp"
#include "gpu/cuda/host/error.hpp"

#include <cstdio>
#include <new>

extern "C" __attribute__((visibility("default"))) heddle::gpu::Backend *heddle_open_backend_7(
    const heddle::gpu::Host &host, std::string &reason)
{
    using namespace heddle::gpu::cuda;
    set_host(host);
    if (const CUresult e = cuInit(0); e != CUDA_SUCCESS) {
        reason = describe_error("cuInit", e);
        return nullptr;
    }
    int driver = 0;
    if (const CUresult e = cuDriverGetVersion(&driver); e != CUDA_SUCCESS) {
        reason = describe_error("cuDriverGetVersion", e);
        return nullptr;
    }
    if (driver / 1000 < CUDART_VERSION / 1000) {
        char text[128];
        std::snprintf(text, sizeof text,
                      "the driver supports CUDA %d.%d, the plug-in was built with CUDA %d.%d",
                      driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000,
                      CUDART_VERSION % 1000 / 10);
        reason = text;
        return nullptr;
    }
    int devices = 0;
    if (const CUresult e = cuDeviceGetCount(&devices); e != CUDA_SUCCESS) {
        reason = describe_error("cuDeviceGetCount", e);
        return nullptr;
    }
    if (devices == 0) {
        reason = "CUDA sees no device";
        return nullptr;
    }
    try {
        auto backend = std::make_unique<CudaBackend>();
        if (backend->open(devices)) {
            reason = "device " + std::to_string(backend->device_count() - 1) + " does not answer";
            return nullptr;
        }
        return backend.release(); // it lives as long as the process
    } catch (const std::bad_alloc &) {
        reason = "out of memory";
        return nullptr;
    }
}
