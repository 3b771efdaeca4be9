// SPDX-License-Identifier: BSD-3-Clause
// The simulated devices' streams: queues of operations, and the threads that carry them out.
#pragma once

#include "gpu/core/backend.hpp"
#include "gpu/sim/error.hpp"
#include "gpu/sim/switches.hpp"

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

namespace heddle::gpu::sim {

enum class DoneState : uint8_t { idle, pending, reached, failed };

struct SimDone : Done {
    std::atomic<DoneState> state{DoneState::idle};
    bool released = false; // while still pending
};

using Operation = std::function<Fault()>;

class Queues {
public:
    Queues(int devices, Switches &switches);

    // A null stream is the device's default stream. Every function that takes a stream checks that
    // it is one of that device.
    Fault create(int device, Stream *stream);
    Fault destroy(int device, Stream stream);
    // -1: no stream.
    int device_of(Stream stream);

    // Puts an operation on a stream. `done` is reached when it has ended.
    Fault put(int device, Stream stream, Operation operation, SimDone *done);
    // `done` is reached when all has ended that was put on the device's streams so far.
    Fault put_after_all(int device, SimDone *done);
    Fault synchronize(int device, Stream stream);
    void synchronize_all();

    SimDone *acquire(int device);
    void release(SimDone *done);
    Fault test(SimDone *done, bool *reached);
    Fault wait(SimDone *done);

    // The error from which on all calls on the device fail.
    Fault broken(int device);
    // Breaks it. What runs there ends first, and what is queued does not begin.
    void fail(int device, const Fault &error);
    void mend();

private:
    struct Item {
        Operation operation;
        SimDone *done = nullptr;
        uint64_t order = 0;
    };
    struct SimStream {
        int device = 0;
        std::deque<Item> items;
        bool busy = false;
        bool closed = false;
        uint64_t busy_with = 0; // the order of what is carried out
        uint64_t last_put = 0;
        uint64_t last_ended = 0;
    };
    struct Mark {
        SimDone *done;
        uint64_t order; // of the last that it waits for, on any stream
    };
    struct Device {
        SimStream *by_default = nullptr;
        bool has_workers = false;
        int running = 0; // operations
        Fault broken;
        std::atomic<bool> is_broken{false};
        std::vector<std::unique_ptr<SimDone>> dones;
        std::vector<SimDone *> spare;
        std::vector<Mark> marks;
    };

    SimStream *find(Stream stream);
    Fault resolve(int device, Stream stream, SimStream *&found);
    SimStream *add_stream(int device);
    void work(int device);
    SimStream *choose(int device);
    void carry_out(SimStream &stream, std::unique_lock<std::mutex> &lock);
    void end(SimDone *done, bool failed);
    void end_marks(int device);
    void fail(Device &device, const Fault &error, std::unique_lock<std::mutex> &lock);
    void pause();

    Switches &switches_;
    std::mutex mutex_; // guards all below but atomics
    std::condition_variable changed_;
    std::list<SimStream> streams_;
    std::vector<Device> devices_;
    uint64_t order_ = 0;
};

} // namespace heddle::gpu::sim
