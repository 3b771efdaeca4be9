/* SPDX-License-Identifier: BSD-3-Clause
 *
 * To be preloaded into a program. Its own code's malloc and its relatives then give managed memory
 * of a device. So tests that know of no devices hand such memory to MPI. What libraries allocate
 * stays where it was. Where there is no device the program ends; where the memory is used up,
 * malloc says so.
 */
#include "../gpu/device_memory.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <link.h>
#include <mutex>
#include <unistd.h>

/* glibc's own, for those who call by the names that are taken here. */
extern "C" {
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void __libc_free(void *memory);
}

namespace {

constexpr size_t arena_bytes = size_t{512} << 20; /* of each process; pages exist once they are
                                                     touched */
constexpr size_t header_bytes = 64;               /* in front of each piece, and its alignment */

struct Range {
    uintptr_t begin = 0, end = 0;
    bool has(const void *at) const
    {
        const auto address = reinterpret_cast<uintptr_t>(at);
        return address >= begin && address < end;
    }
};

/* The program's code: that of the first object in memory. */
Range find_program()
{
    Range program{UINTPTR_MAX, 0};
    dl_iterate_phdr(
        [](dl_phdr_info *object, size_t, void *found) {
            Range &range = *static_cast<Range *>(found);
            for (int i = 0; i < object->dlpi_phnum; ++i) {
                const ElfW(Phdr) &part = object->dlpi_phdr[i];
                if (part.p_type != PT_LOAD || !(part.p_flags & PF_X))
                    continue;
                range.begin = std::min(range.begin, object->dlpi_addr + part.p_vaddr);
                range.end = std::max(range.end, object->dlpi_addr + part.p_vaddr + part.p_memsz);
            }
            return 1;
        },
        &program);
    return program;
}

/* Pieces of power-of-two sizes. */
class Arena {
public:
    static Arena &get()
    {
        static Arena arena;
        return arena;
    }

    void *allocate(size_t bytes)
    {
        if (bytes > arena_bytes - header_bytes)
            return nothing();
        const std::lock_guard lock(mutex_);
        const auto log = static_cast<size_t>(std::countr_zero(std::bit_ceil(bytes + header_bytes)));
        Header *piece = idle_[log];
        if (piece) {
            idle_[log] = piece->next;
        } else {
            if (size_t{1} << log > memory_.end - next_)
                return nothing();
            piece = reinterpret_cast<Header *>(next_);
            next_ += size_t{1} << log;
            piece->log = log;
        }
        return reinterpret_cast<char *>(piece) + header_bytes;
    }
    void give_back(void *memory)
    {
        const std::lock_guard lock(mutex_);
        Header *const piece = header(memory);
        piece->next = idle_[piece->log];
        idle_[piece->log] = piece;
    }
    bool has(const void *memory) const { return memory_.has(memory); }
    static size_t room(void *memory) { return (size_t{1} << header(memory)->log) - header_bytes; }

private:
    struct Header {
        size_t log;
        Header *next; /* while idle */
    };

    Arena()
    {
        gpu::Machine &machine = gpu::Machine::get();
        const char *const rank = std::getenv("MPI_LOCALRANKID");
        void *const at = machine.devices() == 0
                             ? nullptr
                             : machine.allocate({gpu::Kind::managed,
                                                 (rank ? std::atoi(rank) : 0) % machine.devices()},
                                                arena_bytes);
        if (!at) {
            std::fprintf(stderr, "managed_malloc: no managed memory: HEDDLE_DEVICE has to name a "
                                 "plug-in with a device\n");
            _exit(2);
        }
        memory_.begin = next_ = reinterpret_cast<uintptr_t>(at);
        memory_.end = memory_.begin + arena_bytes;
    }
    static Header *header(void *memory)
    {
        return reinterpret_cast<Header *>(static_cast<char *>(memory) - header_bytes);
    }
    static void *nothing()
    {
        errno = ENOMEM;
        return nullptr;
    }

    std::mutex mutex_;
    Range memory_;
    uintptr_t next_ = 0;
    std::array<Header *, 64> idle_{}; /* by the logarithm of their size */
};

std::atomic<Arena *> the_arena{nullptr}; /* once it stands: nobody can free any of it before */
thread_local bool opening = false;

/* Null where the caller is not the program, or the device is being opened on its behalf. */
Arena *arena_for(const void *caller)
{
    static const Range program = find_program();
    if (opening || !program.has(caller))
        return nullptr;
    if (!the_arena) {
        opening = true;
        the_arena = &Arena::get();
        opening = false;
    }
    return the_arena;
}

bool is_managed(void *memory)
{
    const Arena *const arena = the_arena;
    return memory && arena && arena->has(memory);
}

} // namespace

extern "C" {

void *malloc(size_t bytes)
{
    Arena *const arena = arena_for(__builtin_return_address(0));
    return arena ? arena->allocate(bytes) : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    Arena *const arena = arena_for(__builtin_return_address(0));
    if (!arena)
        return __libc_calloc(count, bytes);
    size_t all = 0;
    void *const memory =
        arena->allocate(__builtin_mul_overflow(count, bytes, &all) ? SIZE_MAX : all);
    return memory ? std::memset(memory, 0, all) : nullptr;
}

void *realloc(void *memory, size_t bytes)
{
    Arena *const arena = arena_for(__builtin_return_address(0));
    if (!is_managed(memory))
        return memory || !arena ? __libc_realloc(memory, bytes) : arena->allocate(bytes);
    if (bytes <= Arena::room(memory))
        return memory;
    void *const larger = the_arena.load()->allocate(bytes);
    if (larger) {
        std::memcpy(larger, memory, Arena::room(memory));
        the_arena.load()->give_back(memory);
    }
    return larger;
}

void free(void *memory)
{
    if (is_managed(memory))
        the_arena.load()->give_back(memory);
    else
        __libc_free(memory);
}
}
