// SPDX-License-Identifier: BSD-3-Clause
// All memory that the simulated devices know of: theirs, managed, pinned, and what other processes
// export.
#pragma once

#include "gpu/core/backend.hpp"
#include "gpu/sim/error.hpp"

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <vector>

namespace heddle::gpu::sim {

// Who asked for it, and so who may free it.
enum class Origin : uint8_t { program, slab, registered, imported };

// A stretch of memory at `begin` as the program names it. The devices' threads find its bytes at
// `real`.
struct Range {
    MemoryKind kind = MemoryKind::host;
    int device = -1;
    uintptr_t begin = 0;
    size_t size = 0;
    std::byte *real = nullptr;
    uint64_t id = 0;
    bool closed = false; // to other devices
    bool imported = false;

    bool holds(uintptr_t address, size_t bytes) const
    {
        return address >= begin && bytes <= size && address - begin <= size - bytes;
    }
    std::byte *at(uintptr_t address) const { return real + (address - begin); }
};

// The memory of one device: a file in memory, mapped once without access, for its addresses, and
// once to be read and written. Both mappings stay until the process ends. Pages exist once they are
// touched.
class Arena {
public:
    static std::unique_ptr<Arena> make(Fault &error);
    ~Arena();

    // An offset, with a gap behind the bytes so that no two allocations touch.
    std::optional<size_t> take(size_t bytes);
    void give_back(size_t offset, size_t bytes);

    int file() const { return file_; }
    uintptr_t program() const { return program_; }
    std::byte *real() const { return real_; }

private:
    Arena() = default;

    int file_ = -1;
    uintptr_t program_ = 0;
    std::byte *real_ = nullptr;
    std::map<size_t, size_t> free_; // offset, bytes
};

// The other devices that a device can reach.
enum class Peers : uint8_t {
    none,
    all,
    next, // of the ordinals beside its own
    pools // all, but for every second allocation of the program's, as if that were of a pool
};

class Memories {
public:
    Memories(int devices, Peers peers) : peers_(peers), devices_(static_cast<size_t>(devices)) {}

    int devices() const { return static_cast<int>(devices_.size()); }
    bool can_reach(int device, int peer) const;
    // As with CUDA, a kernel reaches what was opened for its device, which opens nothing the other
    // way.
    bool open_peer(int device, int peer) const;
    bool reaches(int device, int peer) const;

    // `limit`: most bytes of slabs of that kind; -1: none.
    Fault allocate(MemoryKind kind, int device, size_t bytes, Origin origin, int64_t limit,
                   void **ptr);
    Fault free(void *ptr, Origin origin);
    Fault add_registered(int device, void *ptr, size_t bytes);

    std::optional<Range> find(uintptr_t address) const;
    // Whether one end of the range lies in pinned memory, and not all of it.
    bool is_pinned_in_part(const void *ptr, size_t bytes) const;
    // Its real place where the whole range lies in one allocation or in none, else null.
    std::byte *look(const void *ptr, size_t bytes) const;

    Fault export_to(int device, const void *ptr, unsigned char handle[Backend::handle_bytes]) const;
    Fault import_from(int device, const unsigned char handle[Backend::handle_bytes], void **ptr);
    Fault close_imported(void *ptr);

private:
    struct Handle;
    struct Block : Range {
        Origin origin = Origin::program;
        std::shared_ptr<void> storage; // what goes with it
        int uses = 1;                  // imported: how often
        uintptr_t handed_out = 0;      // imported: the address within that was exported
        std::vector<unsigned char> handle;
    };
    struct DeviceState {
        std::unique_ptr<Arena> arena; // made at first use
        int64_t slab_bytes = 0;
    };

    const Block *block_at(uintptr_t address) const; // null where there is none
    Fault make_device_block(Block &block, size_t bytes);
    int64_t &slab_bytes(const Range &range);

    static constexpr size_t most_devices = 8;

    const Peers peers_;
    // by device and peer
    mutable std::array<std::array<std::atomic<bool>, most_devices>, most_devices> opened_{};
    mutable std::shared_mutex mutex_; // guards all below
    std::vector<DeviceState> devices_;
    int64_t pinned_slab_bytes_ = 0;
    std::map<uintptr_t, Block> blocks_;
    uint64_t made_ = 0; // blocks
    uint64_t made_of_program_ = 0;
};

} // namespace heddle::gpu::sim
