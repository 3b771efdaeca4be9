// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/peer_memory/exports.hpp"

#include "engine/immortal.hpp"
#include "gpu/api/scratch.hpp"
#include "gpu/core/counters.hpp"
#include "gpu/core/log.hpp"
#include "gpu/core/settings.hpp"
#include "pipeline/peer_memory/memory_file.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace heddle::pipeline {

namespace {

// ---- a caller's own ----

// A message that is read where it lies takes some 9 us less than a short one through the host's
// memory, and opening an allocation 0.1 ms, however long either is (H200).
constexpr int64_t least_counted = 4096;
// What was freed is not heard of; so no more are kept than are likely to be in use. For each that
// one receiver keeps open (HEDDLE_MESSAGE_OPEN) so many are known here, some 150 bytes each.
constexpr size_t known_for_each_open = 16;

struct Exported {
    int64_t sent = 0;   // bytes of messages out of it
    bool asked = false; // for a key
    bool opens = false; // it has one
    MemoryHandle handle;
};

void log_export(const gpu::Device &device, size_t bytes, bool fails)
{
    if (gpu::logs(gpu::Topic::memory))
        gpu::log_line(gpu::Topic::memory, "device %d: %zu bytes for other processes: %s",
                      device.ordinal(), bytes, fails ? heddle_error_detail() : "exported");
}

struct Exports {
    std::mutex mutex;
    std::map<uint64_t, Exported> all; // by the allocation's number
};

// ---- the pool ----

// Few sizes, so that little is exported and opened.
struct Size {
    size_t piece;
    size_t pieces; // in an allocation

    size_t bytes() const { return piece * pieces; }
};
constexpr Size sizes[] = {{size_t{64} << 10, 64}, {size_t{1} << 20, 16}, {size_t{8} << 20, 4}};

Size size_for(size_t bytes)
{
    for (const Size &size : sizes)
        if (bytes <= size.piece)
            return size;
    return {std::bit_ceil(bytes), 1};
}

} // namespace

// One allocation.
struct PoolMemory {
    gpu::Device &device;
    const Mode mode;
    const Size size;
    gpu::Slab slab{};      // the device's
    SharedMemory shared{}; // or the host's
    gpu::Memory memory{};
    MemoryHandle handle{};      // of its beginning
    std::vector<char *> idle{}; // room for all of them

    char *at() const { return mode == Mode::shared ? shared.at() : slab.at(); }
    Error make()
    {
        return mode == Mode::shared ? shared.make(size.bytes())
                                    : device.memory.take_apart(size.bytes(), slab);
    }
    // Lets others find it, under that number.
    Error publish(uint64_t number)
    {
        handle.place.allocation = number;
        if (mode == Mode::reference) {
            handle.base = reinterpret_cast<uintptr_t>(at());
            handle.size = size.bytes();
        }
        for (size_t i = size.pieces; i > 0; --i)
            idle.push_back(at() + (i - 1) * size.piece);
        const Error e = mode == Mode::shared
                            ? shared.publish(device, handle.key)
                            : device.backend().export_memory(device.ordinal(), at(), handle.key);
        memory = device.backend().query(at(), true);
        return e;
    }
    Piece take()
    {
        char *const at = idle.back();
        idle.pop_back();
        return {this, at};
    }
};

namespace {

struct Pool {
    std::mutex mutex;
    std::vector<std::unique_ptr<PoolMemory>> all;
    std::set<std::pair<const gpu::Device *, Mode>> closed; // what cannot be exported
    std::atomic<bool> any_closed{false};
};

Error make(Pool &pool, gpu::Device &device, Mode mode, const Size &size)
{
    std::unique_ptr<PoolMemory> made(new PoolMemory{device, mode, size});
    const Error not_made = made->make();
    const Error e = not_made ? not_made : made->publish(pool.all.size() + 1);
    log_export(device, size.bytes(), static_cast<bool>(e));
    // Memory that ran out may be there another time; devices say it in whatever words.
    const bool may_pass = e == HEDDLE_ERR_NO_MEMORY || (not_made && mode == Mode::reference);
    if (!e) {
        pool.all.push_back(std::move(made));
    } else if (!may_pass) {
        pool.closed.insert({&device, mode});
        pool.any_closed = true;
    }
    return e;
}

int64_t held_bytes(Mode mode)
{
    Pool &pool = immortal<Pool>();
    const std::lock_guard lock(pool.mutex);
    size_t bytes = 0;
    for (const auto &each : pool.all)
        bytes += each->mode == mode ? each->size.bytes() : 0;
    return static_cast<int64_t>(bytes);
}

const gpu::Source held([](gpu::Counts &counts) {
    const char *const description = "bytes of staging memory that are held";
    counts.push_back({"slabs", "exported_device", description, held_bytes(Mode::reference), true});
    counts.push_back({"slabs", "exported_shared", description, held_bytes(Mode::shared), true});
});

} // namespace

char *find_exported(const Place &place, int64_t bytes)
{
    if (bytes < 0)
        return nullptr;
    if (place.is_own()) {
        Exports &own = immortal<Exports>();
        const std::lock_guard lock(own.mutex);
        const auto its = own.all.find(place.allocation & ~callers_own);
        return its != own.all.end() && is_within(its->second.handle.size, place.at, bytes)
                   ? reinterpret_cast<char *>(its->second.handle.base + place.at)
                   : nullptr;
    }
    Pool &pool = immortal<Pool>();
    const std::lock_guard lock(pool.mutex);
    const uint64_t i = place.allocation - 1;
    return i < pool.all.size() && is_within(pool.all[i]->size.bytes(), place.at, bytes)
               ? pool.all[i]->at() + place.at
               : nullptr;
}

std::optional<MemoryHandle> export_own(gpu::Device &device, const gpu::Memory &memory,
                                       const char *at, int64_t bytes, int64_t least)
{
    if (memory.kind != gpu::MemoryKind::device || memory.device != device.ordinal() || !memory.id ||
        !memory.base || !is_within(memory.size, static_cast<uint64_t>(at - memory.base), bytes) ||
        gpu::is_temporary(memory.base)) // receivers would keep it open, and so in being, long after
        return std::nullopt;
    Exports &own = immortal<Exports>();
    const std::lock_guard lock(own.mutex);
    const size_t most = known_for_each_open * gpu::Settings::get().message_open;
    if (own.all.size() >= most && !own.all.contains(memory.id))
        if (std::erase_if(own.all, [](const auto &each) { return !each.second.opens; }) == 0)
            own.all.clear();
    Exported &its = own.all[memory.id];
    its.handle.place.allocation = memory.id | callers_own;
    its.handle.base = reinterpret_cast<uintptr_t>(memory.base);
    its.handle.size = memory.size;
    its.sent += std::min(std::max(bytes, least_counted), INT64_MAX - its.sent);
    if (its.sent >= least && !its.asked) {
        const Error e =
            device.backend().export_memory(device.ordinal(), memory.base, its.handle.key);
        its.opens = !e;
        its.asked = e != HEDDLE_ERR_NO_MEMORY; // there may be some another time
        log_export(device, memory.size, !its.opens);
    }
    if (!its.opens)
        return std::nullopt;
    MemoryHandle handle = its.handle;
    handle.place.at = static_cast<uint64_t>(at - memory.base);
    return handle;
}

MemoryHandle Piece::handle() const
{
    MemoryHandle handle = pool->handle;
    handle.place.at = static_cast<uint64_t>(at - pool->at());
    return handle;
}

const gpu::Memory &Piece::memory() const { return pool->memory; }

Error take_piece(gpu::Device &device, Mode mode, size_t bytes, bool beyond, Piece &piece)
{
    Pool &pool = immortal<Pool>();
    const std::lock_guard lock(pool.mutex);
    const Size size = size_for(bytes);
    PoolMemory *larger = nullptr; // the least that has room
    size_t held = 0;
    for (const auto &each : pool.all) {
        if (&each->device != &device || each->mode != mode)
            continue;
        if (each->size.piece == size.piece && !each->idle.empty())
            return piece = each->take(), HEDDLE_SUCCESS;
        if (each->size.piece > size.piece && !each->idle.empty() &&
            (!larger || each->size.piece < larger->size.piece))
            larger = each.get();
        held += std::max(each->size.bytes(), each->slab.bytes());
    }
    if (pool.closed.contains({&device, mode}))
        return HEDDLE_ERR_DEVICE;
    const bool is_first = held == 0 && size.pieces > 1; // messages need something
    if (!beyond && !is_first && held + size.bytes() > gpu::Settings::get().slab_limit) {
        if (!larger)
            return HEDDLE_ERR_NO_MEMORY;
        return piece = larger->take(), HEDDLE_SUCCESS;
    }
    const Error e = make(pool, device, mode, size);
    if (!e)
        piece = pool.all.back()->take();
    return e;
}

void give_back(const Piece &piece)
{
    const std::lock_guard lock(immortal<Pool>().mutex);
    piece.pool->idle.push_back(piece.at);
}

bool can_export(const gpu::Device &device, Mode mode)
{
    Pool &pool = immortal<Pool>();
    if (!pool.any_closed.load(std::memory_order_relaxed))
        return true;
    const std::lock_guard lock(pool.mutex);
    return !pool.closed.contains({&device, mode});
}

} // namespace heddle::pipeline
