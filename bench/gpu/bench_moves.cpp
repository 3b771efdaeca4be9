// SPDX-License-Identifier: BSD-3-Clause
// Every layout at every size, packed and unpacked, on the device and to or from pinned memory, by
// Heddle and by everyone who can.
#include "batched.hpp"
#include "benchmarks.hpp"
#include "workspace.hpp"

#include <algorithm>
#include <limits>

namespace bench {
namespace {

// Rivals that take longer, in seconds, are not measured again, or not in a row.
constexpr double too_slow = 0.05, slow = 0.002;
// The limit programs are many: samples that each is tried with, and how many of them are measured.
constexpr int tries = 3;
constexpr size_t finalists = 3;

struct Task {
    const Layout *layout;
    int64_t size;
    bool pack, pinned;
};

void describe(benchmark::State &state, const Task &task, const Case &made)
{
    state.counters["bytes"] = static_cast<double>(made.bytes);
    state.counters["sectors"] = static_cast<double>(made.sectors);
    state.counters["strided"] = task.layout->strided;
    state.counters["block"] = static_cast<double>(task.layout->block);
    state.counters["stride"] = static_cast<double>(task.layout->stride);
}

heddle_move move_of(const Case &made, const Ends &ends)
{
    const heddle_side user{ends.user, made.count, made.type.get(), 0};
    const heddle_side packed{ends.packed, made.bytes, heddle_type_predefined(HEDDLE_BYTE), 0};
    return ends.pack ? heddle_move{user, packed, made.bytes, HEDDLE_OP_REPLACE}
                     : heddle_move{packed, user, made.bytes, HEDDLE_OP_REPLACE};
}

// Heddle's calls for a task.
struct Heddle {
    Workspace &space;
    Task task;

    void block(int i) const
    {
        const heddle_move move = move_of(space.made(), space.ends(i, task.pack, task.pinned));
        BENCH_HEDDLE(heddle_transfer(&move, 1));
    }
    void queue(int i, cudaStream_t stream) const
    {
        const heddle_move move = move_of(space.made(), space.ends(i, task.pack, task.pinned));
        BENCH_HEDDLE(heddle_transfer_on_stream(&move, 1, stream));
    }
};

void measure_heddle(benchmark::State &state, const Task &task)
{
    Workspace &space = workspace(*task.layout, task.size);
    const Heddle heddle{space, task};
    describe(state, task, space.made());
    space.check([&](const Ends &, cudaStream_t) { heddle.block(0); }, task.pack, task.pinned);
    report_wall(state, {[&](int i) { heddle.block(i); }});
    if (task.pinned)
        return;
    space.check([&](const Ends &, cudaStream_t stream) { heddle.queue(0, stream); }, task.pack,
                task.pinned);
    report_gpu(state, {[&](int i, cudaStream_t stream) { heddle.queue(i, stream); }});
}

// Someone who puts the work on a stream, and Heddle beside it. The stream is waited for, if nothing
// is told that waits.
void measure_rival(benchmark::State &state, const Task &task, const Mover &mover,
                   bool one_pair = false, const std::function<void(const Ends &)> &waits = nullptr)
{
    Workspace &space = workspace(*task.layout, task.size);
    describe(state, task, space.made());
    const double first = space.check(mover, task.pack, task.pinned);
    if (first > too_slow) {
        report(state, time_of({first}), "wall");
        if (!task.pinned)
            report(state, time_of({first}), "gpu"); // it is all of it
        return;
    }
    const Heddle heddle{space, task};
    const auto ends = [&](int i) { return space.ends(one_pair ? 0 : i, task.pack, task.pinned); };
    const Stream stream;
    std::vector<Call> calls{[&](int i) {
        if (waits)
            return waits(ends(i));
        mover(ends(i), stream);
        stream.wait();
    }};
    std::vector<Enqueue> queued{[&](int i, cudaStream_t on) { mover(ends(i), on); }};
    if (heddle_device_open() == HEDDLE_SUCCESS) {
        calls.emplace_back([&](int i) { heddle.block(i); });
        queued.emplace_back([&](int i, cudaStream_t on) { heddle.queue(i, on); });
    }
    report_wall(state, calls);
    if (!task.pinned)
        report_gpu(state, queued, first > slow ? 1 : in_a_row);
}

// The fastest of several programs. All are tried; the few that were fastest are measured as
// everyone else is.
void measure_fastest(benchmark::State &state, const Task &task, const std::vector<Mover> &programs)
{
    Workspace &space = workspace(*task.layout, task.size);
    describe(state, task, space.made());
    space.will_damage();
    const auto measure = [&](const Mover &program, int most, int repeat) {
        return gpu_time(
            [&](int i, cudaStream_t stream) { program(space.ends(i, task.pack, false), stream); },
            most, enough_seconds, repeat);
    };
    std::vector<std::pair<double, const Mover *>> tried;
    for (const Mover &each : programs)
        tried.emplace_back(measure(each, tries, 1).median, &each);
    const size_t kept = std::min(finalists, tried.size());
    std::partial_sort(tried.begin(), tried.begin() + static_cast<std::ptrdiff_t>(kept),
                      tried.end());
    Time best;
    best.median = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < kept; ++i)
        if (const Time time = measure(*tried[i].second, most_samples, in_a_row);
            time.median < best.median)
            best = time;
    report(state, best, "gpu");
}

// As many bytes by a plain copy, and Heddle beside it.
void measure_memcpy(benchmark::State &state, const Task &task)
{
    Workspace &space = workspace(*task.layout, task.size);
    const Case &made = space.made();
    describe(state, task, made);
    const Heddle heddle{space, task};
    std::vector<Call> calls{[&](int i) {
        const Ends ends = space.ends(i, task.pack, task.pinned);
        const Ends other = space.ends(i, task.pack, false);
        BENCH_CUDA(cudaMemcpy(task.pack ? ends.packed : other.packed,
                              task.pack ? other.packed : ends.packed,
                              static_cast<size_t>(made.bytes), cudaMemcpyDefault));
    }};
    if (heddle_device_open() == HEDDLE_SUCCESS)
        calls.emplace_back([&](int i) { heddle.block(i); });
    report_wall(state, calls);
}

// Another engine. Where a size took too long, larger ones are left out. Host memory is measured up
// to 1 MiB only, if the engine has no call that waits: yaksa takes 13 seconds for 16 MiB of 8-byte
// blocks.
void measure_engine(benchmark::State &state, const Task &task, Rival &rival)
{
    const std::string kind =
        task.layout->name + (task.pack ? "/pack" : "/unpack") + (task.pinned ? "/pinned" : "");
    const Case &made = workspace(*task.layout, task.size).made();
    const bool too_long = task.pinned && made.bytes > 1 << 20 && !rival.can_wait();
    const Rival::Moves moves = rival.gave_up(kind) || too_long ? Rival::Moves() : rival.moves(made);
    if (!moves.on_stream) {
        state.counters["cannot"] = 1;
        return;
    }
    measure_rival(state, task, moves.on_stream, false, moves.waits);
    if (state.counters.count("wall") && state.counters["wall"] > too_slow)
        rival.give_up(kind);
}

void register_task(const Task &task, std::vector<Rival> &rivals)
{
    const Layout &layout = *task.layout;
    const std::string name = layout.name + "/" + std::to_string(task.size) +
                             (task.pack ? "/pack" : "/unpack") +
                             (task.pinned ? "/pinned/" : "/device/");
    add(name + "heddle", [task](benchmark::State &state) { measure_heddle(state, task); });
    if (layout.hands)
        add(name + "hand", [task](benchmark::State &state) {
            measure_rival(state, task, workspace(*task.layout, task.size).made().hand);
        });
    if (layout.copies)
        add(name + "copy", [task](benchmark::State &state) {
            measure_rival(state, task, workspace(*task.layout, task.size).made().copy);
        });
    for (Rival &rival : rivals)
        add(name + rival.name(),
            [task, &rival](benchmark::State &state) { measure_engine(state, task, rival); });
    if (task.pinned) {
        add(name + "memcpy", [task](benchmark::State &state) { measure_memcpy(state, task); });
        return;
    }
    add(name + "cub", [task](benchmark::State &state) {
        Workspace &space = workspace(*task.layout, task.size);
        const Mover mover = batched_mover(space.made(), space.ends(0, task.pack, false));
        if (mover)
            measure_rival(state, task, mover, true);
        else
            state.counters["too_many_runs"] = 1;
    });
    if (layout.limits)
        add(name + "limit", [task](benchmark::State &state) {
            measure_fastest(state, task,
                            workspace(*task.layout, task.size).made().limit.of(task.pack));
        });
    if (layout.alone)
        add(name + "alone", [task](benchmark::State &state) {
            measure_fastest(state, task,
                            workspace(*task.layout, task.size).made().alone.of(task.pack));
        });
}

} // namespace

void register_moves(std::vector<Rival> &rivals)
{
    static const std::vector<Layout> all = layouts();
    for (const Layout &layout : all)
        for (const int64_t size : layout.sizes)
            for (const bool pinned : {false, true})
                for (const bool pack : {true, false})
                    register_task({&layout, size, pack, pinned}, rivals);
}

} // namespace bench
