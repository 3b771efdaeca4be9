// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/sim/memory.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace heddle::gpu::sim {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr size_t arena_bytes = size_t{1} << 32; // its shadow leaves little address space
#else
constexpr size_t arena_bytes = size_t{1} << 36;
#endif
constexpr size_t granule = 256; // as cudaMalloc aligns
constexpr size_t page = 4096;
constexpr size_t fill_at_most = 1 << 20; // of new memory, with bytes that are nobody's data

constexpr size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

size_t with_gap(size_t bytes) { return round_up(bytes, granule) + granule; }

Fault system_error(const char *call)
{
    return device_fault(std::string("sim: ") + call + ": " + std::strerror(errno));
}

} // namespace

std::unique_ptr<Arena> Arena::make(Fault &error)
{
    std::unique_ptr<Arena> arena(new Arena);
    arena->file_ = memfd_create("heddle-sim", MFD_CLOEXEC);
    if (arena->file_ < 0 || ftruncate(arena->file_, static_cast<off_t>(arena_bytes)) != 0) {
        error = system_error("memfd_create");
        return nullptr;
    }
    const auto map = [&](int access) {
        return mmap(nullptr, arena_bytes, access, MAP_SHARED | MAP_NORESERVE, arena->file_, 0);
    };
    void *const program = map(PROT_NONE);
    if (program == MAP_FAILED) {
        error = system_error("mmap");
        return nullptr;
    }
    arena->program_ = reinterpret_cast<uintptr_t>(program);
    void *const real = map(PROT_READ | PROT_WRITE);
    if (real == MAP_FAILED) {
        error = system_error("mmap");
        return nullptr;
    }
    arena->real_ = static_cast<std::byte *>(real);
    madvise(program, arena_bytes, MADV_DONTDUMP);
    madvise(real, arena_bytes, MADV_DONTDUMP);
    arena->free_.emplace(0, arena_bytes);
    return arena;
}

Arena::~Arena()
{
    if (real_)
        munmap(real_, arena_bytes);
    if (program_)
        munmap(reinterpret_cast<void *>(program_), arena_bytes);
    if (file_ >= 0)
        close(file_);
}

std::optional<size_t> Arena::take(size_t bytes)
{
    if (bytes > arena_bytes)
        return std::nullopt;
    const size_t wanted = with_gap(bytes);
    for (auto it = free_.begin(); it != free_.end(); ++it) {
        const auto [offset, room] = *it;
        if (room < wanted)
            continue;
        free_.erase(it);
        if (room > wanted)
            free_.emplace(offset + wanted, room - wanted);
        std::memset(real_ + offset, 0xa5, std::min(bytes, fill_at_most));
        return offset;
    }
    return std::nullopt;
}

void Arena::give_back(size_t offset, size_t bytes)
{
    const size_t begin = round_up(offset, page);
    const size_t end = (offset + bytes) / page * page;
    // Large ones go back to the system. Should that fail, the pages stay, and nothing is lost.
    if (end > begin && end - begin > fill_at_most)
        (void)!fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                         static_cast<off_t>(begin), static_cast<off_t>(end - begin));
    auto it = free_.emplace(offset, with_gap(bytes)).first;
    if (const auto next = std::next(it);
        next != free_.end() && it->first + it->second == next->first) {
        it->second += next->second;
        free_.erase(next);
    }
    if (it != free_.begin())
        if (const auto before = std::prev(it); before->first + before->second == it->first) {
            before->second += it->second;
            free_.erase(it);
        }
}

} // namespace heddle::gpu::sim
