// SPDX-License-Identifier: BSD-3-Clause
// Moves on a stream of the caller's: launched and left alone. The images that their kernels read
// must stay until the stream has passed them, though the caller may release the types at once
// (deferred.hpp).
#include "gpu/image/device_image.hpp"
#include "gpu/transfer/task.hpp"

namespace heddle::gpu {

namespace {

// Whether a stream of `device` can do the move: one of the ends must be on that device, if any is
// on one.
Error place_on(Move &move, Device &device)
{
    bool elsewhere = false, here = false;
    for (const Place *m : {&move.from.memory, &move.to.memory}) {
        if (m->kind == MemoryKind::host)
            return HEDDLE_ERR_BUFFER;
        if (!m->is_reached_by(device.ordinal(), device.backend()))
            return HEDDLE_ERR_STREAM;
        if (m->kind == MemoryKind::device)
            (m->touches(device.ordinal()) ? here : elsewhere) = true;
    }
    if (elsewhere && !here)
        return HEDDLE_ERR_STREAM;
    if (move.op != HEDDLE_OP_REPLACE && !device.backend().combines(move.op, move.basic))
        return HEDDLE_ERR_OP; // the host would have to
    move.device = &device;
    move.on_device = true;
    return HEDDLE_SUCCESS;
}

} // namespace

Error put_on_stream(Moves &moves, Stream stream)
{
    Devices *const devices = Devices::open();
    if (!devices)
        return HEDDLE_ERR_NO_DEVICE;
    int ordinal;
    if (const Error e = devices->backend().stream_device(stream, &ordinal))
        return e;
    Device &device = devices->device(ordinal);

    Choices choices;
    Directs direct(moves.get_allocator());
    direct.reserve(moves.size());
    std::vector<const Move *> by_runs; // what there is no memory for to do better
    for (Move &move : moves) {
        if (const Error e = place_on(move, device))
            return e;
        Direct &d = direct.emplace_back(&move, Method::kernel);
        const Error e = make_work(move, d.work);
        if (e == HEDDLE_ERR_NO_MEMORY && move.op == HEDDLE_OP_REPLACE) {
            by_runs.push_back(&move);
            direct.pop_back();
            continue;
        }
        if (e)
            return e;
        const Choice choice =
            choices.method(move, &d.work, {.alone = moves.size() == 1, .on_stream = true});
        d.method = choice.method;
        d.reason = choice.reason;
        if (d.work.from.shape == Shape::image)
            read_on_stream(*move.from.plan, device);
        if (d.work.to.shape == Shape::image)
            read_on_stream(*move.to.plan, device);
    }
    for (const Move *move : by_runs)
        if (const Error e = copy_by_runs(*move, device, stream))
            return e;
    return launch(device, direct, stream, nullptr, false);
}

} // namespace heddle::gpu
