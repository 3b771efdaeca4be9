// SPDX-License-Identifier: BSD-3-Clause
// The C API of transfers on any memory.
#include "error_detail.hpp"
#include "tasks.hpp"

#include "../mpi/datatype/engine/guard.hpp"

using namespace heddle;
using namespace heddle::gpu;

struct heddle_request {
    std::vector<TypeRef> types;
    Tasks tasks; // end before the types that they read
    int error = HEDDLE_SUCCESS;
};

namespace {

// Checks all of them before the first byte moves.
int resolve(const heddle_move *asked, int64_t n, std::vector<Move> &moves)
{
    if (n < 0 || (n > 0 && !asked))
        return HEDDLE_ERR_ARG;
    Devices *const devices = Devices::open();
    moves.reserve(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) {
        Move move;
        if (const int e = check_move(asked[i], move))
            return e;
        if (move.bytes > 0 && move.op != HEDDLE_OP_NO_OP)
            resolve_move(move, devices, moves);
    }
    return HEDDLE_SUCCESS;
}

// Begins the moves that need more than one launch, does the host's, and leaves the others in `direct`.
int begin_move(const Move &move, std::vector<Direct> &direct, Tasks &tasks)
{
    Direct d{&move, Method::host, {}};
    if (move.device)
        if (const int e = make_work(move, d.work))
            return e;
    d.method = choose_method(move, move.device ? &d.work : nullptr);
    switch (d.method) {
    case Method::host:
        host_move(move.from, move.to, move.bytes, move.op, move.basic);
        return HEDDLE_SUCCESS;
    case Method::staged:
        tasks.add(begin_staged(move, *Devices::open()));
        return HEDDLE_SUCCESS;
    case Method::combined:
        tasks.add(begin_combined(move, *Devices::open()));
        return HEDDLE_SUCCESS;
    case Method::chunked: {
        std::unique_ptr<Task> task;
        if (const int e = begin_chunked(move, task))
            return e;
        if (task) {
            tasks.add(std::move(task));
            return HEDDLE_SUCCESS;
        }
        d.method = Method::kernel; // no slab to be had: straight to the host
        break;
    }
    default:
        break;
    }
    direct.push_back(std::move(d));
    return HEDDLE_SUCCESS;
}

// One launch for each device's moves.
int begin_all(std::vector<Direct> &direct, Tasks &tasks)
{
    std::stable_sort(direct.begin(), direct.end(),
                     [](const Direct &a, const Direct &b) { return a.move->device < b.move->device; });
    for (size_t i = 0; i < direct.size();) {
        size_t end = i + 1;
        while (end < direct.size() && direct[end].move->device == direct[i].move->device)
            ++end;
        if (const int e = begin_direct(*direct[i].move->device, {&direct[i], end - i}, tasks))
            return e;
        i = end;
    }
    return HEDDLE_SUCCESS;
}

int begin_moves(const std::vector<Move> &moves, Tasks &tasks)
{
    std::vector<Direct> direct;
    direct.reserve(moves.size());
    int error = HEDDLE_SUCCESS;
    for (const Move &move : moves)
        if (!error)
            error = begin_move(move, direct, tasks);
    return error ? error : begin_all(direct, tasks);
}

} // namespace

int heddle_transfer(const heddle_move *asked, int64_t n)
{
    clear_error_detail();
    return guard([&] {
        std::vector<Move> moves;
        Tasks tasks;
        if (const int e = resolve(asked, n, moves))
            return e;
        const int begun = begin_moves(moves, tasks);
        const int ended = tasks.wait();
        return begun ? begun : ended;
    });
}

int heddle_transfer_begin(const heddle_move *asked, int64_t n, heddle_request **request)
{
    clear_error_detail();
    if (!request)
        return HEDDLE_ERR_ARG;
    return guard([&] {
        std::vector<Move> moves;
        if (const int e = resolve(asked, n, moves))
            return e;
        auto begun = std::make_unique<heddle_request>();
        if (const int e = begin_moves(moves, begun->tasks))
            return e;
        if (begun->tasks.empty()) {
            *request = nullptr;
            return int{HEDDLE_SUCCESS};
        }
        for (const Move &move : moves) {
            begun->types.emplace_back(move.from.type);
            begun->types.emplace_back(move.to.type);
        }
        *request = begun.release();
        return int{HEDDLE_SUCCESS};
    });
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
    return guard([&] {
        heddle_request &r = **request;
        const int e = r.tasks.progress();
        r.error = r.error ? r.error : e;
        *done = r.tasks.empty();
        if (!*done)
            return int{HEDDLE_SUCCESS};
        const std::unique_ptr<heddle_request> ended(std::exchange(*request, nullptr));
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
    const std::unique_ptr<heddle_request> ended(std::exchange(*request, nullptr));
    return guard([&] {
        const int e = ended->tasks.wait();
        return ended->error ? ended->error : e;
    });
}

int heddle_transfer_on_stream(const heddle_move *asked, int64_t n, void *stream)
{
    clear_error_detail();
    return guard([&] {
        std::vector<Move> moves;
        if (const int e = resolve(asked, n, moves))
            return e;
        return moves.empty() ? int{HEDDLE_SUCCESS} : put_on_stream(moves, stream);
    });
}
