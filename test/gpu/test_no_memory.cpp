/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfers that find no memory of the host's. Here any allocation of a thread can fail.
 */
#include "buffer.hpp"
#include "types.hpp"

#include "engine/sanitizer.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <new>
#include <thread>

namespace {

thread_local int64_t until_failure = 0; /* allocations; 0: none fails */

} // namespace

#if !defined(HEDDLE_ADDRESS_SANITIZER) /* which compares how memory is taken and given back */
void *operator new(size_t bytes)
{
    const bool fails = until_failure > 0 && --until_failure == 0;
    void *const at = fails ? nullptr : std::malloc(std::max(bytes, size_t{1}));
    if (!at)
        throw std::bad_alloc();
    return at;
}
void operator delete(void *at) noexcept { std::free(at); }
void operator delete(void *at, size_t) noexcept { std::free(at); }
#endif

namespace gpu {
namespace {

/* Begins it while the n-th allocation from now on fails. */
int begin_without(int64_t n, const heddle_move &move, heddle_request **request)
{
    until_failure = n;
    const int error = heddle_transfer_begin(&move, 1, request);
    until_failure = 0;
    return error;
}

/* A call that fails has nothing running: its buffers are the caller's again. */
void nothing_runs_on()
{
    need_devices();
    need_simulation();
#if defined(HEDDLE_ADDRESS_SANITIZER)
    throw Skip("no allocation can be made to fail");
#endif
    constexpr int64_t bytes = 4096;
    const oracle::Type gaps = hvector(bytes / 8, 16, bytes_of(8));
    const Buffer from({Kind::device, 0}, 2 * bytes, 1), to({Kind::device, 0}, bytes, 2);
    const heddle_move move{side_of(from.at(), 1, gaps), bytes_at(to.at(), bytes), bytes,
                           HEDDLE_OP_REPLACE};
    transfer_all(Way::begun, {move});
    const Switched slow("reset delay_us=5000");
    int failed = 0;
    for (int64_t n = 1; n <= 30; ++n) {
        heddle_request *request = nullptr;
        if (const int error = begin_without(n, move, &request)) {
            same(error, int{HEDDLE_ERR_NO_MEMORY}, "without allocation ", n);
            const int64_t executed = Machine::get().count("execute");
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            same(Machine::get().count("execute") - executed, int64_t{0},
                 "what ran on without allocation ", n);
            ++failed;
        }
        same(heddle_wait(&request), int{HEDDLE_SUCCESS}, "without allocation ", n);
    }
    same(failed > 0, true, "some fail");
}

const AddTests tests{{"no memory: nothing runs on", nothing_runs_on}};

} // namespace
} // namespace gpu
