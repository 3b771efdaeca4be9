// SPDX-License-Identifier: BSD-3-Clause
#include "nodes.hpp"
#include "parts.hpp"

namespace bench {
namespace {

int attribute(cudaDeviceAttr which, int gpu)
{
    int value = 0;
    BENCH_CUDA(cudaDeviceGetAttribute(&value, which, gpu));
    return value;
}

} // namespace

bool shares_managed(int gpu) { return attribute(cudaDevAttrConcurrentManagedAccess, gpu) != 0; }

void say_machine(int gpus)
{
    for (int i = 0; i < gpus; ++i) {
        cudaDeviceProp device{};
        char bus_id[32] = "";
        BENCH_CUDA(cudaGetDeviceProperties(&device, i));
        BENCH_CUDA(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, i));
        say_gpu(i, device.name, bus_id, node_of_device(bus_id).value_or(-1), shares_managed(i));
        if (!shares_managed(i))
            say_note(gpu_name(i) +
                     " and the host cannot touch managed memory at the same time, so it is "
                     "not measured there.");
    }
}

} // namespace bench
