// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/transfer/task.hpp"

#include "engine/runs.hpp"

namespace heddle::gpu {

namespace {

// Calls f(address, bytes) for each run of `bytes` packed bytes of `end`, until it returns an error.
template <class F> Error for_runs(const End &end, int64_t bytes, F &&f)
{
    Error error = HEDDLE_SUCCESS;
    visit_instances(*end.plan, false, end.count, end.offset, end.offset + bytes,
                    [&](int64_t displ, int64_t n, uint8_t) {
                        error = f(end.displaced(displ), n);
                        return error == HEDDLE_SUCCESS;
                    });
    return error;
}

} // namespace

Error copy_by_runs(const Move &move, Device &device, Stream stream)
{
    Backend &backend = device.backend();
    int64_t at = 0;
    return for_runs(move.from, move.bytes, [&](const char *from, int64_t bytes) {
        const Error e = for_runs(move.to.after(at), bytes, [&](char *to, int64_t n) {
            const char *const source = from;
            from += n;
            return backend.copy(device.ordinal(), stream,
                                contiguous_copy(to, source, static_cast<size_t>(n)), nullptr);
        });
        at += bytes;
        return e;
    });
}

} // namespace heddle::gpu
