// SPDX-License-Identifier: BSD-3-Clause
// The open plug-in and what libheddle keeps for each of its devices: streams and slabs. Everything
// is made when it is first used.
#pragma once

#include "gpu/core/backend.hpp"
#include "gpu/core/deferred.hpp"
#include "gpu/core/slabs.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace heddle::gpu {

class Device {
public:
    Device(Backend &backend, int ordinal, size_t slab_limit);

    int ordinal() const { return ordinal_; }
    Backend &backend() const { return backend_; }
    // One of a few streams, in turn. What `can_wait` gives way to all else.
    Error stream(Stream &stream, bool can_wait = false)
    {
        return stream_at(turn_.fetch_add(1, std::memory_order_relaxed) % streams +
                             (can_wait ? streams : 0),
                         stream);
    }
    // The calling thread's one of them, for what it waits for, or what runs beside nothing else. To
    // begin on another stream than before takes a GPU a microsecond.
    Error own_stream(Stream &stream);
    // The one on which types' descriptions are uploaded, who wait for nothing else that runs.
    Error upload_stream(Stream &stream) { return stream_at(2 * streams, stream); }
    // Whether there is a stream, so that the process has a context on the device.
    bool in_use() const
    {
        return std::any_of(streams_.begin(), streams_.end(), [](const auto &stream) {
            return stream.load(std::memory_order_relaxed) != nullptr;
        });
    }

    std::atomic<int> running{0}; // launches that go on while their callers do other things

    SlabPool memory;       // of the device
    SlabPool pinned;       // of the host, near the device
    DeferredFree deferred; // lies in both

private:
    static constexpr size_t streams = 4; // of either kind

    Error stream_at(size_t number, Stream &stream);

    Backend &backend_;
    int ordinal_;
    std::atomic<unsigned> turn_{0};
    std::mutex mutex_;
    std::array<std::atomic<Stream>, 2 * streams + 1> streams_{};
};

class Devices {
public:
    // The open plug-in's; null where there is none. The first call opens it.
    static Devices *open();
    // The same, but opens nothing.
    static Devices *if_open();
    // What was opened, or why nothing was.
    static const std::string &status();

    Devices(Backend &backend, size_t slab_limit);

    Backend &backend() const { return backend_; }
    bool has_profiler() const { return has_profiler_; }
    int count() const { return static_cast<int>(devices_.size()); }
    Device &device(int ordinal) const { return *devices_[static_cast<size_t>(ordinal)]; }
    // The device whose device or managed memory `ptr` points into; null for any other memory.
    Device *device_of(const void *ptr) const
    {
        const Memory memory = backend_.query(ptr, false);
        return memory.of_device() && memory.device >= 0 ? &device(memory.device) : nullptr;
    }
    // The first that is in use; null: none.
    Device *first_in_use() const
    {
        for (const auto &each : devices_)
            if (each->in_use())
                return each.get();
        return nullptr;
    }

private:
    Backend &backend_;
    std::vector<std::unique_ptr<Device>> devices_;
    bool has_profiler_ = false;
};

struct HeldDone {
    Backend *backend = nullptr;
    Done *done = nullptr;

    explicit operator bool() const { return done != nullptr; }
};

struct ReleaseDone {
    void operator()(const HeldDone &held) const { held.backend->done_release(held.done); }
};

// Completion of one launch or copy; gives its object back.
class DoneRef : public Owned<HeldDone, ReleaseDone> {
public:
    Error acquire(Device &device)
    {
        value_.backend = &device.backend();
        return device.backend().done_acquire(device.ordinal(), &value_.done);
    }
    Done *get() const { return value_.done; }
    Error test(bool &reached) const { return value_.backend->done_test(value_.done, &reached); }
    Error wait() const { return value_.backend->done_wait(value_.done); }
};

// The backend of a profiler that listens; null where there is none.
inline Backend *profiled_backend()
{
    const Devices *const devices = Devices::if_open();
    return devices && devices->has_profiler() ? &devices->backend() : nullptr;
}

// A range of this thread that a profiler shows, where one listens; otherwise it costs two loads.
class ProfilerRange {
public:
    explicit ProfilerRange(const char *name) : backend_(profiled_backend())
    {
        if (backend_)
            backend_->range_begin(name);
    }
    ProfilerRange(const ProfilerRange &) = delete;
    ProfilerRange &operator=(const ProfilerRange &) = delete;
    ~ProfilerRange()
    {
        if (backend_)
            backend_->range_end();
    }

private:
    Backend *const backend_;
};

// The same of what goes on over several calls, such as a message of so many bytes.
class ProfilerSpan {
public:
    ProfilerSpan(const char *name, int64_t bytes) : backend_(profiled_backend())
    {
        if (backend_)
            span_ = backend_->span_begin(name, bytes);
    }
    ProfilerSpan(const ProfilerSpan &) = delete;
    ProfilerSpan &operator=(const ProfilerSpan &) = delete;
    ~ProfilerSpan()
    {
        if (backend_)
            backend_->span_end(span_);
    }

private:
    Backend *const backend_;
    uint64_t span_ = 0;
};

} // namespace heddle::gpu
