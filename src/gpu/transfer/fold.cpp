// SPDX-License-Identifier: BSD-3-Clause
// Several vectors combined into one, in one launch.
#include "gpu/core/log.hpp"
#include "gpu/transfer/run_to_end.hpp"
#include "gpu/transfer/task.hpp"

namespace heddle::gpu {

static Error put(Device &device, Stream stream, const Fold &fold, Done *done)
{
    const Error e = device.backend().fold(device.ordinal(), stream, fold, done);
    Launch launched{nullptr, Kernel::count, Kernel::fold};
    if (!e)
        count_kernels({&launched, 1});
    if (logs(Topic::policy))
        log_line(Topic::policy, "%d vectors of %lld bytes: method kernel (fold): combined at once",
                 fold.n, static_cast<long long>(fold.bytes));
    return e;
}

Error run_fold(Device &device, const Fold &fold)
{
    return run_to_end(device,
                      [&](Stream stream, Done *done) { return put(device, stream, fold, done); });
}

Error begin_fold(Device &device, const Fold &fold, Tasks &tasks)
{
    Stream stream;
    if (const Error e =
            device.running == 0 ? device.own_stream(stream) : device.stream(stream, false))
        return e;
    return begin_launches(device, stream, tasks,
                          [&](Done *done) { return put(device, stream, fold, done); });
}

} // namespace heddle::gpu
