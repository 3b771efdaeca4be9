// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/peer_memory/imports.hpp"

#include "engine/immortal.hpp"
#include "gpu/core/log.hpp"
#include "gpu/core/settings.hpp"
#include "pipeline/peer_memory/exports.hpp"
#include "pipeline/peer_memory/memory_file.hpp"
#include "pipeline/peer_memory/process.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

namespace heddle::pipeline {

namespace {

// Of a sender's own so many are kept open whatever their size, and more while they are not too
// large in all: their owner may have freed them.
constexpr size_t own_of_any_size = 16;
constexpr uint64_t most_own_bytes = uint64_t{4} << 30;
// What is open of memory that its owner has freed is in the way of opening what the owner was given
// at the same addresses since (cudaErrorAlreadyMapped). Small allocations share a block of this
// many bytes, which is what is opened.
constexpr uint64_t block_bytes = 2 << 20;

// An allocation of another process.
class Opened {
public:
    explicit Opened(const Importer &by) : device_(by.device), mode_(by.mode) {}
    Opened(const Opened &) = delete;
    ~Opened()
    {
        if (at_ && mode_ != Mode::shared)
            static_cast<void>(device_.backend().close_memory(device_.ordinal(), at_));
    }
    Error open(const unsigned char *key)
    {
        if (mode_ == Mode::shared) {
            const Error e = shared_.open(device_, key);
            at_ = shared_.at();
            bytes_ = shared_.bytes();
            return e;
        }
        void *at = nullptr;
        if (const Error e = device_.backend().import_memory(device_.ordinal(), key, &at))
            return e;
        at_ = static_cast<char *>(at);
        memory_ = device_.backend().query(at_, true);
        if (memory_.base)
            bytes_ = memory_.size - static_cast<size_t>(at_ - memory_.base);
        return HEDDLE_SUCCESS;
    }
    const gpu::Memory &memory() const { return memory_; }
    // Null where it does not reach so far.
    char *find(uint64_t at, int64_t bytes) const
    {
        return !bytes_ || is_within(bytes_, at, bytes) ? at_ + at : nullptr;
    }

private:
    gpu::Device &device_;
    const Mode mode_;
    SharedMemory shared_; // if it is the host's
    char *at_ = nullptr;
    size_t bytes_ = 0; // 0: not known
    gpu::Memory memory_;
};
using OpenedPtr = std::shared_ptr<const Opened>;

// One that is open.
struct Known {
    uint64_t used = 0; // the later, the higher
    uint64_t base = 0; // at its owner
    uint64_t size = 0;
    OpenedPtr opened;

    // Lies in some of the same blocks.
    bool meets(const MemoryHandle &handle, uint64_t block) const
    {
        return base / block <= (handle.base + handle.size - 1) / block &&
               handle.base / block <= (base + size - 1) / block;
    }
};

// What a device has open of a process.
struct Peer {
    // By allocation: what is a caller's own stands behind what is in pools (callers_own).
    std::map<uint64_t, Known> all;
    std::array<bool, modes + 1> closed{}; // the pool's by mode, then callers' own
    uint64_t uses = 0;

    auto own() { return all.lower_bound(callers_own); }

    OpenedPtr find(const Place &place)
    {
        const auto known = all.find(place.allocation);
        if (known == all.end())
            return nullptr;
        known->second.used = ++uses;
        return known->second.opened;
    }

    // What is open stays in being, even if its owner has freed it: so what is a caller's own is not
    // kept for ever.
    void keep(const MemoryHandle &handle, const OpenedPtr &opened)
    {
        all[handle.place.allocation] = {++uses, handle.base, handle.size, opened};
        uint64_t bytes = 0;
        for (auto each = own(); each != all.end(); ++each)
            bytes += each->second.size;
        for (auto n = static_cast<size_t>(std::distance(own(), all.end()));
             n > gpu::Settings::get().message_open ||
             (n > own_of_any_size && bytes > most_own_bytes);
             --n) {
            const auto oldest =
                std::min_element(own(), all.end(), [](const auto &a, const auto &b) {
                    return a.second.used < b.second.used;
                });
            bytes -= oldest->second.size;
            all.erase(oldest);
        }
    }
};

struct Imports {
    std::mutex mutex;
    std::atomic<bool> any_closed{false};
    std::map<std::pair<int, uint64_t>, Peer> peers; // by the device that reads and the exporter

    Peer &of(const Importer &by) { return peers[{by.device.ordinal(), by.process}]; }

    // Closes what its owner must have freed, for `handle` is of another allocation in the same
    // blocks of so many bytes. Whether there was any.
    bool forget_freed(uint64_t process, const MemoryHandle &handle, uint64_t block)
    {
        size_t n = 0;
        for (auto &[who, peer] : peers)
            if (who.second == process && handle.size > 0) // it is not the host's
                n += std::erase_if(peer.all, [&](const auto &each) {
                    return each.first >= callers_own && each.second.meets(handle, block);
                });
        return n > 0;
    }

    Error open(const Importer &by, const MemoryHandle &handle, OpenedPtr &opened)
    {
        const auto made = std::make_shared<Opened>(by);
        forget_freed(by.process, handle, 1);
        Error e = made->open(handle.key);
        if (e && forget_freed(by.process, handle, block_bytes))
            e = made->open(handle.key);
        if (!e)
            opened = made;
        if (gpu::logs(gpu::Topic::memory))
            gpu::log_line(gpu::Topic::memory, "device %d: %llu bytes of pid %d: %s",
                          by.device.ordinal(), static_cast<unsigned long long>(handle.size),
                          number_of(by.process), e ? heddle_error_detail() : "opened");
        return e;
    }
};

// Whether it reaches so far.
bool take(OpenedPtr opened, const Place &place, int64_t bytes, Import &import)
{
    if (!opened)
        return false;
    import.at = opened->find(place.at, bytes);
    import.memory = &opened->memory();
    import.open = std::move(opened);
    return import.at;
}

} // namespace

Error Importer::open(const MemoryHandle &handle, int64_t bytes, Import &import) const
{
    const Error e = try_open(handle, bytes, import);
    if (e)
        remember_closed(handle, e);
    return e;
}

void Importer::remember_closed(const MemoryHandle &handle, Error error) const
{
    if (error == HEDDLE_ERR_NO_MEMORY || error == HEDDLE_ERR_RANGE)
        return;
    Imports &imports = immortal<Imports>();
    const std::lock_guard lock(imports.mutex);
    imports.of(*this).closed[handle.place.is_own() ? modes : static_cast<size_t>(mode)] =
        imports.any_closed = true;
}

// Opening takes long, and is done under the lock so that it is done once.
Error Importer::try_open(const MemoryHandle &handle, int64_t bytes, Import &import) const
{
    if (process == process_id().process)
        return find(handle.place, bytes, import) ? HEDDLE_SUCCESS : HEDDLE_ERR_RANGE;
    Imports &imports = immortal<Imports>();
    const std::lock_guard lock(imports.mutex);
    Peer &peer = imports.of(*this);
    OpenedPtr opened = peer.find(handle.place);
    if (!opened) {
        if (const Error e = imports.open(*this, handle, opened))
            return e;
        peer.keep(handle, opened);
    }
    return take(std::move(opened), handle.place, bytes, import) ? HEDDLE_SUCCESS : HEDDLE_ERR_RANGE;
}

bool Importer::find(const Place &place, int64_t bytes, Import &import) const
{
    if (process == process_id().process) {
        import.at = find_exported(place, bytes);
        return import.at;
    }
    Imports &imports = immortal<Imports>();
    const std::lock_guard lock(imports.mutex);
    return take(imports.of(*this).find(place), place, bytes, import);
}

bool Importer::is_closed(bool own) const
{
    Imports &imports = immortal<Imports>();
    if (!imports.any_closed.load(std::memory_order_relaxed))
        return false;
    const std::lock_guard lock(imports.mutex);
    const Peer &peer = imports.of(*this);
    return peer.closed[static_cast<size_t>(mode)] || (own && peer.closed[modes]);
}

void close_imports(uint64_t process)
{
    Imports &imports = immortal<Imports>();
    const std::lock_guard lock(imports.mutex);
    std::erase_if(imports.peers, [=](const auto &each) { return each.first.second == process; });
}

} // namespace heddle::pipeline
