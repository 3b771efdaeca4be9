// SPDX-License-Identifier: BSD-3-Clause
#include "dispatch.hpp"

#include "error.hpp"

namespace heddle::gpu::cuda {
namespace {

bool moves(const Work &w) { return w.bytes > 0 && w.op != HEDDLE_OP_NO_OP; }

cudaError_t run(Launcher &launcher, Kernel wanted, const Work &w)
{
    if (w.op != HEDDLE_OP_REPLACE)
        return run_reduce(launcher, w);
    switch (wanted) {
    case Kernel::transpose:
        if (takes_transpose(w))
            return run_transpose(launcher, w);
        break;
    case Kernel::records:
        if (takes_records(w))
            return run_records(launcher, w);
        break;
    case Kernel::runs:
        if (takes_runs(w))
            return run_runs(launcher, w);
        break;
    default:
        break;
    }
    if (wanted != Kernel::any && takes_strided(w))
        return run_strided(launcher, w);
    return run_any(launcher, w);
}

} // namespace

int dispatch(Device &device, cudaStream_t stream, std::span<const Launch> launches,
             const Signal &signal, int *signalled)
{
    // Works that move nothing drop out; of the others, as many at a time as fit here go on.
    constexpr size_t room = 256;
    const Work *works[room];
    size_t last = launches.size();
    bool remote = false, linked = false;
    for (size_t i = 0; i < launches.size(); ++i) {
        const Work &w = *launches[i].work;
        if (!moves(w))
            continue;
        last = i;
        remote |= w.remote || launches[i].remote;
        linked |= w.remote || w.far;
        if (w.op != HEDDLE_OP_REPLACE && !takes_reduce(w))
            return HEDDLE_ERR_OP;
    }
    for (size_t i = 0; i < launches.size();) {
        size_t n = 0;
        size_t next = i;
        Kernel wanted = Kernel::any;
        for (; next < launches.size() && n < room; ++next)
            if (moves(*launches[next].work)) {
                wanted = launches[next].kernel;
                works[n++] = launches[next].work;
            }
        for (size_t k = 0; k < n;) {
            const std::span<const Work *> rest(works + k, n - k);
            Signal end = next > last ? signal : Signal{};
            end.remote = remote;
            Launcher launcher(device.functions(), stream, device.processors(),
                              device.shared_limit(), device.overlaps(), linked, end);
            size_t taken = 1;
            cudaError_t e = rest.size() > 1 ? run_batch(launcher, rest, taken) : cudaSuccess;
            if (taken == 1 && e == cudaSuccess)
                e = run(launcher, n == 1 ? wanted : Kernel::strided, *rest[0]);
            if (const int code = check("cuLaunchKernel", e))
                return code;
            *signalled = launcher.signalled();
            k += taken;
        }
        i = next;
    }
    return HEDDLE_SUCCESS;
}

} // namespace heddle::gpu::cuda
