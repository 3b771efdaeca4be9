// SPDX-License-Identifier: BSD-3-Clause
// Which device a thread works on, and what joins two devices. The driver is asked alone: NVML is
// not everywhere, and numbers devices by itself.
#include "gpu/cuda/host/backend.hpp"

#include <algorithm>

namespace heddle::gpu::cuda {

namespace {

// GB/s one way, of H100s: a copy within one, over NVLink, over PCIe 5, and through host memory.
// Other GPUs are slower throughout; their ratios are alike.
constexpr double kWithin = 1300, kNvlink = 300, kPcie = 50, kThroughHost = 25;

int attribute(CUdevice_P2PAttribute which, CUdevice device, CUdevice peer)
{
    int value = 0;
    return cuDeviceGetP2PAttribute(&value, which, device, peer) == CUDA_SUCCESS ? value : 0;
}

} // namespace

int CudaBackend::current_device() const
{
    CUcontext context = nullptr;
    CUdevice handle;
    if (cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context ||
        cuCtxGetDevice(&handle) != CUDA_SUCCESS)
        return -1;
    const auto found = std::find_if(devices_.begin(), devices_.end(),
                                    [&](const auto &device) { return device->handle() == handle; });
    return found == devices_.end() ? -1 : static_cast<int>(found - devices_.begin());
}

DeviceId CudaBackend::id(int device) const
{
    DeviceId id{};
    if (is_device(device))
        std::copy_n(devices_[static_cast<size_t>(device)]->uuid().bytes, id.size(), id.begin());
    return id;
}

double CudaBackend::link_rate(int device, int peer) const
{
    if (!is_device(device) || !is_device(peer))
        return 0;
    if (device == peer)
        return kWithin;
    const CUdevice a = devices_[static_cast<size_t>(device)]->handle(),
                   b = devices_[static_cast<size_t>(peer)]->handle();
    if (!attribute(CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, a, b))
        return kThroughHost;
    // Atomic operations go over NVLink, not over PCIe. The rank tells links of one machine apart: 0
    // is the best.
    const double best =
        attribute(CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, a, b) ? kNvlink : kPcie;
    return best / (1 + attribute(CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK, a, b));
}

} // namespace heddle::gpu::cuda
