// SPDX-License-Identifier: BSD-3-Clause
// Which device a thread works on, and what joins two devices. The driver is asked alone: NVML is
// not everywhere, and numbers devices by itself.
#include "gpu/cuda/host/backend.hpp"
#include "gpu/cuda/host/numa.hpp"

#include <algorithm>
#include <fstream>

namespace heddle::gpu::cuda {

namespace {

// GB/s one way, of H100s: a copy within one, over NVLink, over PCIe 5, and through host memory.
// Other GPUs are slower throughout; their ratios are alike.
constexpr double kWithin = 1300, kNvlink = 300, kPcie = 50, kThroughHost = 25;

// A number at the begin of a file of the kernel's about a PCI device, such as "32.0 GT/s PCIe"; 0
// where there is none.
double number_in(const std::string &file)
{
    std::ifstream in(file);
    double number = 0;
    return in >> number ? number : 0;
}

// GB/s of a PCI device's link: 8 bits a byte, and 2 of 130 are the link's own.
double pci_rate(std::string bus_id)
{
    std::transform(bus_id.begin(), bus_id.end(), bus_id.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const std::string folder = "/sys/bus/pci/devices/" + bus_id + "/";
    return number_in(folder + "max_link_speed") * number_in(folder + "max_link_width") / 8 * 128 /
           130;
}

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

Facts CudaBackend::facts(int device) const
{
    if (!is_device(device))
        return {};
    const Device &d = *devices_[static_cast<size_t>(device)];
    const auto value = [&](CUdevice_attribute which) {
        int number = 0;
        return cuDeviceGetAttribute(&number, which, d.handle()) == CUDA_SUCCESS ? number : 0;
    };
    // twice a clock; kHz and bits
    const double memory = 2e-6 * value(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) *
                          value(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8;
    return {d.name(), memory, pci_rate(d.bus_id()), d.processors().count};
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

Locality CudaBackend::locality(int device) const
{
    return is_device(device) ? locality_of(devices_[static_cast<size_t>(device)]->bus_id())
                             : Locality{};
}

} // namespace heddle::gpu::cuda
