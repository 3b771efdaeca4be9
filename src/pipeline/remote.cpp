// SPDX-License-Identifier: BSD-3-Clause
// The C API of other processes' memory. It stands on the same caches as gets and puts of messages
// (exports.hpp, imports.hpp): what the one has opened serves the other.
#include "gpu/core/devices.hpp"
#include "gpu/core/error_detail.hpp"
#include "gpu/core/settings.hpp"
#include "pipeline/counters.hpp"
#include "pipeline/limits.hpp"
#include "pipeline/peer_memory/exports.hpp"
#include "pipeline/peer_memory/imports.hpp"
#include "pipeline/peer_memory/memory_file.hpp"
#include "pipeline/peer_memory/process.hpp"
#include "pipeline/protocol/buffer.hpp"

#include <cstring>
#include <iterator>
#include <memory>

using namespace heddle;
using namespace heddle::pipeline;

struct heddle_shared : SharedMemory {};

namespace {

struct Exported {
    uint64_t process;
    int64_t bytes;
    MemoryHandle handle;
};
static_assert(sizeof(Exported) <= sizeof(heddle_exported::internal));

static_assert(sizeof(SharedName) <= sizeof(heddle_shared_name::internal));

bool may_export()
{
    Limits limits;
    limits.peer = gpu::Settings::get().peer;
    return limits.allow(Mode::reference);
}

Error export_memory(const char *at, int64_t bytes, Exported &exported)
{
    gpu::Devices *const devices = gpu::Devices::open();
    if (!devices || !may_export())
        return HEDDLE_ERR_BUFFER;
    const gpu::Memory memory = devices->backend().query(at, true);
    if (memory.kind != gpu::MemoryKind::device || memory.device < 0)
        return HEDDLE_ERR_BUFFER;
    const auto handle = export_own(devices->device(memory.device), memory, at, bytes, 0);
    if (!handle)
        return HEDDLE_ERR_BUFFER;
    exported = {process_id().process, bytes, *handle};
    return HEDDLE_SUCCESS;
}

static_assert(sizeof(Piece) <= sizeof(heddle_piece::internal));

Error take_piece_near(const void *near, int64_t bytes, heddle_piece &its)
{
    gpu::Devices *const devices = gpu::Devices::open();
    gpu::Device *const device = devices && may_export() ? devices->device_of(near) : nullptr;
    if (!device || !can_export(*device, Mode::reference))
        return HEDDLE_ERR_BUFFER;
    Piece piece;
    if (const Error e =
            take_piece(*device, Mode::reference, static_cast<size_t>(bytes), false, piece))
        return e == HEDDLE_ERR_NO_MEMORY ? e : Error(HEDDLE_ERR_BUFFER);
    const Exported exported{process_id().process, bytes, piece.handle()};
    its = {};
    its.at = piece.at;
    its.allocation = exported.handle.place.allocation;
    its.offset = static_cast<int64_t>(exported.handle.place.at);
    std::memcpy(its.exported.internal, &exported, sizeof exported);
    std::memcpy(its.internal, &piece, sizeof piece);
    return HEDDLE_SUCCESS;
}

// The one that a buffer's data are moved by; of host memory, one that is in use.
gpu::Device *device_near(gpu::Devices &devices, const heddle_buffer *near)
{
    Buffer buffer;
    if (read_buffer(near, buffer) && buffer.device())
        return buffer.device();
    if (gpu::Device *const used = devices.first_in_use())
        return used;
    return devices.count() > 0 ? &devices.device(0) : nullptr;
}

Error import_memory(const Exported &exported, const heddle_buffer *near, Import &import)
{
    gpu::Devices *const devices = gpu::Devices::open();
    gpu::Device *const device = devices ? device_near(*devices, near) : nullptr;
    if (!device)
        return HEDDLE_ERR_NO_DEVICE;
    const Importer importer{*device, exported.process, Mode::reference};
    if (importer.is_closed(true))
        return HEDDLE_ERR_BUFFER;
    return importer.open(exported.handle, exported.bytes, import);
}

// In the order of heddle_access.
WayCount accesses[] = {{"by_message", "bytes_by_message"},
                       {"direct", "bytes_direct"},
                       {"in_chunks", "bytes_in_chunks"}};
static_assert(std::size(accesses) == HEDDLE_ACCESS_IN_CHUNKS + 1);

const gpu::Source source([](gpu::Counts &counts) {
    for (const int way : {HEDDLE_ACCESS_DIRECT, HEDDLE_ACCESS_IN_CHUNKS, HEDDLE_ACCESS_BY_MESSAGE})
        accesses[way].tell(counts, "windows",
                           "one-sided operations from or to device memory by the way they took");
});

// A handle for what `fill` makes of it, if the arguments are right.
template <class Handle, class F> int make_handle(bool are_right, Handle **handle, F &&fill)
{
    if (!are_right || !handle)
        return HEDDLE_ERR_ARG;
    return gpu::answer([&] {
        auto made = std::make_unique<Handle>();
        const Error e = fill(*made);
        if (!e)
            *handle = made.release();
        return e;
    });
}

} // namespace

int heddle_export(const void *at, int64_t bytes, heddle_exported *exported)
{
    if (!at || bytes <= 0 || !exported)
        return HEDDLE_ERR_ARG;
    return gpu::answer([&]() -> Error {
        Exported made;
        if (const Error e = export_memory(static_cast<const char *>(at), bytes, made))
            return e;
        *exported = {};
        std::memcpy(exported->internal, &made, sizeof made);
        return HEDDLE_SUCCESS;
    });
}

int heddle_piece_take(int64_t bytes, const void *near, heddle_piece *piece)
{
    if (bytes <= 0 || !near || !piece)
        return HEDDLE_ERR_ARG;
    return gpu::answer([&] { return take_piece_near(near, bytes, *piece); });
}

void heddle_piece_give_back(const heddle_piece *piece)
{
    Piece its;
    if (!piece)
        return;
    std::memcpy(static_cast<void *>(&its), piece->internal, sizeof its);
    give_back(its);
}

int heddle_import_open(const heddle_exported *exported, const heddle_buffer *near,
                       heddle_import **import)
{
    return make_handle(exported, import, [&](Import &made) {
        Exported its;
        std::memcpy(static_cast<void *>(&its), exported->internal, sizeof its);
        return import_memory(its, near, made);
    });
}

void *heddle_import_address(const heddle_import *import) { return import ? import->at : nullptr; }

void heddle_import_release(heddle_import *import) { delete import; }

int heddle_shared_make(int64_t bytes, heddle_shared_name *name, heddle_shared **shared)
{
    return make_handle(bytes > 0 && name, shared, [&](SharedMemory &made) -> Error {
        if (const Error e = made.make(static_cast<size_t>(bytes), "heddle-window"))
            return e;
        const SharedName its = made.name();
        *name = {};
        std::memcpy(name->internal, &its, sizeof its);
        return HEDDLE_SUCCESS;
    });
}

int heddle_shared_open(const heddle_shared_name *name, heddle_shared **shared)
{
    return make_handle(name, shared, [&](SharedMemory &made) {
        SharedName its;
        std::memcpy(&its, name->internal, sizeof its);
        return made.open(its);
    });
}

void heddle_shared_opened(heddle_shared *shared)
{
    if (shared)
        shared->close_file();
}

void *heddle_shared_address(const heddle_shared *shared) { return shared ? shared->at() : nullptr; }

void heddle_shared_close(heddle_shared *shared) { delete shared; }

void heddle_access_count(int access, int64_t bytes)
{
    if (access >= 0 && access <= HEDDLE_ACCESS_IN_CHUNKS)
        accesses[access].add(bytes);
}
