// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/sim/memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace heddle::gpu::sim {
namespace {

constexpr size_t page = 4096;
constexpr auto alignment = std::align_val_t{256};

uintptr_t address_of(const void *ptr) { return reinterpret_cast<uintptr_t>(ptr); }

// A mapping of another process's file.
class Mapping {
public:
    Mapping(int file, off_t offset, size_t bytes, int access)
        : at_(mmap(nullptr, bytes, access, MAP_SHARED, file, offset)), bytes_(bytes)
    {
    }
    Mapping(const Mapping &) = delete;
    Mapping &operator=(const Mapping &) = delete;
    ~Mapping()
    {
        if (valid())
            munmap(at_, bytes_);
    }
    bool valid() const { return at_ != MAP_FAILED; }
    std::byte *at() const { return static_cast<std::byte *>(at_); }

private:
    void *at_;
    size_t bytes_;
};

struct Views {
    Views(int file, off_t offset, size_t bytes)
        : program(file, offset, bytes, PROT_NONE), real(file, offset, bytes, PROT_READ | PROT_WRITE)
    {
    }
    Mapping program, real;
};

class File {
public:
    explicit File(const std::string &path) : number_(open(path.c_str(), O_RDWR | O_CLOEXEC)) {}
    File(const File &) = delete;
    File &operator=(const File &) = delete;
    ~File()
    {
        if (number_ >= 0)
            close(number_);
    }
    int number() const { return number_; }

private:
    int number_;
};

uint64_t inode_of(int file)
{
    struct stat status;
    return fstat(file, &status) == 0 ? status.st_ino : 0;
}

} // namespace

// What another process needs to find the memory: a file of this process, and where in it.
struct Memories::Handle {
    static constexpr uint64_t right_magic = 0x6d69732d656c6468; // "hdle-sim"
    uint64_t magic = right_magic;
    uint64_t inode = 0;
    uint64_t offset = 0;
    uint64_t size = 0;
    uint64_t within = 0;
    int32_t process = 0;
    int32_t file = 0;
    int32_t device = 0;
    int32_t unused = 0;
    uint64_t id = 0; // of the allocation

    // Other memory at some of the same addresses, of which one must have been freed.
    bool collides(const Handle &other) const
    {
        return inode == other.inode && id != other.id && offset < other.offset + other.size &&
               other.offset < offset + size;
    }
};

bool Memories::can_reach(int device, int peer) const
{
    return device == peer || peers_ == Peers::all || peers_ == Peers::pools ||
           (peers_ == Peers::next && std::abs(device - peer) == 1);
}

bool Memories::open_peer(int device, int peer) const
{
    const bool can = can_reach(device, peer);
    if (can)
        opened_[static_cast<size_t>(device)][static_cast<size_t>(peer)] = true;
    return can;
}

bool Memories::reaches(int device, int peer) const
{
    return device == peer || opened_[static_cast<size_t>(device)][static_cast<size_t>(peer)];
}

int64_t &Memories::slab_bytes(const Range &range)
{
    return range.kind == MemoryKind::device ? devices_[static_cast<size_t>(range.device)].slab_bytes
                                            : pinned_slab_bytes_;
}

Fault Memories::make_device_block(Block &block, size_t bytes)
{
    DeviceState &device = devices_[static_cast<size_t>(block.device)];
    if (!device.arena) {
        Fault error;
        device.arena = Arena::make(error);
        if (!device.arena)
            return error;
    }
    const auto offset = device.arena->take(bytes);
    if (!offset)
        return {HEDDLE_ERR_NO_MEMORY, "sim: the device's memory is full"};
    block.begin = device.arena->program() + *offset;
    block.real = device.arena->real() + *offset;
    return {};
}

namespace {

std::shared_ptr<void> ordinary(size_t bytes)
{
    return {::operator new(bytes, alignment, std::nothrow),
            [](void *p) { ::operator delete(p, alignment); }};
}

// A driver's memory never lies in a program's heap.
std::shared_ptr<void> mapped(size_t bytes)
{
    void *const at =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return nullptr;
    return {at, [bytes](void *p) { munmap(p, bytes); }};
}

} // namespace

Fault Memories::allocate(MemoryKind kind, int device, size_t bytes, Origin origin, int64_t limit,
                         void **ptr)
{
    if (device < 0 || device >= devices())
        return {HEDDLE_ERR_ARG, "sim: no such device"};
    bytes = std::max<size_t>(bytes, 1);
    Block block;
    block.kind = kind;
    block.device = device;
    block.size = bytes;
    block.origin = origin;
    if (kind != MemoryKind::device) {
        block.storage = kind == MemoryKind::managed ? mapped(bytes) : ordinary(bytes);
        if (!block.storage)
            return {HEDDLE_ERR_NO_MEMORY, "sim: out of memory"};
        block.begin = address_of(block.storage.get());
        block.real = static_cast<std::byte *>(block.storage.get());
    }
    const std::unique_lock lock(mutex_);
    if (origin == Origin::slab) {
        const int64_t used = slab_bytes(block);
        if (limit >= 0 &&
            (bytes > static_cast<size_t>(limit) || used > limit - static_cast<int64_t>(bytes)))
            return {HEDDLE_ERR_NO_MEMORY, "sim: out of memory, as asked"};
    }
    if (kind == MemoryKind::device)
        if (Fault error = make_device_block(block, bytes))
            return error;
    if (origin == Origin::slab)
        slab_bytes(block) += static_cast<int64_t>(bytes);
    block.id = ++made_;
    block.closed = peers_ == Peers::pools && kind == MemoryKind::device &&
                   origin == Origin::program && made_of_program_++ % 2;
    *ptr = reinterpret_cast<void *>(block.begin);
    blocks_.insert_or_assign(block.begin, std::move(block));
    return {};
}

Fault Memories::free(void *ptr, Origin origin)
{
    if (!ptr)
        return {};
    const std::unique_lock lock(mutex_);
    const auto it = blocks_.find(address_of(ptr));
    if (it == blocks_.end() || it->second.origin != origin)
        return {HEDDLE_ERR_ARG, "sim: free: not such memory"};
    const Block &block = it->second;
    if (origin == Origin::slab)
        slab_bytes(block) -= static_cast<int64_t>(block.size);
    if (block.kind == MemoryKind::device) {
        Arena &arena = *devices_[static_cast<size_t>(block.device)].arena;
        arena.give_back(block.begin - arena.program(), block.size);
    }
    blocks_.erase(it);
    return {};
}

Fault Memories::add_registered(int device, void *ptr, size_t bytes)
{
    if (!ptr || bytes == 0)
        return {HEDDLE_ERR_ARG, "sim: nothing to register"};
    const uintptr_t begin = address_of(ptr);
    const std::unique_lock lock(mutex_);
    const auto next = blocks_.lower_bound(begin);
    const bool meets_next = next != blocks_.end() && next->first - begin < bytes;
    const bool meets_previous = next != blocks_.begin() && std::prev(next)->second.holds(begin, 1);
    if (meets_next || meets_previous)
        return {HEDDLE_ERR_ARG, "sim: memory is registered already"};
    Block block;
    block.kind = MemoryKind::pinned;
    block.device = device;
    block.begin = begin;
    block.size = bytes;
    block.real = static_cast<std::byte *>(ptr);
    block.origin = Origin::registered;
    blocks_.emplace(begin, std::move(block));
    return {};
}

const Memories::Block *Memories::block_at(uintptr_t address) const
{
    const auto next = blocks_.upper_bound(address);
    if (next == blocks_.begin())
        return nullptr;
    const Block &block = std::prev(next)->second;
    return block.holds(address, 1) ? &block : nullptr;
}

std::optional<Range> Memories::find(uintptr_t address) const
{
    const std::shared_lock lock(mutex_);
    const Block *block = block_at(address);
    return block ? std::optional<Range>(*block) : std::nullopt;
}

bool Memories::is_pinned_in_part(const void *ptr, size_t bytes) const
{
    const uintptr_t first = address_of(ptr);
    for (const uintptr_t address : {first, first + bytes - 1})
        if (const auto range = find(address);
            range && range->kind == MemoryKind::pinned && !range->holds(first, bytes))
            return true;
    return false;
}

std::byte *Memories::look(const void *ptr, size_t bytes) const
{
    const uintptr_t address = address_of(ptr);
    if (const auto range = find(address))
        return range->holds(address, bytes) ? range->at(address) : nullptr;
    return reinterpret_cast<std::byte *>(address);
}

Fault Memories::export_to(int device, const void *ptr,
                          unsigned char handle[Backend::handle_bytes]) const
{
    static_assert(sizeof(Handle) <= Backend::handle_bytes);
    const uintptr_t address = address_of(ptr);
    const std::shared_lock lock(mutex_);
    const Block *block = block_at(address);
    if (!block || block->kind != MemoryKind::device || block->device != device)
        return device_fault("sim: export: not memory of that device");
    if (block->origin == Origin::imported)
        return device_fault("sim: export: memory of another process");
    const Arena &arena = *devices_[static_cast<size_t>(device)].arena;
    Handle out;
    out.inode = inode_of(arena.file());
    out.offset = block->begin - arena.program();
    out.size = block->size;
    out.within = address - block->begin;
    out.process = getpid();
    out.file = arena.file();
    out.device = device;
    out.id = block->id;
    std::memset(handle, 0, Backend::handle_bytes);
    std::memcpy(handle, &out, sizeof out);
    return {};
}

Fault Memories::import_from(int device, const unsigned char handle[Backend::handle_bytes],
                            void **ptr)
{
    Handle in;
    std::memcpy(&in, handle, sizeof in);
    if (in.magic != Handle::right_magic || device < 0 || device >= devices() || in.device < 0 ||
        in.device >= devices() || !open_peer(device, in.device) || in.within >= in.size ||
        in.size > SIZE_MAX / 4 || in.offset > SIZE_MAX / 4)
        return device_fault("sim: import: no handle of this device's memory");
    if (in.process == getpid())
        return device_fault("sim: import: memory of this very process");
    const std::vector<unsigned char> key(handle, handle + Backend::handle_bytes);

    const std::unique_lock lock(mutex_);
    for (auto &[begin, block] : blocks_) {
        if (block.origin != Origin::imported)
            continue;
        if (block.handle == key) {
            ++block.uses;
            *ptr = reinterpret_cast<void *>(block.handed_out);
            return {};
        }
        Handle other;
        std::memcpy(&other, block.handle.data(), sizeof other);
        if (in.collides(other)) // CUDA opens none either
            return {HEDDLE_ERR_NO_MEMORY, "sim: import: resource already mapped"};
    }
    const File file("/proc/" + std::to_string(in.process) + "/fd/" + std::to_string(in.file));
    if (file.number() < 0)
        return device_fault(std::string("sim: import: ") + std::strerror(errno));
    struct stat status;
    if (fstat(file.number(), &status) != 0 || status.st_ino != in.inode ||
        static_cast<uint64_t>(status.st_size) < in.offset + in.size)
        return device_fault("sim: import: the other process has no such memory any more");
    const uint64_t first = in.offset / page * page;
    const size_t lead = in.offset - first;
    const auto both =
        std::make_shared<Views>(file.number(), static_cast<off_t>(first), lead + in.size);
    if (!both->program.valid() || !both->real.valid())
        return {HEDDLE_ERR_NO_MEMORY, "sim: import: mmap failed"};
    Block block;
    block.kind = MemoryKind::device;
    block.device = device; // as CUDA says of it
    block.closed = block.imported = true;
    block.begin = address_of(both->program.at()) + lead;
    block.size = in.size;
    block.real = both->real.at() + lead;
    block.origin = Origin::imported;
    block.storage = both;
    block.handle = key;
    block.handed_out = block.begin + in.within;
    *ptr = reinterpret_cast<void *>(block.handed_out);
    blocks_.insert_or_assign(block.begin, std::move(block));
    return {};
}

Fault Memories::close_imported(void *ptr)
{
    const std::unique_lock lock(mutex_);
    for (auto it = blocks_.begin(); it != blocks_.end(); ++it)
        if (it->second.origin == Origin::imported && it->second.handed_out == address_of(ptr)) {
            if (--it->second.uses == 0)
                blocks_.erase(it);
            return {};
        }
    return device_fault("sim: close: memory that was not imported");
}

} // namespace heddle::gpu::sim
