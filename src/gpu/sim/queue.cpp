// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/sim/queue.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace heddle::gpu::sim {
namespace {

// More than one, so that two streams of a device do overlap.
constexpr int workers_per_device = 2;

} // namespace

Queues::Queues(int devices, Switches &switches)
    : switches_(switches), devices_(static_cast<size_t>(devices))
{
}

// ---- streams ----

Queues::SimStream *Queues::find(Stream stream)
{
    const auto it = std::find_if(streams_.begin(), streams_.end(), [&](const SimStream &each) {
        return &each == stream && !each.closed;
    });
    return it == streams_.end() ? nullptr : &*it;
}

Queues::SimStream *Queues::add_stream(int device)
{
    Device &owner = devices_[static_cast<size_t>(device)];
    if (!owner.has_workers) {
        owner.has_workers = true;
        // They never end, as the object they work on never does.
        for (int i = 0; i < workers_per_device; ++i)
            std::thread([this, device] { work(device); }).detach();
    }
    SimStream &stream = streams_.emplace_back();
    stream.device = device;
    return &stream;
}

Fault Queues::resolve(int device, Stream stream, SimStream *&found)
{
    if (device < 0 || device >= static_cast<int>(devices_.size()))
        return device_fault("sim: no such device");
    if (!stream) {
        SimStream *&by_default = devices_[static_cast<size_t>(device)].by_default;
        if (!by_default)
            by_default = add_stream(device);
        found = by_default;
        return {};
    }
    found = find(stream);
    if (!found)
        return device_fault("sim: no such stream");
    if (found->device != device)
        return device_fault("sim: a stream of another device");
    return {};
}

Fault Queues::create(int device, Stream *stream)
{
    if (device < 0 || device >= static_cast<int>(devices_.size()))
        return device_fault("sim: no such device");
    const std::lock_guard lock(mutex_);
    *stream = add_stream(device);
    return {};
}

Fault Queues::destroy(int device, Stream stream)
{
    const std::lock_guard lock(mutex_);
    SimStream *found = nullptr;
    if (!stream)
        return device_fault("sim: the default stream stays");
    if (Fault error = resolve(device, stream, found))
        return error;
    found->closed = true;
    if (found->items.empty() && !found->busy)
        streams_.remove_if([&](const SimStream &each) { return &each == found; });
    return {};
}

int Queues::device_of(Stream stream)
{
    const std::lock_guard lock(mutex_);
    const SimStream *found = find(stream);
    return found ? found->device : -1;
}

// ---- putting ----

Fault Queues::put(int device, Stream stream, Operation operation, SimDone *done)
{
    const std::lock_guard lock(mutex_);
    SimStream *found = nullptr;
    if (Fault error = resolve(device, stream, found))
        return error;
    if (done) {
        if (done->device != device)
            return device_fault("sim: a completion object of another device");
        if (done->state == DoneState::pending)
            return device_fault("sim: a completion object is in use");
    }
    found->items.push_back({std::move(operation), done, order_ + 1}); // may throw
    found->last_put = ++order_;
    if (done)
        done->state = DoneState::pending;
    changed_.notify_all();
    return {};
}

Fault Queues::put_after_all(int device, SimDone *done)
{
    const std::lock_guard lock(mutex_);
    if (done->state == DoneState::pending)
        return device_fault("sim: a completion object is in use");
    done->state = DoneState::pending;
    devices_[static_cast<size_t>(device)].marks.push_back({done, order_});
    end_marks(device);
    return {};
}

Fault Queues::synchronize(int device, Stream stream)
{
    std::unique_lock lock(mutex_);
    SimStream *found = nullptr;
    if (Fault error = resolve(device, stream, found))
        return error;
    const uint64_t last = found->last_put;
    // Searched anew each time: it may be destroyed meanwhile, by another thread.
    changed_.wait(lock, [&] {
        const auto it = std::find_if(streams_.begin(), streams_.end(),
                                     [&](const SimStream &each) { return &each == found; });
        return it == streams_.end() || it->last_ended >= last;
    });
    return devices_[static_cast<size_t>(device)].broken;
}

void Queues::synchronize_all()
{
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
        return std::all_of(streams_.begin(), streams_.end(),
                           [](const SimStream &each) { return each.items.empty() && !each.busy; });
    });
}

// ---- carrying out ----

Queues::SimStream *Queues::choose(int device)
{
    SimStream *chosen = nullptr;
    uint64_t ready = 0;
    const bool at_random = switches_.reorder();
    for (SimStream &stream : streams_) {
        if (stream.device != device || stream.busy || stream.items.empty())
            continue;
        ++ready;
        if (!chosen || (at_random ? switches_.random() % ready == 0
                                  : stream.items.front().order < chosen->items.front().order))
            chosen = &stream;
    }
    return chosen;
}

void Queues::work(int device)
{
    std::unique_lock lock(mutex_);
    while (true) {
        if (SimStream *stream = choose(device))
            carry_out(*stream, lock);
        else
            changed_.wait(lock);
    }
}

void Queues::pause()
{
    int64_t us = switches_.delay_us();
    if (us > 0 && switches_.reorder())
        us = static_cast<int64_t>(switches_.random() % static_cast<uint64_t>(us + 1));
    if (us > 0)
        std::this_thread::sleep_for(std::chrono::microseconds(us));
}

void Queues::carry_out(SimStream &stream, std::unique_lock<std::mutex> &lock)
{
    Device &device = devices_[static_cast<size_t>(stream.device)];
    Item item = std::move(stream.items.front());
    stream.items.pop_front();
    stream.busy = true;
    stream.busy_with = item.order;
    ++device.running;
    Fault error = device.broken;
    lock.unlock();
    if (!error) {
        pause();
        error = item.operation();
    }
    item.operation = nullptr;
    lock.lock();
    --device.running;
    if (error)
        fail(device, error, lock);
    stream.busy = false;
    end(item.done, static_cast<bool>(error));
    stream.last_ended = item.order;
    end_marks(stream.device);
    if (stream.closed && stream.items.empty())
        streams_.remove_if([&](const SimStream &each) { return &each == &stream; });
    changed_.notify_all();
}

void Queues::end_marks(int device)
{
    Device &owner = devices_[static_cast<size_t>(device)];
    std::erase_if(owner.marks, [&](const Mark &mark) {
        const bool passed =
            std::all_of(streams_.begin(), streams_.end(), [&](const SimStream &each) {
                return each.device != device ||
                       ((!each.busy || each.busy_with > mark.order) &&
                        (each.items.empty() || each.items.front().order > mark.order));
            });
        if (passed)
            end(mark.done, static_cast<bool>(owner.broken));
        return passed;
    });
}

void Queues::end(SimDone *done, bool failed)
{
    if (!done)
        return;
    done->state = failed ? DoneState::failed : DoneState::reached;
    if (done->released) {
        done->released = false;
        devices_[static_cast<size_t>(done->device)].spare.push_back(done);
    }
}

// A GPU that fails stops all its kernels before anyone hears of it.
void Queues::fail(Device &device, const Fault &error, std::unique_lock<std::mutex> &lock)
{
    if (!device.broken) {
        device.broken = error;
        device.is_broken = true;
    }
    changed_.notify_all();
    changed_.wait(lock, [&] { return device.running == 0; });
}

void Queues::fail(int device, const Fault &error)
{
    std::unique_lock lock(mutex_);
    fail(devices_[static_cast<size_t>(device)], error, lock);
}

// ---- completion ----

SimDone *Queues::acquire(int device)
{
    const std::lock_guard lock(mutex_);
    Device &owner = devices_[static_cast<size_t>(device)];
    if (owner.spare.empty()) {
        owner.dones.push_back(std::make_unique<SimDone>());
        owner.dones.back()->device = device;
        return owner.dones.back().get();
    }
    SimDone *done = owner.spare.back();
    owner.spare.pop_back();
    done->state = DoneState::idle;
    return done;
}

void Queues::release(SimDone *done)
{
    const std::lock_guard lock(mutex_);
    if (done->state == DoneState::pending)
        done->released = true;
    else
        devices_[static_cast<size_t>(done->device)].spare.push_back(done);
}

Fault Queues::test(SimDone *done, bool *reached)
{
    const DoneState state = done->state;
    *reached = state == DoneState::reached;
    if (state == DoneState::failed) {
        Fault error = broken(done->device);
        return error ? error : device_fault("sim: failed, before a reset");
    }
    if (state == DoneState::idle)
        return device_fault("sim: a completion object that was never queued");
    return {};
}

Fault Queues::wait(SimDone *done)
{
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return done->state != DoneState::pending; });
    }
    bool reached = false;
    return test(done, &reached);
}

Fault Queues::broken(int device)
{
    Device &owner = devices_[static_cast<size_t>(device)];
    if (!owner.is_broken)
        return {};
    const std::lock_guard lock(mutex_);
    return owner.broken;
}

void Queues::mend()
{
    synchronize_all();
    const std::lock_guard lock(mutex_);
    for (Device &device : devices_) {
        device.is_broken = false;
        device.broken = {};
    }
}

} // namespace heddle::gpu::sim
