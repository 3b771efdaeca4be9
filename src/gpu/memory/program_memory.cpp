// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/memory/program_memory.hpp"

#include <atomic>
#include <cstdint>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

namespace heddle::gpu {

namespace {

// Empty where it is not known.
struct Own {
    uintptr_t program = UINTPTR_MAX;
    uintptr_t stack = 0, stack_end = 0;
};

Own find_own()
{
    constexpr rlim_t most = 64 << 20; // Linux maps nothing else within 128 MiB of the stack's end
    Own own;
    rlimit limit{};
    const uintptr_t headers = getauxval(AT_PHDR), name = getauxval(AT_EXECFN);
    if (headers != 0)
        own.program = headers;
    if (name != 0 && getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur <= most) {
        own.stack_end = name;
        own.stack = name - limit.rlim_cur;
    }
    return own;
}

// Below `heap_end` lies the heap, or lay, and no driver went there meanwhile. From `heap_beyond` on
// there is no heap, as long as what lies there is mapped, and the driver is asked. To ask for the
// heap's end is a system call, with UCX's hooks two.
std::atomic<uintptr_t> heap_end{0}, heap_beyond{UINTPTR_MAX};

bool is_below_heap_end(uintptr_t at)
{
    // What was freed at the heap's end is none of a driver's.
    constexpr uintptr_t far_away = uintptr_t{1} << 30;
    constexpr std::memory_order relaxed = std::memory_order_relaxed;
    if (at >= heap_beyond.load(relaxed))
        return false;
    if (at < heap_end.load(relaxed))
        return true;
    const auto end = reinterpret_cast<uintptr_t>(sbrk(0));
    if (end == UINTPTR_MAX) // there is none
        return false;
    heap_end.store(end, relaxed);
    if (at < end)
        return true;
    if (at - end > far_away)
        heap_beyond.store(at, relaxed);
    return false;
}

} // namespace

bool is_program_memory(const void *ptr)
{
    static const Own own = find_own();
    const auto at = reinterpret_cast<uintptr_t>(ptr);
    return (at >= own.stack && at < own.stack_end) || (at >= own.program && is_below_heap_end(at));
}

} // namespace heddle::gpu
