// SPDX-License-Identifier: BSD-3-Clause
// What a transfer is carried out by, once its method is chosen. A task is begun, and then makes
// progress whenever it is asked, until it has ended. None waits for the device but in its
// destructor, where it was abandoned.
#pragma once

#include "gpu/transfer/policy.hpp"
#include "gpu/transfer/resolve.hpp"

#include <cassert>
#include <memory>
#include <span>

namespace heddle::gpu {

class Task {
public:
    virtual ~Task() = default;
    // `ended` where nothing is left to do. An error ends it, too.
    virtual Error progress(bool &ended) = 0;
    // Makes progress until it has ended.
    virtual Error wait();
};

// Tasks that run. They end before what they use does: the destructor waits.
class Tasks {
public:
    Tasks() = default;
    Tasks(Tasks &&) = default;
    Tasks &operator=(Tasks &&) = delete;
    ~Tasks() { static_cast<void>(wait()); }

    void add(std::unique_ptr<Task> task)
    {
        assert(task);
        tasks_.push_back(std::move(task));
    }
    // The next add() needs no memory then.
    void make_room()
    {
        if (tasks_.size() == tasks_.capacity())
            tasks_.reserve(2 * tasks_.size() + 1);
    }
    bool empty() const { return tasks_.empty(); }
    size_t size() const { return tasks_.size(); }
    // Progress of the first `n`; the first error of those that ended.
    Error progress(size_t n = SIZE_MAX);
    // Until all have ended.
    Error wait();

private:
    std::vector<std::unique_ptr<Task>> tasks_;
};

// A move as a kernel does it.
Error make_work(const Move &move, Work &work);

// A move by one kernel or by one copy.
struct Direct {
    Direct(const Move *m, Method by) : move(m), method(by) {} // leaves room for dimensions as it is

    const Move *move;
    Method method;
    const char *reason = nullptr; // of the method; null: a piece of another transfer
    Work work;
};
using Directs = std::pmr::vector<Direct>;
// What a call's Moves and Directs need for a neighbour exchange in three dimensions, of 26 moves.
constexpr size_t neighbours_bytes = 26 * (sizeof(Move) + sizeof(Direct));

// Puts them on a stream of their device: those that are small in one launch. `done` is reached
// after the last. `beside`: the library has, or will have, other launches running at the same time.
Error launch(Device &device, std::span<const Direct> moves, Stream stream, Done *done, bool beside);
// Begins them on streams of the device's own, side by side where that pays. `awaited`: the calling
// thread waits for them at once.
Error begin_direct(Device &device, std::span<const Direct> moves, bool awaited, Tasks &tasks);
// A move of the copy engines, in their terms.
Layers copy_of(const Direct &direct);
// Carry out a move to its end, by a copy engine or by a kernel. `refused`: the copy was not begun,
// and the device is well.
Error run_copy(Device &device, const Layers &copy, bool &refused);
Error run_kernel(Device &device, const Direct &direct);

// Combines vectors, whose memory the device reaches, and returns when that is done.
Error run_fold(Device &device, const Fold &fold);
// Begins that.
Error begin_fold(Device &device, const Fold &fold, Tasks &tasks);

// Moves whose memory is resolved, on a stream of the caller's. Errors: as
// heddle_transfer_on_stream.
Error put_on_stream(Moves &moves, Stream stream);

// Between a device and pinned memory, by slabs of device memory and the copy engine. `task` stays
// null where there is no slab to be had. `awaited`: the calling thread waits for it at once, and
// for nothing else.
Error begin_staged(const Move &move, bool awaited, std::unique_ptr<Task> &task);

// By pinned slabs, where no device reaches both ends.
std::unique_ptr<Task> begin_bounced(const Move &move, Devices &devices);

// Puts it on a stream run by run, with the copy engine: where there is no memory left for anything
// better.
Error copy_by_runs(const Move &move, Device &device, Stream stream);

// By way of ordinary memory, and by the host's operators.
std::unique_ptr<Task> begin_combined(const Move &move, Devices &devices);

} // namespace heddle::gpu
