// SPDX-License-Identifier: BSD-3-Clause
// Moves that are one launch each, or a part of one.
#include "gpu/core/arena.hpp"
#include "gpu/core/log.hpp"
#include "gpu/core/settings.hpp"
#include "gpu/transfer/kernel_side.hpp"
#include "gpu/transfer/run_to_end.hpp"
#include "gpu/transfer/task.hpp"

#include <algorithm>
#include <sched.h>

namespace heddle::gpu {

namespace {

// Larger moves fill the device alone, on streams of their own; smaller ones go together.
constexpr int64_t together_most_bytes = int64_t{8} << 20;

Layers contiguous(const Move &m)
{
    Layers copy = contiguous_copy(m.to.address(), m.from.address(), static_cast<size_t>(m.bytes));
    copy.from_pinned = m.from.memory.kind == MemoryKind::pinned;
    return copy;
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
            rows / each,
            false};
}

Error put_copy(Device &device, Stream stream, const Layers &copy, Done *done)
{
    return device.backend().copy(device.ordinal(), stream, copy, done);
}

Error put_kernels(Device &device, Stream stream, std::span<Launch> launches, const Others &others,
                  Done *done)
{
    const Error e = device.backend().launch(device.ordinal(), stream, launches, others, done);
    count_kernels(launches);
    return e;
}

} // namespace

Error Task::wait()
{
    for (;;) {
        bool ended = false;
        const Error e = progress(ended);
        if (ended)
            return e;
        sched_yield();
    }
}

Error Tasks::progress(size_t n)
{
    Error error = HEDDLE_SUCCESS;
    std::erase_if(tasks_, [&](const std::unique_ptr<Task> &task) {
        bool ended = false;
        if (n == 0)
            return false;
        --n;
        const Error e = caught([&] { return task->progress(ended); });
        error = error ? error : e;
        return ended || e;
    });
    return error;
}

Error Tasks::wait()
{
    if (tasks_.size() == 1) {
        const std::unique_ptr<Task> only = std::move(tasks_[0]);
        tasks_.clear();
        return caught([&] { return only->wait(); });
    }
    Error error = HEDDLE_SUCCESS;
    while (!tasks_.empty()) { // all at once: each may have stages that go through the host
        const Error e = progress();
        error = error ? error : e;
        if (!tasks_.empty())
            sched_yield();
    }
    return error;
}

Error make_work(const Move &move, Work &work)
{
    if (const Error e = make_side(move.from, *move.device, work.from))
        return e;
    if (const Error e = make_side(move.to, *move.device, work.to))
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
    work.pinned = (work.remote ? move.to : move.from).memory.kind == MemoryKind::pinned;
    return HEDDLE_SUCCESS;
}

Layers copy_of(const Direct &direct)
{
    return direct.method == Method::blocks ? blocks(direct) : contiguous(*direct.move);
}

// Pieces of another transfer are not logged.
static void log_if_whole(const Direct &d, const Launch *launched)
{
    if (!logs(Topic::policy) || !d.reason)
        return;
    const bool known = launched && launched->kernel != Kernel::count;
    log_choice(*d.move, {d.method, d.reason}, known ? kernel_name(launched->kernel) : nullptr);
}

static Error launch_several(Device &device, std::span<const Direct> moves, Stream stream,
                            Done *done, bool beside)
{
    Arena<32 * sizeof(Launch)> arena;
    std::pmr::vector<Launch> kernels(arena.memory());
    kernels.reserve(moves.size());
    const Kernel wanted = Settings::get().kernel;
    Others others{beside, false};
    for (const Direct &d : moves) {
        others.remote |= d.work.remote;
        if (d.method == Method::kernel)
            kernels.push_back({&d.work, wanted});
    }
    size_t copies = moves.size() - kernels.size();
    for (const Direct &d : moves) {
        if (d.method == Method::kernel)
            continue;
        log_if_whole(d, nullptr);
        Done *const last = --copies == 0 && kernels.empty() ? done : nullptr;
        if (const Error e = put_copy(device, stream, copy_of(d), last))
            return e;
    }
    if (kernels.empty())
        return HEDDLE_SUCCESS;
    const Error e = put_kernels(device, stream, kernels, others, done);
    size_t i = 0;
    for (const Direct &d : logs(Topic::policy) ? moves : std::span<const Direct>())
        if (d.method == Method::kernel)
            log_if_whole(d, &kernels[i++]);
    return e;
}

Error launch(Device &device, std::span<const Direct> moves, Stream stream, Done *done, bool beside)
{
    if (moves.size() != 1)
        return launch_several(device, moves, stream, done, beside);
    const Direct &only = moves[0];
    if (only.method != Method::kernel) {
        log_if_whole(only, nullptr);
        return put_copy(device, stream, copy_of(only), done);
    }
    Launch one{&only.work, Settings::get().kernel};
    const Error e = put_kernels(device, stream, {&one, 1}, {beside, false}, done);
    log_if_whole(only, &one);
    return e;
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

Error begin_direct(Device &device, std::span<const Direct> moves, bool awaited, Tasks &tasks)
{
    const auto begin = [&](std::span<const Direct> group) {
        Stream stream;
        const bool alone = device.running == 0 || (awaited && tasks.empty());
        if (const Error e =
                alone ? device.own_stream(stream) : device.stream(stream, can_wait(group)))
            return e;
        return begin_launches(device, stream, tasks, [&](Done *done) {
            return launch(device, group, stream, done, !awaited);
        });
    };
    // Large moves go to streams of their own; those between them are a group each.
    size_t group = 0;
    for (size_t i = 0; i < moves.size(); ++i) {
        if (moves[i].move->bytes <= together_most_bytes || moves.size() == 1)
            continue;
        if (group < i)
            if (const Error e = begin(moves.subspan(group, i - group)))
                return e;
        if (const Error e = begin(moves.subspan(i, 1)))
            return e;
        group = i + 1;
    }
    return group < moves.size() ? begin(moves.subspan(group)) : HEDDLE_SUCCESS;
}

Error run_copy(Device &device, const Layers &copy, bool &refused)
{
    refused = false;
    Stream stream;
    if (const Error e = device.own_stream(stream))
        return e;
    const Error e = put_copy(device, stream, copy, nullptr);
    // it is seen as soon as by anything else
    const Error ended = device.backend().stream_synchronize(device.ordinal(), stream);
    refused = e && !ended;
    return e ? e : ended;
}

Error run_kernel(Device &device, const Direct &direct)
{
    return run_to_end(device, [&](Stream stream, Done *done) {
        return launch(device, {&direct, 1}, stream, done, false);
    });
}

} // namespace heddle::gpu
