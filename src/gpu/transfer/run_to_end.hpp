// SPDX-License-Identifier: BSD-3-Clause
// Kernels that the calling thread waits for at once.
#pragma once

#include "gpu/core/devices.hpp"

namespace heddle::gpu {

// Launches by `launches(stream, done)` on the thread's stream, and returns when that has ended. A
// null `done`: there is no memory for one.
template <class Launches> Error run_to_end(Device &device, Launches launches)
{
    Stream stream;
    if (const Error e = device.own_stream(stream))
        return e;
    DoneRef done;
    const Error without = done.acquire(device);
    if (without && without != HEDDLE_ERR_NO_MEMORY)
        return without;
    const Error failed = launches(stream, done.get());
    if (!failed && !without)
        return done.wait();
    // a part of it may run
    const Error ended = device.backend().stream_synchronize(device.ordinal(), stream);
    return failed ? failed : ended;
}

} // namespace heddle::gpu
