// SPDX-License-Identifier: BSD-3-Clause
#include "dispatch.hpp"

#include "error.hpp"

namespace heddle::gpu::cuda {
namespace {

bool moves(const Work &w)
{
    return w.bytes > 0 && w.op != HEDDLE_OP_NO_OP;
}

cudaError_t run(Launcher &launcher, Kernel wanted, const Work &w)
{
    if (w.op != HEDDLE_OP_REPLACE)
        return run_reduce(launcher, w);
    if (wanted == Kernel::strided && takes_strided(w))
        return run_strided(launcher, w);
    return run_any(launcher, w);
}

} // namespace

int dispatch(const Device &device, cudaStream_t stream, std::span<const Launch> launches, const Signal &signal,
             bool *signalled)
{
    size_t last = launches.size();
    for (size_t i = 0; i < launches.size(); ++i) {
        const Work &w = *launches[i].work;
        if (!moves(w))
            continue;
        last = i;
        if (w.op != HEDDLE_OP_REPLACE && !takes_reduce(w))
            return HEDDLE_ERR_OP;
    }
    for (size_t i = 0; i < launches.size(); ++i) {
        if (!moves(*launches[i].work))
            continue;
        Launcher launcher(stream, device.processors(), device.shared_limit(), i == last ? signal : Signal{});
        if (const int e = check("cudaLaunchKernel", run(launcher, launches[i].kernel, *launches[i].work)))
            return e;
        *signalled = launcher.signalled();
    }
    return HEDDLE_SUCCESS;
}

} // namespace heddle::gpu::cuda
