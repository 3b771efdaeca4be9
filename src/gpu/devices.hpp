// SPDX-License-Identifier: BSD-3-Clause
// The open plug-in and what libheddle keeps for each of its devices: streams and slabs. Everything
// is made when it is first used.
#pragma once

#include "backend.hpp"
#include "retired.hpp"
#include "slabs.hpp"

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
    int stream(Stream &stream, bool can_wait = false)
    {
        return stream_at(turn_.fetch_add(1, std::memory_order_relaxed) % streams +
                             (can_wait ? streams : 0),
                         stream);
    }
    // The calling thread's one of them, for what it waits for, or what runs beside nothing else. To
    // begin on another stream than before takes a GPU a microsecond.
    int own_stream(Stream &stream);
    // The one on which types' descriptions are uploaded, who wait for nothing else that runs.
    int upload_stream(Stream &stream) { return stream_at(2 * streams, stream); }
    // Whether there is a stream, so that the process has a context on the device.
    bool in_use() const
    {
        return std::any_of(streams_.begin(), streams_.end(), [](const auto &stream) {
            return stream.load(std::memory_order_relaxed) != nullptr;
        });
    }

    std::atomic<int> running{0}; // launches that go on while their callers do other things

    SlabPool memory; // of the device
    SlabPool pinned; // of the host, near the device
    Retired retired; // lies in both

private:
    static constexpr size_t streams = 4; // of either kind

    int stream_at(size_t number, Stream &stream);

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
    int count() const { return static_cast<int>(devices_.size()); }
    Device &device(int ordinal) const { return *devices_[static_cast<size_t>(ordinal)]; }
    // Whose device or managed memory `ptr` points into; null for any other.
    Device *device_of(const void *ptr) const
    {
        const Memory memory = backend_.query(ptr, false);
        return memory.of_device() && memory.device >= 0 ? &device(memory.device) : nullptr;
    }

private:
    Backend &backend_;
    std::vector<std::unique_ptr<Device>> devices_;
};

// Completion of one launch or copy; gives its object back.
class DoneRef {
public:
    DoneRef() = default;
    DoneRef(DoneRef &&other) noexcept
    {
        std::swap(backend_, other.backend_), std::swap(done_, other.done_);
    }
    DoneRef &operator=(DoneRef &&other) noexcept
    {
        std::swap(backend_, other.backend_);
        std::swap(done_, other.done_);
        return *this;
    }
    ~DoneRef()
    {
        if (done_)
            backend_->done_release(done_);
    }

    int acquire(Device &device)
    {
        backend_ = &device.backend();
        return backend_->done_acquire(device.ordinal(), &done_);
    }
    Done *get() const { return done_; }
    int test(bool &reached) const { return backend_->done_test(done_, &reached); }
    int wait() const { return backend_->done_wait(done_); }

private:
    Backend *backend_ = nullptr;
    Done *done_ = nullptr;
};

} // namespace heddle::gpu
