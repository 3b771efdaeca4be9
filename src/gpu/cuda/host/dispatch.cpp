// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/cuda/host/dispatch.hpp"

#include "gpu/cuda/host/error.hpp"
#include "gpu/cuda/host/select_kernel.hpp"
#include "gpu/cuda/kernels/operators.hpp"

namespace heddle::gpu::cuda {
namespace {

constexpr Kernel batches[] = {Kernel::batch, Kernel::batch_images, Kernel::batch_any};
constexpr size_t most_together = 512; // works of one kernel; batch_room() is less

cudaError_t run(Launcher &launcher, Kernel kernel, const Work &w)
{
    switch (kernel) {
    case Kernel::reduce:
        return run_reduce(launcher, w);
    case Kernel::strided:
    case Kernel::sparse:
        return run_strided(launcher, w, kernel);
    case Kernel::transpose:
        return run_transpose(launcher, w);
    case Kernel::records:
        return run_records(launcher, w);
    case Kernel::runs:
    case Kernel::even_runs:
    case Kernel::short_runs:
    case Kernel::few_runs:
        return run_runs(launcher, w, kernel);
    default:
        return run_any(launcher, w);
    }
}

// The kernels of one call, of which the last gets the signal.
class Kernels {
public:
    Kernels(Device &device, cudaStream_t stream, bool linked, const Signal &signal)
        : device_(device), stream_(stream), linked_(linked), signal_(signal)
    {
    }

    void expect(size_t kernels) { left_ += kernels; }
    int signalled() const { return signalled_; }

    // Starts the next by `run(launcher)`.
    template <class Run> Error start(Run run)
    {
        Launcher launcher(device_.functions(), stream_, device_.processors(), linked_,
                          --left_ == 0 ? signal_ : Signal{});
        const cudaError_t e = run(launcher);
        signalled_ = launcher.signalled();
        return check("cuLaunchKernel", e);
    }

private:
    Device &device_;
    cudaStream_t stream_;
    bool linked_;
    Signal signal_;
    size_t left_ = 0;
    int signalled_ = 0;
};

Error start_batch(Kernels &kernels, Kernel batch, std::span<const Launch> launches)
{
    const Work *works[most_together];
    const size_t room = std::min(batch_room(batch), most_together);
    for (size_t i = 0; i < launches.size();) {
        size_t n = 0;
        for (; i < launches.size() && n < room; ++i)
            if (launches[i].kernel == batch)
                works[n++] = launches[i].work;
        if (n == 0)
            break;
        const auto run = [&](Launcher &launcher) { return run_batch(launcher, batch, {works, n}); };
        if (const Error e = kernels.start(run))
            return e;
    }
    return HEDDLE_SUCCESS;
}

Error start_all(Kernels &kernels, std::span<const Launch> launches, bool any_batch)
{
    for (const Launch &each : launches) {
        if (each.kernel == Kernel::count || is_batch(each.kernel))
            continue;
        const auto start = [&](Launcher &launcher) {
            return run(launcher, each.kernel, *each.work);
        };
        if (const Error e = kernels.start(start))
            return e;
    }
    if (!any_batch)
        return HEDDLE_SUCCESS;
    for (const Kernel batch : batches)
        if (const Error e = start_batch(kernels, batch, launches))
            return e;
    return HEDDLE_SUCCESS;
}

} // namespace

Error dispatch(Device &device, cudaStream_t stream, std::span<Launch> launches,
               const Others &others, const Signal &signal, int *signalled)
{
    select_kernels(launches, device.processors().tuning, others.beside);
    size_t alone = 0, together[std::size(batches)] = {};
    bool remote = others.remote, linked = false;
    for (const Launch &each : launches) {
        const Work &w = *each.work;
        if (each.kernel == Kernel::count)
            continue;
        remote |= w.remote;
        linked |= w.remote || w.far;
        if (w.op != HEDDLE_OP_REPLACE && !takes_reduce(w))
            return HEDDLE_ERR_OP;
        if (is_batch(each.kernel))
            ++together[static_cast<size_t>(each.kernel) - static_cast<size_t>(Kernel::batch)];
        else
            ++alone;
    }
    Signal end = signal;
    end.remote = remote;
    Kernels kernels(device, stream, linked, end);
    kernels.expect(alone);
    for (size_t i = 0; i < std::size(batches); ++i)
        if (together[i] > 0) {
            const size_t room = std::min(batch_room(batches[i]), most_together);
            kernels.expect((together[i] + room - 1) / room);
        }
    const Error e = start_all(kernels, launches, launches.size() > alone);
    *signalled = e ? 0 : kernels.signalled();
    return e;
}

Error dispatch_fold(Device &device, cudaStream_t stream, const Fold &fold, const Signal &signal,
                    int *signalled)
{
    if (!can_combine(fold.op, fold.basic))
        return HEDDLE_ERR_OP;
    Signal end = signal;
    end.remote = fold.remote;
    Kernels kernels(device, stream, fold.remote || fold.far, end);
    kernels.expect(1);
    const Error e = kernels.start([&](Launcher &launcher) { return run_fold(launcher, fold); });
    *signalled = e ? 0 : kernels.signalled();
    return e;
}

} // namespace heddle::gpu::cuda
