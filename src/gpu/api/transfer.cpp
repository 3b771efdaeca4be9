// SPDX-License-Identifier: BSD-3-Clause
// The C API of transfers on any memory.
#include "gpu/api/transfer.hpp"

#include "gpu/core/arena.hpp"
#include "gpu/core/error_detail.hpp"
#include "gpu/core/log.hpp"
#include "gpu/transfer/by_members.hpp"
#include "gpu/transfer/copy_cache.hpp"
#include "gpu/transfer/task.hpp"

#include "engine/guard.hpp"

#include <algorithm>

using namespace heddle;
using namespace heddle::gpu;

struct heddle_request : Handle<heddle_request> {
    // The types of what has begun.
    void keep(std::span<const heddle_move> moves)
    {
        types.reserve(2 * moves.size());
        for (const heddle_move &move : moves) {
            types.emplace_back(move.from.type);
            types.emplace_back(move.to.type);
        }
    }

    std::vector<TypeRef> types;
    Tasks tasks; // end before the types that they read
    Error error = HEDDLE_SUCCESS;
    std::string detail; // what was said of the error, for the call that ends the request
};

namespace {

// Buffers with an address: the memory at the first byte is the memory of all.
bool is_simple(const heddle_move &asked) { return asked.from.buf && asked.to.buf; }

// And it is one move, too.
bool is_one(const heddle_move &asked) { return is_simple(asked) && !has_members(asked); }

bool is_nothing(const Move &move) { return move.bytes == 0 || move.op == HEDDLE_OP_NO_OP; }

// Checks all of them before the first byte moves.
Error resolve(const heddle_move *asked, int64_t n, std::span<const Known> known, Moves &moves)
{
    if (n < 0 || (n > 0 && !asked))
        return HEDDLE_ERR_ARG;
    Devices *const devices = Devices::open();
    MemoryMap map(devices ? &devices->backend() : nullptr);
    moves.reserve(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) {
        Move &move = moves.emplace_back();
        if (const Error e = check_move(asked[i], move))
            return e;
        if (!known.empty())
            map.expect(known[static_cast<size_t>(i)]);
        const size_t first = moves.size() - 1;
        if (is_nothing(move))
            moves.pop_back();
        else
            resolve_last(devices, map, moves);
        cut_at_members(moves, first);
    }
    return HEDDLE_SUCCESS;
}

Error choose(Direct &d, Asked asked, Choices &choices)
{
    Error e = HEDDLE_SUCCESS;
    if (d.move->device)
        e = make_work(*d.move, d.work);
    if (e && e != HEDDLE_ERR_NO_MEMORY)
        return e;
    // Without room for its image a type is not a kernel's.
    const Choice choice = choices.method(*d.move, d.move->device && !e ? &d.work : nullptr, asked);
    d.method = choice.method;
    d.reason = choice.reason;
    return HEDDLE_SUCCESS;
}

bool is_one_launch(Method method)
{
    return method == Method::kernel || method == Method::copy_engine || method == Method::blocks;
}

// Carries out or begins what is more than a launch. Where it turns out to be one after all, `d`
// says so. `awaited`: as for begin_staged().
Error begin_stages(Direct &d, bool awaited, Tasks &tasks)
{
    const Move &move = *d.move;
    if (logs(Topic::policy))
        log_choice(move, {d.method, d.reason}, nullptr);
    switch (d.method) {
    case Method::bounced:
        tasks.add(begin_bounced(move, *Devices::open()));
        return HEDDLE_SUCCESS;
    case Method::combined:
        tasks.add(begin_combined(move, *Devices::open()));
        return HEDDLE_SUCCESS;
    case Method::staged: {
        std::unique_ptr<Task> task;
        if (const Error e = begin_staged(move, awaited, task))
            return e;
        if (task)
            tasks.add(std::move(task));
        else
            d.method = Method::kernel, d.reason = "no staging memory is left";
        return HEDDLE_SUCCESS;
    }
    default:
        host_move(move.from, move.to, move.bytes, move.op, move.basic);
        return HEDDLE_SUCCESS;
    }
}

// One launch for each device's moves.
Error begin_all(Directs &direct, bool awaited, Tasks &tasks)
{
    const auto by_device = [](const Direct &a, const Direct &b) {
        return a.move->device < b.move->device;
    };
    if (!std::is_sorted(direct.begin(), direct.end(), by_device)) // they are large
        std::stable_sort(direct.begin(), direct.end(), by_device);
    for (size_t i = 0; i < direct.size();) {
        size_t end = i + 1;
        while (end < direct.size() && direct[end].move->device == direct[i].move->device)
            ++end;
        if (const Error e =
                begin_direct(*direct[i].move->device, {&direct[i], end - i}, awaited, tasks))
            return e;
        i = end;
    }
    return HEDDLE_SUCCESS;
}

// `awaited`: by the calling thread, at once.
Error begin_moves(const Moves &moves, bool awaited, Tasks &tasks)
{
    Choices choices;
    Directs direct(moves.get_allocator());
    direct.reserve(moves.size());
    for (const Move &move : moves) {
        Direct &d = direct.emplace_back(&move, Method::host);
        if (const Error e = choose(d, {.alone = moves.size() == 1}, choices))
            return e;
        if (is_one_launch(d.method))
            continue;
        if (const Error e = begin_stages(d, false, tasks))
            return e;
        if (!is_one_launch(d.method))
            direct.pop_back();
    }
    const size_t stages = tasks.size();
    if (const Error e = begin_all(direct, awaited, tasks))
        return e;
    return awaited ? HEDDLE_SUCCESS : tasks.progress(stages); // launches their first ones
}

// A single transfer, with nothing in the way of the one launch that it is most of the time.
struct One {
    Move move;
    Direct direct{&move, Method::host};
};

// Begins what of it is more than a launch; `one` says whether there is a launch to come.
Error prepare_one(const heddle_move &asked, std::span<const Known> known, bool awaited, One &one,
                  Tasks &tasks)
{
    if (const Error e = check_move(asked, one.move); e || is_nothing(one.move))
        return e;
    Devices *const devices = Devices::open();
    MemoryMap map(devices ? &devices->backend() : nullptr);
    if (!known.empty())
        map.expect(known[0]);
    place_move(one.move, devices, map);
    Choices choices;
    if (const Error e = choose(one.direct, {.alone = true, .awaited = awaited}, choices))
        return e;
    return is_one_launch(one.direct.method) ? HEDDLE_SUCCESS
                                            : begin_stages(one.direct, awaited, tasks);
}

// By the copy that it was before. False: it is to be looked into.
bool transfer_again(const heddle_move &asked, Error &error)
{
    CachedCopy *const same = CachedCopy::find(asked);
    if (!same || is_forced_here())
        return false;
    bool refused;
    error = run_copy(same->device(), same->copy(), refused);
    if (error)
        same->forget();
    if (refused) // as where its memory is no longer what it was
        return clear_error_detail(), false;
    Choices().again(same->method());
    if (logs(Topic::policy))
        log_line(Topic::policy, "transfer of %lld bytes: method %s: as this thread's last such one",
                 static_cast<long long>(asked.bytes), method_name(same->method()));
    return true;
}

Error transfer_one(const heddle_move &asked)
{
    if (Error e; transfer_again(asked, e))
        return e;
    One one;
    Tasks tasks;
    if (const Error e = prepare_one(asked, {}, true, one, tasks))
        return e;
    const Method method = one.direct.method;
    if (!is_one_launch(method))
        return tasks.wait();
    Device &device = *one.move.device;
    if (method == Method::kernel)
        return run_kernel(device, one.direct);
    const Layers copy = copy_of(one.direct);
    if (logs(Topic::policy))
        log_choice(one.move, {method, one.direct.reason}, nullptr);
    bool refused;
    const Error e = run_copy(device, copy, refused);
    if (!e && !is_forced_here())
        CachedCopy::note(asked, method, device, copy);
    return e;
}

// Beside transfer_one(), whose stack it would make larger.
[[gnu::noinline]] Error transfer_several(const heddle_move *asked, int64_t n)
{
    Arena<neighbours_bytes> arena;
    Moves moves(arena.memory());
    Tasks tasks;
    if (const Error e = resolve(asked, n, {}, moves))
        return e;
    const Error begun = begin_moves(moves, true, tasks);
    const Error ended = tasks.wait();
    return begun ? begun : ended;
}

Error begin_one(const heddle_move &asked, std::span<const Known> known, Tasks &tasks)
{
    One one;
    if (const Error e = prepare_one(asked, known, false, one, tasks))
        return e;
    return is_one_launch(one.direct.method)
               ? begin_direct(*one.move.device, {&one.direct, 1}, false, tasks)
               : tasks.progress();
}

[[gnu::noinline]] Error begin_several(std::span<const heddle_move> asked,
                                      std::span<const Known> known, Tasks &tasks)
{
    Arena<neighbours_bytes> arena;
    Moves moves(arena.memory());
    if (const Error e = resolve(asked.data(), static_cast<int64_t>(asked.size()), known, moves))
        return e;
    return begin_moves(moves, false, tasks);
}

int begin(std::span<const heddle_move> asked, std::span<const Known> known, bool keeps,
          heddle_request **request)
{
    const ProfilerRange range("heddle_transfer_begin");
    return answer([&] {
        auto begun = std::make_unique<heddle_request>();
        const Error e = asked.size() == 1 && is_one(asked[0])
                            ? begin_one(asked[0], known, begun->tasks)
                            : begin_several(asked, known, begun->tasks);
        if (e)
            return e;
        if (keeps && !begun->tasks.empty())
            begun->keep(asked);
        *request = begun->tasks.empty() ? nullptr : begun.release();
        return Error{HEDDLE_SUCCESS};
    });
}

} // namespace

int heddle_transfer(const heddle_move *asked, int64_t n)
{
    const ProfilerRange range("heddle_transfer");
    return answer([&] {
        return n == 1 && asked && is_one(*asked) ? transfer_one(*asked)
                                                 : transfer_several(asked, n);
    });
}

Error heddle::gpu::begin_transfer(std::span<const heddle_move> asked, std::span<const Known> known,
                                  heddle_request **request)
{
    return Error::of(begin(asked, known, false, request));
}

Error heddle::gpu::begin_fold(Device &device, const Fold &fold, heddle_request **request)
{
    auto begun = std::make_unique<heddle_request>();
    if (const Error e = begin_fold(device, fold, begun->tasks))
        return e;
    *request = begun->tasks.empty() ? nullptr : begun.release();
    return HEDDLE_SUCCESS;
}

int heddle_transfer_begin(const heddle_move *asked, int64_t n, heddle_request **request)
{
    clear_error_detail();
    if (!request || n < 0 || (n > 0 && !asked))
        return HEDDLE_ERR_ARG;
    return begin({asked, static_cast<size_t>(n)}, {}, true, request);
}

int heddle_test(heddle_request **request, int *done)
{
    clear_error_detail();
    if (!request || !done)
        return HEDDLE_ERR_ARG;
    if (!*request) {
        *done = 1;
        return HEDDLE_SUCCESS;
    }
    if (heddle_request::is_freed(*request))
        return HEDDLE_ERR_FREED;
    return answer([&] {
        heddle_request &r = **request;
        const Error e = r.tasks.progress();
        if (e && !r.error) {
            r.error = e;
            r.detail = heddle_error_detail();
        }
        *done = r.tasks.empty();
        if (!*done)
            return Error{HEDDLE_SUCCESS};
        const std::unique_ptr<heddle_request> ended(std::exchange(*request, nullptr));
        if (ended->error)
            set_error_detail(ended->detail.c_str());
        return ended->error;
    });
}

int heddle_wait(heddle_request **request)
{
    clear_error_detail();
    if (!request)
        return HEDDLE_ERR_ARG;
    if (!*request)
        return HEDDLE_SUCCESS;
    if (heddle_request::is_freed(*request))
        return HEDDLE_ERR_FREED;
    const std::unique_ptr<heddle_request> ended(std::exchange(*request, nullptr));
    const ProfilerRange range("heddle_wait");
    return answer([&] {
        const Error e = ended->tasks.wait();
        if (!ended->error)
            return e;
        set_error_detail(ended->detail.c_str());
        return ended->error;
    });
}

int heddle_transfer_on_stream(const heddle_move *asked, int64_t n, void *stream)
{
    const ProfilerRange range("heddle_transfer_on_stream");
    return answer([&] {
        Arena<neighbours_bytes> arena;
        Moves moves(arena.memory());
        if (const Error e = resolve(asked, n, {}, moves))
            return e;
        return moves.empty() ? Error{HEDDLE_SUCCESS} : put_on_stream(moves, stream);
    });
}
