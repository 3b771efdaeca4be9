// SPDX-License-Identifier: BSD-3-Clause
// Moves that are one launch each, or a part of one.
#include "arena.hpp"
#include "sides.hpp"
#include "tasks.hpp"

#include <algorithm>
#include <sched.h>

namespace heddle::gpu {

namespace {

// Larger moves fill the device alone; smaller ones share a launch.
constexpr int64_t batched_bytes = int64_t{8} << 20;

bool batches(Kernel kernel, const Direct &d)
{
    return (kernel == Kernel::strided || kernel == Kernel::any) && d.move->bytes <= batched_bytes;
}

// Contiguous copies to a device of this much go into the stream by the processor, which takes it
// longer than the copy engine takes; of the same bytes as two rows the engine is told at once.
constexpr int64_t by_processor_from = 6 << 10;
constexpr int64_t by_processor_below = 32 << 10;

Layers contiguous(const Move &m)
{
    const auto bytes = static_cast<size_t>(m.bytes);
    const bool by_processor = m.from.memory.kind == MemoryKind::pinned &&
                              m.bytes >= by_processor_from && m.bytes < by_processor_below;
    const size_t rows = by_processor && bytes % 2 == 0 ? 2 : 1, each = bytes / rows;
    return {m.to.address(), each, rows, m.from.address(), each, rows, each, rows, 1};
}

Layers blocks(const Direct &d)
{
    const bool packs = d.work.to.shape == Shape::dense;
    const Side &s = packs ? d.work.from : d.work.to;
    const auto width = static_cast<size_t>(s.block);
    const auto pitch = static_cast<size_t>(s.dim[0].stride);
    const size_t rows = static_cast<size_t>(d.move->bytes) / width;
    const size_t each = s.dims == 1 ? rows : static_cast<size_t>(s.dim[0].count); // of a layer
    const size_t apart = s.dims == 1 ? rows : static_cast<size_t>(s.dim[1].stride) / pitch;
    return {d.move->to.address(),
            packs ? width : pitch,
            packs ? each : apart,
            d.move->from.address(),
            packs ? pitch : width,
            packs ? apart : each,
            width,
            each,
            rows / each};
}

int put_copy(Device &device, Stream stream, const Layers &c, Done *done)
{
    Backend &backend = device.backend();
    if (c.layers > 1)
        return backend.copy_3d(device.ordinal(), stream, c, done);
    if (c.rows > 1)
        return backend.copy_2d(device.ordinal(), stream, c.to, c.to_pitch, c.from, c.from_pitch,
                               c.width, c.rows, done);
    return backend.copy(device.ordinal(), stream, c.to, c.from, c.width, done);
}

// Waits for what was launched; it has no other stages.
class Launched : public Task {
public:
    Launched(DoneRef done, Device &device) : done_(std::move(done)), device_(device)
    {
        ++device_.running;
    }
    ~Launched() override { --device_.running; }
    int progress(bool &ended) override
    {
        const int e = done_.test(ended);
        ended = ended || e;
        return e;
    }
    int wait() override { return done_.wait(); }

private:
    DoneRef done_;
    Device &device_;
};

} // namespace

int Task::wait()
{
    for (;;) {
        bool ended = false;
        const int e = progress(ended);
        if (ended)
            return e;
        sched_yield();
    }
}

int Tasks::progress(size_t n)
{
    int error = HEDDLE_SUCCESS;
    std::erase_if(tasks_, [&](const std::unique_ptr<Task> &task) {
        bool ended = false;
        if (n == 0)
            return false;
        --n;
        const int e = guard([&] { return task->progress(ended); });
        error = error ? error : e;
        return ended || e;
    });
    return error;
}

int Tasks::wait()
{
    if (tasks_.size() == 1) {
        const std::unique_ptr<Task> only = std::move(tasks_[0]);
        tasks_.clear();
        return guard([&] { return only->wait(); });
    }
    int error = HEDDLE_SUCCESS;
    while (!tasks_.empty()) { // all at once: each may have stages that go through the host
        const int e = progress();
        error = error ? error : e;
        if (!tasks_.empty())
            sched_yield();
    }
    return error;
}

int make_work(const Move &move, Work &work)
{
    if (const int e = make_side(move.from, *move.device, work.from))
        return e;
    if (const int e = make_side(move.to, *move.device, work.to))
        return e;
    if (work.from.shape == Shape::dense && work.to.shape == Shape::dense)
        make_one_block(work.from, move.bytes);
    work.bytes = move.bytes;
    work.op = move.op;
    work.basic = move.basic;
    work.split =
        move.op != HEDDLE_OP_REPLACE && move.from.type->basic != move.basic && !move.from.dense();
    work.remote = !move.to.memory.lies_on(move.device->ordinal());
    work.far = !move.from.memory.lies_on(move.device->ordinal());
    return HEDDLE_SUCCESS;
}

Layers copy_of(const Direct &direct)
{
    return direct.method == Method::blocks ? blocks(direct) : contiguous(*direct.move);
}

static int launch_several(Device &device, std::span<const Direct> moves, Stream stream, Done *done,
                          bool beside)
{
    Backend &backend = device.backend();
    Choices choices;
    Arena<32 * sizeof(Launch)> arena;
    std::pmr::vector<Launch> batch(arena.memory());
    const bool several = std::count_if(moves.begin(), moves.end(), [](const Direct &d) {
                             return d.method == Method::kernel;
                         }) > 1;
    const bool remote = several && std::any_of(moves.begin(), moves.end(),
                                               [](const Direct &d) { return d.work.remote; });
    if (several)
        batch.reserve(moves.size());
    for (size_t i = 0; i < moves.size(); ++i) {
        const Direct &d = moves[i];
        Done *const last = i + 1 == moves.size() && batch.empty() ? done : nullptr;
        int error;
        if (d.method != Method::kernel) {
            error = put_copy(device, stream, copy_of(d), last);
        } else {
            const Kernel kernel = choices.kernel(d.work, *d.move, several, beside);
            if (several && batches(kernel, d)) {
                batch.push_back({kernel, &d.work, remote});
                continue;
            }
            const Launch one{kernel, &d.work, remote};
            error = backend.launch(device.ordinal(), stream, {&one, 1}, last);
        }
        if (error)
            return error;
    }
    return batch.empty() ? HEDDLE_SUCCESS : backend.launch(device.ordinal(), stream, batch, done);
}

int launch(Device &device, std::span<const Direct> moves, Stream stream, Done *done, bool beside)
{
    if (moves.size() != 1)
        return launch_several(device, moves, stream, done, beside);
    const Direct &only = moves[0];
    if (only.method != Method::kernel)
        return put_copy(device, stream, copy_of(only), done);
    const Launch one{Choices().kernel(only.work, *only.move, false, beside), &only.work};
    return device.backend().launch(device.ordinal(), stream, {&one, 1}, done);
}

// From layout to layout: then no other process waits for what is packed, nor has waited for what is
// unpacked. Where it has to (four H200s that exchange halos, a part of them with themselves), an
// exchange takes 6 % less time.
static bool can_wait(std::span<const Direct> group)
{
    return std::none_of(group.begin(), group.end(), [](const Direct &each) {
        return each.move->from.dense() || each.move->to.dense();
    });
}

int begin_direct(Device &device, std::span<const Direct> moves, bool awaited, Tasks &tasks)
{
    const auto begin = [&](std::span<const Direct> group) {
        Stream stream;
        const bool alone = device.running == 0 || (awaited && tasks.empty());
        if (const int e =
                alone ? device.own_stream(stream) : device.stream(stream, can_wait(group)))
            return e;
        DoneRef done;
        const int without = done.acquire(device);
        if (without && without != HEDDLE_ERR_NO_MEMORY)
            return without;
        const int failed = launch(device, group, stream, done.get(), !awaited);
        if (failed || without) {
            // A part of it may run: its types and buffers are the caller's again when this returns.
            // And without a memory for its end, that is waited for here.
            const int ended = device.backend().stream_synchronize(device.ordinal(), stream);
            return failed ? failed : ended;
        }
        tasks.add(std::make_unique<Launched>(std::move(done), device));
        return int{HEDDLE_SUCCESS};
    };
    // Large moves go to streams of their own; those between them are a group each.
    size_t group = 0;
    for (size_t i = 0; i < moves.size(); ++i) {
        if (moves[i].move->bytes <= batched_bytes || moves.size() == 1)
            continue;
        if (group < i)
            if (const int e = begin(moves.subspan(group, i - group)))
                return e;
        if (const int e = begin(moves.subspan(i, 1)))
            return e;
        group = i + 1;
    }
    return group < moves.size() ? begin(moves.subspan(group)) : HEDDLE_SUCCESS;
}

int run_copy(Device &device, const Layers &copy, bool &refused)
{
    refused = false;
    Stream stream;
    if (const int e = device.own_stream(stream))
        return e;
    const int e = put_copy(device, stream, copy, nullptr);
    const int ended = device.backend().stream_synchronize(device.ordinal(), stream); // it is seen
                                                                                     // as soon as
                                                                                     // by anything
                                                                                     // else
    refused = e && !ended;
    return e ? e : ended;
}

int run_kernel(Device &device, const Direct &direct)
{
    Stream stream;
    if (const int e = device.own_stream(stream))
        return e;
    DoneRef done;
    const int without = done.acquire(device);
    if (without && without != HEDDLE_ERR_NO_MEMORY)
        return without;
    const int failed = launch(device, {&direct, 1}, stream, done.get(), false);
    if (!failed && !without)
        return done.wait();
    const int ended = device.backend().stream_synchronize(device.ordinal(), stream); // a part of it
                                                                                     // may run
    return failed ? failed : ended;
}

} // namespace heddle::gpu
