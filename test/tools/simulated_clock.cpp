// SPDX-License-Identifier: BSD-3-Clause
// A clock that only a slow simulated device moves (sim.h), for LD_PRELOAD. What a program
// measures by it is what the device was told to take, whatever else runs on the processors.
// Such a program must not wait by that clock. What runs on two streams at once may be counted one
// after the other. For its first CLOCK_DISTURBED_MS ms each look takes 5 ms, as if the machine were
// busy.
#include "gpu/sim/sim.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace {

constexpr int64_t ns_of_second = 1000000000;

int64_t first_ns()
{
    timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return now.tv_sec * ns_of_second + now.tv_nsec;
}

std::atomic<int64_t> &clock_ns()
{
    static std::atomic<int64_t> ns(first_ns());
    return ns;
}

// What a look takes: 1 ns at least, so that no loop waits for ever.
int64_t look_ns()
{
    static const int64_t begin = clock_ns();
    static const char *const ms = getenv("CLOCK_DISTURBED_MS");
    static const int64_t disturbed_ns = ms ? atoll(ms) * 1000000 : 0;
    return clock_ns() - begin < disturbed_ns ? 5000000 : 1;
}

} // namespace

// In the place of the C library's.
extern "C" HEDDLE_SIM_API int clock_gettime(clockid_t id, timespec *now) noexcept
{
    if (id != CLOCK_MONOTONIC)
        return static_cast<int>(syscall(SYS_clock_gettime, id, now));
    const int64_t ns = clock_ns() += look_ns();
    now->tv_sec = ns / ns_of_second;
    now->tv_nsec = ns % ns_of_second;
    return 0;
}

extern "C" HEDDLE_SIM_API void heddle_sim_clock_reach(int64_t ns)
{
    int64_t now = clock_ns();
    while (now < ns && !clock_ns().compare_exchange_weak(now, ns)) {
    }
}
