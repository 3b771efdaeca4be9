// SPDX-License-Identifier: BSD-3-Clause
// Ranges for profilers, by NVTX, whose headers are all there is of it. A profiler that listens
// names its library in one of these variables (Nsight Systems and Nsight Compute do).
#include "gpu/cuda/host/backend.hpp"

#include <cstdlib>
#include <nvtx3/nvToolsExt.h>

namespace heddle::gpu::cuda {
namespace {

nvtxDomainHandle_t domain()
{
    static const nvtxDomainHandle_t heddle = nvtxDomainCreateA("heddle");
    return heddle;
}

nvtxEventAttributes_t named(const char *name)
{
    nvtxEventAttributes_t event{};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = name;
    return event;
}

} // namespace

bool CudaBackend::has_profiler() const
{
    return std::getenv("NVTX_INJECTION64_PATH") || std::getenv("CUDA_INJECTION64_PATH");
}

void CudaBackend::range_begin(const char *name)
{
    const nvtxEventAttributes_t event = named(name);
    nvtxDomainRangePushEx(domain(), &event);
}

void CudaBackend::range_end() { nvtxDomainRangePop(domain()); }

uint64_t CudaBackend::span_begin(const char *name, int64_t bytes)
{
    nvtxEventAttributes_t event = named(name);
    event.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    event.payload.llValue = bytes;
    return nvtxDomainRangeStartEx(domain(), &event);
}

void CudaBackend::span_end(uint64_t span) { nvtxDomainRangeEnd(domain(), span); }

} // namespace heddle::gpu::cuda
