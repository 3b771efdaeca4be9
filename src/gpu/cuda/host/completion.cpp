// SPDX-License-Identifier: BSD-3-Clause
// How it is seen that something has ended: by a number that a kernel writes, or by an event.
#include "gpu/cuda/host/backend.hpp"

#include "gpu/cuda/host/error.hpp"

#include <chrono>

namespace heddle::gpu::cuda {
namespace {

// How often a waiting thread asks whether the device failed. Asking takes about a microsecond.
constexpr auto between_questions = std::chrono::microseconds(20);
constexpr int looks_between_times = 16; // reading the clock takes longer than a look at the slot
constexpr uint32_t tests_between_questions = 256;

void relax()
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

} // namespace

Error CudaBackend::done_acquire(int device, Done **done)
{
    if (is_device(device))
        if (CudaDone *const idle = devices_[static_cast<size_t>(device)]->dones().idle()) {
            *done = idle;
            return HEDDLE_SUCCESS;
        }
    Scope scope;
    Device *d = nullptr;
    if (const Error e = enter(device, scope, &d))
        return e;
    CudaDone *made = nullptr;
    if (const Error e = d->dones().acquire(device, d->service(), &made))
        return e;
    *done = made;
    return HEDDLE_SUCCESS;
}

void CudaBackend::done_release(Done *done)
{
    devices_[static_cast<size_t>(done->device)]->dones().release(as_cuda(done));
}

// Every call that reaches a failed device returns its error. So the idle service stream is as good
// as the work's own, which may be a user's and gone by now.
Error CudaBackend::ask(const CudaDone &done)
{
    Scope scope;
    Device *d = nullptr;
    if (const Error e = enter(done.device, scope, &d))
        return e;
    const cudaError_t e = cudaStreamQuery(d->service());
    if (e == cudaErrorNotReady) {
        cudaGetLastError();
        return HEDDLE_SUCCESS;
    }
    return check("cudaStreamQuery", e);
}

Error CudaBackend::done_test(Done *done, bool *reached)
{
    CudaDone &c = *as_cuda(done);
    if (c.by_event) {
        const BesideCaptures beside;
        const CUresult e = cuEventQuery(c.event);
        *reached = e == CUDA_SUCCESS;
        return e == CUDA_ERROR_NOT_READY ? Error{HEDDLE_SUCCESS} : check("cuEventQuery", e);
    }
    *reached = c.slot_reached();
    if (*reached ||
        c.unanswered.fetch_add(1, std::memory_order_relaxed) % tests_between_questions != 0)
        return HEDDLE_SUCCESS;
    return ask(c);
}

Error CudaBackend::done_wait(Done *done)
{
    CudaDone &c = *as_cuda(done);
    if (c.by_event) {
        Scope scope;
        Device *d = nullptr;
        if (const Error e = enter(done->device, scope, &d))
            return e;
        return check("cuEventSynchronize", cuEventSynchronize(c.event)); // fails as soon as the
                                                                         // device does
    }
    using Clock = std::chrono::steady_clock;
    auto question = Clock::now() + between_questions;
    const auto looks = [&] {
        for (int i = 0; i < looks_between_times; ++i)
            if (c.slot_reached())
                return true;
        return false;
    };
    while (!looks()) {
        relax();
        if (Clock::now() < question)
            continue;
        if (const Error e = ask(c))
            return e;
        question = Clock::now() + between_questions;
    }
    return HEDDLE_SUCCESS;
}

Error CudaBackend::done_after_all(int device, Done *done)
{
    Scope scope;
    Device *d = nullptr;
    if (const Error e = enter(device, scope, &d))
        return e;
    CudaDone &c = *as_cuda(done);
    c.next();
    if (!d->has_event_of_all()) { // a driver before CUDA 12.5 can only be waited for
        if (const Error e = check("cuCtxSynchronize", cuCtxSynchronize()))
            return e;
        c.word(0).store(c.signal.value, std::memory_order_release);
        return HEDDLE_SUCCESS;
    }
    if (!c.event)
        if (const Error e = check("cudaEventCreateWithFlags",
                                  cudaEventCreateWithFlags(&c.event, cudaEventDisableTiming)))
            return e;
    if (const Error e = check("cuCtxRecordEvent", d->record_all(c.event)))
        return e;
    c.by_event = true;
    return HEDDLE_SUCCESS;
}

} // namespace heddle::gpu::cuda
