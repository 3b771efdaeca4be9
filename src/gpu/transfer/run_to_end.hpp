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

// Waits for what is launched on a stream; it has no other stages. It is made before the launch:
// where there is no memory for it, nothing runs. The destructor waits for what may still run.
class Launched : public Task {
public:
    Launched(DoneRef done, Device &device, Stream stream)
        : done_(std::move(done)), device_(device), stream_(stream)
    {
        ++device_.running;
    }
    ~Launched() override
    {
        --device_.running;
        if (!ended_)
            static_cast<void>(device_.backend().stream_synchronize(device_.ordinal(), stream_));
    }
    // Null: there is no memory for one.
    Done *done() const { return done_.get(); }

    Error progress(bool &ended) override
    {
        const Error e = done_.test(ended);
        ended_ = !e && ended;
        ended = ended || e;
        return e;
    }
    Error wait() override
    {
        const Error e = done() ? done_.wait()
                               : device_.backend().stream_synchronize(device_.ordinal(), stream_);
        ended_ = !e;
        return e;
    }

private:
    DoneRef done_;
    Device &device_;
    const Stream stream_;
    bool ended_ = false;
};

// Launches by `launches(done)` on that stream, and adds the task that waits for it.
template <class Launches>
Error begin_launches(Device &device, Stream stream, Tasks &tasks, Launches launches)
{
    DoneRef done;
    const Error without = done.acquire(device);
    if (without && without != HEDDLE_ERR_NO_MEMORY)
        return without;
    auto task = std::make_unique<Launched>(std::move(done), device, stream);
    tasks.make_room();
    if (const Error e = launches(task->done())) // a part of it may run: the task waits for that
        return e;
    if (without)
        return task->wait();
    tasks.add(std::move(task));
    return HEDDLE_SUCCESS;
}

} // namespace heddle::gpu
