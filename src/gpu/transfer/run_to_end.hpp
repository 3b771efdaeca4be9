// SPDX-License-Identifier: BSD-3-Clause
// Launches that the calling thread waits for at once, or later, as a task.
#pragma once

#include "gpu/core/devices.hpp"
#include "gpu/transfer/task.hpp"

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

// Waits for what was launched; it has no other stages.
class Launched : public Task {
public:
    Launched(DoneRef done, Device &device) : done_(std::move(done)), device_(device)
    {
        ++device_.running;
    }
    ~Launched() override { --device_.running; }
    Error progress(bool &ended) override
    {
        const Error e = done_.test(ended);
        ended = ended || e;
        return e;
    }
    Error wait() override { return done_.wait(); }

private:
    DoneRef done_;
    Device &device_;
};

// Launches by `launches(done)` on that stream, and adds the task that waits for it.
template <class Launches>
Error begin_launches(Device &device, Stream stream, Tasks &tasks, Launches launches)
{
    DoneRef done;
    const Error without = done.acquire(device);
    if (without && without != HEDDLE_ERR_NO_MEMORY)
        return without;
    const Error failed = launches(done.get());
    if (failed || without) {
        // A part of it may run, and its types and buffers are the caller's again when this returns.
        // Without a completion object its end must also be waited for here.
        const Error ended = device.backend().stream_synchronize(device.ordinal(), stream);
        return failed ? failed : ended;
    }
    tasks.add(std::make_unique<Launched>(std::move(done), device));
    return HEDDLE_SUCCESS;
}

} // namespace heddle::gpu
