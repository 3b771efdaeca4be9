// SPDX-License-Identifier: BSD-3-Clause
// The limits that do not depend on a layout.
#include "benchmarks.hpp"

namespace bench {

void register_limits()
{
    // C: bytes read plus bytes written.
    add("limit/536870912/copy/device/limit", [](benchmark::State &state) {
        constexpr int64_t bytes = 512 << 20;
        const Device from(bytes), to(bytes);
        report(state,
               gpu_time(
                   [&](int, cudaStream_t stream) {
                       BENCH_CUDA(cudaMemcpyAsync(to.get(), from.get(), bytes,
                                                  cudaMemcpyDeviceToDevice, stream));
                   },
                   most_samples, 1, in_a_row),
               "gpu");
        state.counters["bytes"] = bytes;
    });
    // L, and what events say of an empty kernel.
    add("limit/0/launch/device/limit", [](benchmark::State &state) {
        const Stream stream;
        const auto launch = [&](int) {
            launch_empty(stream);
            stream.wait();
        };
        report(state, wall_times({launch}, 2000, 1).launch, "wall");
        report(state, gpu_time([](int, cudaStream_t on) { launch_empty(on); }, 200, 1, in_a_row),
               "gpu");
    });
}

} // namespace bench
