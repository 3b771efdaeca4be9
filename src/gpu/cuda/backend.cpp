// SPDX-License-Identifier: BSD-3-Clause
#include "backend.hpp"

#include "elements.hpp"
#include "error.hpp"
#include "nearby.hpp"

#include <chrono>
#include <cstring>
#include <new>

namespace heddle::gpu::cuda {
namespace {

// How often a waiting thread asks whether the device failed. Asking takes about a microsecond.
constexpr auto between_questions = std::chrono::microseconds(20);
constexpr int looks_between_times = 16; // reading the clock takes longer than a look at the slot
constexpr uint32_t tests_between_questions = 256;

CudaDone *as_cuda(Done *done)
{
    return static_cast<CudaDone *>(done);
}

cudaStream_t as_cuda(Stream stream)
{
    return static_cast<cudaStream_t>(stream);
}

// What one process tells another of its memory.
struct Handle {
    cudaIpcMemHandle_t memory;
    CUuuid device;
};
static_assert(sizeof(Handle) <= Backend::handle_bytes);

void relax()
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

} // namespace

int CudaBackend::open(int devices)
{
    for (int i = 0; i < devices; ++i) {
        devices_.push_back(std::make_unique<Device>());
        if (const int e = devices_.back()->open(i))
            return e;
    }
    reached_ = std::make_unique<std::atomic<bool>[]>(devices_.size() * devices_.size());
    return HEDDLE_SUCCESS;
}

int CudaBackend::device_count() const
{
    return static_cast<int>(devices_.size());
}

std::string CudaBackend::describe(int device) const
{
    return is_device(device) ? devices_[static_cast<size_t>(device)]->describe() : std::string();
}

bool CudaBackend::is_device(int device) const
{
    return device >= 0 && device < device_count();
}

int CudaBackend::enter(int device, Scope &scope, Device **found)
{
    if (!is_device(device))
        return check("device ordinal", CUDA_ERROR_INVALID_DEVICE);
    *found = devices_[static_cast<size_t>(device)].get();
    return (*found)->enter(scope);
}

// ---- memory ----

Memory CudaBackend::query(const void *ptr, bool range) const
{
    unsigned type = 0;
    int ordinal = -1;
    unsigned managed = 0;
    CUdeviceptr start = 0;
    size_t size = 0;
    unsigned long long id = 0;
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                        CU_POINTER_ATTRIBUTE_IS_MANAGED,       CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                        CU_POINTER_ATTRIBUTE_RANGE_SIZE,       CU_POINTER_ATTRIBUTE_BUFFER_ID};
    void *answers[] = {&type, &ordinal, &managed, &start, &size, &id}; // zero for a pointer that CUDA does not know
    const auto address = reinterpret_cast<CUdeviceptr>(ptr);
    Memory memory;
    const auto ask = [&](unsigned n) { return ptr && cuPointerGetAttributes(n, attributes, answers, address) == CUDA_SUCCESS; };
    if (!(range && ask(6)) && !ask(3))
        return memory;
    if (managed)
        memory.kind = MemoryKind::managed;
    else if (type == CU_MEMORYTYPE_DEVICE)
        memory.kind = MemoryKind::device;
    else if (type == CU_MEMORYTYPE_HOST)
        memory.kind = MemoryKind::pinned;
    else
        return memory;
    memory.device = ordinal;
    if (memory.kind != MemoryKind::device)
        return memory;
    memory.imported = imports_.hold(address);
    memory.base = reinterpret_cast<char *>(start);
    memory.size = size;
    memory.id = id;
    return memory;
}

bool CudaBackend::combines(heddle_op op, heddle_predefined basic) const
{
    return is_defined(op, category(basic));
}

// Peer access has to be switched on, by a device for another. While one of them is not in use by the process
// there is no memory to reach, and asking must not create a context.
bool CudaBackend::reaches(int device, int peer) const
{
    if (!is_device(device) || !is_device(peer))
        return false;
    if (device == peer)
        return true;
    std::atomic<bool> &reached = reached_[static_cast<size_t>(device) * devices_.size() + static_cast<size_t>(peer)];
    if (reached.load(std::memory_order_acquire))
        return true;
    Device &here = *devices_[static_cast<size_t>(device)];
    Device &there = *devices_[static_cast<size_t>(peer)];
    int possible = 0;
    if (cuDeviceCanAccessPeer(&possible, here.handle(), there.handle()) != CUDA_SUCCESS || !possible)
        return false;
    if (!here.in_use() || !there.in_use())
        return true;
    Scope keep_current; // its end undoes what the next one leaves
    if (there.enter(keep_current))
        return false;
    Scope scope;
    if (here.enter(scope))
        return false;
    const CUresult e = cuCtxEnablePeerAccess(there.context(), 0);
    const bool enabled = e == CUDA_SUCCESS || e == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    reached.store(enabled, std::memory_order_release);
    return enabled;
}

int CudaBackend::allocate(int device, size_t bytes, void **ptr)
{
    Scope scope;
    Device *d = nullptr;
    if (const int e = enter(device, scope, &d))
        return e;
    return check("cudaMalloc", cudaMalloc(ptr, bytes));
}

int CudaBackend::free(int device, void *ptr)
{
    Scope scope;
    Device *d = nullptr;
    if (const int e = enter(device, scope, &d))
        return e;
    return check("cudaFree", cudaFree(ptr));
}

int CudaBackend::allocate_pinned(int device, size_t bytes, void **ptr)
{
    Scope scope;
    Device *d = nullptr;
    if (const int e = enter(device, scope, &d))
        return e;
    const NearDevice near(d->bus_id());
    return check("cudaHostAlloc", cudaHostAlloc(ptr, bytes, cudaHostAllocPortable | cudaHostAllocMapped));
}

int CudaBackend::free_pinned(int device, void *ptr)
{
    Scope scope;
    Device *d = nullptr;
    if (const int e = enter(device, scope, &d))
        return e;
    return check("cudaFreeHost", cudaFreeHost(ptr));
}

// ---- streams ----

int CudaBackend::stream_create(int device, bool gives_way, Stream *stream)
{
    Scope scope;
    Device *d = nullptr;
    if (const int e = enter(device, scope, &d))
        return e;
    cudaStream_t made = nullptr;
    if (const int e = check("cudaStreamCreateWithPriority",
                            cudaStreamCreateWithPriority(&made, cudaStreamNonBlocking, d->priority(gives_way))))
        return e;
    *stream = made;
    return HEDDLE_SUCCESS;
}

int CudaBackend::stream_destroy(int device, Stream stream)
{
    Scope scope;
    Device *d = nullptr;
    if (const int e = enter(device, scope, &d))
        return e;
    return check("cudaStreamDestroy", cudaStreamDestroy(as_cuda(stream)));
}

int CudaBackend::stream_device(Stream stream, int *device)
{
    const cudaStream_t s = as_cuda(stream);
    CUcontext before = nullptr;
    if (const int e = check("cuCtxGetCurrent", cuCtxGetCurrent(&before)))
        return e;
    CUcontext context = before;
    if (s != nullptr && s != cudaStreamLegacy && s != cudaStreamPerThread) {
        if (const int e = check("cuStreamGetCtx", cuStreamGetCtx(s, &context)))
            return e;
    } else if (!before) {
        *device = 0; // what CUDA takes for a thread that chose none
        return HEDDLE_SUCCESS;
    }
    Scope scope;
    if (const int e = scope.enter(context))
        return e;
    CUdevice handle = 0;
    if (const int e = check("cuCtxGetDevice", cuCtxGetDevice(&handle)))
        return e;
    for (int i = 0; i < device_count(); ++i)
        if (devices_[static_cast<size_t>(i)]->handle() == handle) {
            *device = i;
            return HEDDLE_SUCCESS;
        }
    return check("cuCtxGetDevice", CUDA_ERROR_INVALID_DEVICE);
}

int CudaBackend::stream_synchronize(int device, Stream stream)
{
    Scope scope;
    Device *d = nullptr;
    if (const int e = enter(device, scope, &d))
        return e;
    return check("cudaStreamSynchronize", cudaStreamSynchronize(as_cuda(stream)));
}

// ---- work ----

int CudaBackend::launch(int device, Stream stream, std::span<const Launch> launches, Done *done)
{
    Scope scope;
    Device *d = nullptr;
    if (const int e = enter(device, scope, &d))
        return e;
    return finish(stream, done, d->writes_in_order(), [&](const Signal &signal, int *signalled) {
        return dispatch(*d, as_cuda(stream), launches, signal, signalled);
    });
}

int CudaBackend::copy(int device, Stream stream, void *to, const void *from, size_t bytes, Done *done)
{
    Scope scope;
    Device *d = nullptr;
    if (const int e = enter(device, scope, &d))
        return e;
    return finish(stream, done, false, [&](const Signal &, int *) {
        return check("cuMemcpyAsync", cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(to),
                                                    reinterpret_cast<CUdeviceptr>(from), bytes, as_cuda(stream)));
    });
}

int CudaBackend::copy_2d(int device, Stream stream, void *to, size_t to_pitch, const void *from, size_t from_pitch,
                         size_t width, size_t rows, Done *done)
{
    Scope scope;
    Device *d = nullptr;
    if (const int e = enter(device, scope, &d))
        return e;
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    copy.srcDevice = reinterpret_cast<CUdeviceptr>(from);
    copy.srcPitch = from_pitch;
    copy.dstDevice = reinterpret_cast<CUdeviceptr>(to);
    copy.dstPitch = to_pitch;
    copy.WidthInBytes = width;
    copy.Height = rows;
    return finish(stream, done, false, [&](const Signal &, int *) {
        return check("cuMemcpy2DAsync", cuMemcpy2DAsync(&copy, as_cuda(stream)));
    });
}

int CudaBackend::copy_3d(int device, Stream stream, const Layers &layers, Done *done)
{
    Scope scope;
    Device *d = nullptr;
    if (const int e = enter(device, scope, &d))
        return e;
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    copy.srcDevice = reinterpret_cast<CUdeviceptr>(layers.from);
    copy.srcPitch = layers.from_pitch;
    copy.srcHeight = layers.from_rows;
    copy.dstDevice = reinterpret_cast<CUdeviceptr>(layers.to);
    copy.dstPitch = layers.to_pitch;
    copy.dstHeight = layers.to_rows;
    copy.WidthInBytes = layers.width;
    copy.Height = layers.rows;
    copy.Depth = layers.layers;
    return finish(stream, done, false, [&](const Signal &, int *) {
        return check("cuMemcpy3DAsync", cuMemcpy3DAsync(&copy, as_cuda(stream)));
    });
}

// Puts something on the stream by `put`, then, unless that sees to it, what reaches `done`: a number that the stream writes,
// if it is to, or an event. After a copy that is over 0.45 us sooner; after a large kernel 1 to 3 us later (H200, as the
// host sees them).
template <class Put> int CudaBackend::finish(Stream stream, Done *done, bool writes, Put put)
{
    int signalled = 0;
    if (!done)
        return put(Signal{}, &signalled);

    CudaDone &c = *as_cuda(done);
    c.next();
    int e = put(c.signal, &signalled);
    if (signalled)
        c.words = signalled;
    if (!e && !signalled && writes) {
        e = check("cuStreamWriteValue32",
                  cuStreamWriteValue32(as_cuda(stream), reinterpret_cast<CUdeviceptr>(c.signal.slot), c.signal.value,
                                       CU_STREAM_WRITE_VALUE_DEFAULT));
    } else if (!e && !signalled) {
        if (!c.event)
            e = check("cuEventCreate", cuEventCreate(&c.event, CU_EVENT_DISABLE_TIMING));
        if (!e)
            e = check("cuEventRecord", cuEventRecord(c.event, as_cuda(stream)));
        c.by_event = true;
    }
    if (e && !signalled) { // nothing will write the new number
        --c.signal.value;
        c.by_event = false;
    }
    return e;
}

// ---- completion ----

int CudaBackend::done_acquire(int device, Done **done)
{
    if (is_device(device))
        if (CudaDone *const idle = devices_[static_cast<size_t>(device)]->dones().idle()) {
            *done = idle;
            return HEDDLE_SUCCESS;
        }
    Scope scope;
    Device *d = nullptr;
    if (const int e = enter(device, scope, &d))
        return e;
    CudaDone *made = nullptr;
    if (const int e = d->dones().acquire(device, d->service(), &made))
        return e;
    *done = made;
    return HEDDLE_SUCCESS;
}

void CudaBackend::done_release(Done *done)
{
    devices_[static_cast<size_t>(done->device)]->dones().release(as_cuda(done));
}

// Every call that reaches a failed device returns its error, so the idle service stream is as good as the one
// that the work is on, which may be a user's and gone by now.
int CudaBackend::ask(const CudaDone &done)
{
    Scope scope;
    Device *d = nullptr;
    if (const int e = enter(done.device, scope, &d))
        return e;
    const cudaError_t e = cudaStreamQuery(d->service());
    if (e == cudaErrorNotReady) {
        cudaGetLastError();
        return HEDDLE_SUCCESS;
    }
    return check("cudaStreamQuery", e);
}

int CudaBackend::done_test(Done *done, bool *reached)
{
    CudaDone &c = *as_cuda(done);
    if (c.by_event) {
        const CUresult e = cuEventQuery(c.event);
        *reached = e == CUDA_SUCCESS;
        return e == CUDA_ERROR_NOT_READY ? int{HEDDLE_SUCCESS} : check("cuEventQuery", e);
    }
    *reached = c.slot_reached();
    if (*reached || c.unanswered.fetch_add(1, std::memory_order_relaxed) % tests_between_questions != 0)
        return HEDDLE_SUCCESS;
    return ask(c);
}

int CudaBackend::done_wait(Done *done)
{
    CudaDone &c = *as_cuda(done);
    if (c.by_event) {
        Scope scope;
        Device *d = nullptr;
        if (const int e = enter(done->device, scope, &d))
            return e;
        return check("cuEventSynchronize", cuEventSynchronize(c.event)); // fails as soon as the device does
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
        if (const int e = ask(c))
            return e;
        question = Clock::now() + between_questions;
    }
    return HEDDLE_SUCCESS;
}

int CudaBackend::done_after_all(int device, Done *done)
{
    Scope scope;
    Device *d = nullptr;
    if (const int e = enter(device, scope, &d))
        return e;
    CudaDone &c = *as_cuda(done);
    c.next();
    if (!d->has_event_of_all()) { // a driver before CUDA 12.5 can only be waited for
        if (const int e = check("cuCtxSynchronize", cuCtxSynchronize()))
            return e;
        c.word(0).store(c.signal.value, std::memory_order_release);
        return HEDDLE_SUCCESS;
    }
    if (!c.event)
        if (const int e =
                check("cudaEventCreateWithFlags", cudaEventCreateWithFlags(&c.event, cudaEventDisableTiming)))
            return e;
    if (const int e = check("cuCtxRecordEvent", d->record_all(c.event)))
        return e;
    c.by_event = true;
    return HEDDLE_SUCCESS;
}

int CudaBackend::stream_wait(int device, Stream stream, Done *done)
{
    CudaDone &c = *as_cuda(done);
    if (!c.by_event && c.slot_reached())
        return HEDDLE_SUCCESS;
    Scope scope;
    Device *d = nullptr;
    if (const int e = enter(device, scope, &d))
        return e;
    if (c.by_event)
        return check("cudaStreamWaitEvent", cudaStreamWaitEvent(as_cuda(stream), c.event, 0));
    for (int i = 0; i < c.words && d->writes_in_order(); ++i) {
        const int e = check("cuStreamWaitValue32",
                            cuStreamWaitValue32(as_cuda(stream), reinterpret_cast<CUdeviceptr>(c.signal.slot + i),
                                                c.signal.value, CU_STREAM_WAIT_VALUE_GEQ));
        if (e || i + 1 == c.words)
            return e;
    }
    // A kernel wrote the number and this device cannot wait for one: so the host does.
    return done_wait(done);
}

// ---- other processes ----

int CudaBackend::export_memory(int device, void *ptr, unsigned char handle[handle_bytes])
{
    Scope scope;
    Device *d = nullptr;
    if (const int e = enter(device, scope, &d))
        return e;
    cudaIpcMemHandle_t h{};
    if (const int e = check("cudaIpcGetMemHandle", cudaIpcGetMemHandle(&h, ptr)))
        return e;
    const Handle whole{h, d->uuid()};
    std::memcpy(handle, &whole, sizeof whole);
    return HEDDLE_SUCCESS;
}

int CudaBackend::import_memory(int device, const unsigned char handle[handle_bytes], void **ptr)
{
    Scope scope;
    Device *d = nullptr;
    if (const int e = enter(device, scope, &d))
        return e;
    Handle whole{};
    std::memcpy(&whole, handle, sizeof whole);
    const cudaError_t opened = cudaIpcOpenMemHandle(ptr, whole.memory, cudaIpcMemLazyEnablePeerAccess);
    if (const int e = check("cudaIpcOpenMemHandle", opened))
        return opened == cudaErrorAlreadyMapped ? int{HEDDLE_ERR_NO_MEMORY} : e;
    if (std::memcmp(&whole.device, &d->uuid(), sizeof whole.device) == 0)
        return HEDDLE_SUCCESS;
    const Memory all = query(*ptr, true);
    if (all.base)
        imports_.add(reinterpret_cast<uintptr_t>(all.base), all.size);
    return HEDDLE_SUCCESS;
}

int CudaBackend::close_memory(int device, void *ptr)
{
    Scope scope;
    Device *d = nullptr;
    if (const int e = enter(device, scope, &d))
        return e;
    imports_.remove(reinterpret_cast<uintptr_t>(ptr));
    return check("cudaIpcCloseMemHandle", cudaIpcCloseMemHandle(ptr));
}

int CudaBackend::pin(int device, void *ptr, size_t bytes)
{
    Scope scope;
    Device *d = nullptr;
    if (const int e = enter(device, scope, &d))
        return e;
    const NearDevice near(d->bus_id());
    return check("cudaHostRegister", cudaHostRegister(ptr, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped));
}

int CudaBackend::unpin(int device, void *ptr)
{
    Scope scope;
    Device *d = nullptr;
    if (const int e = enter(device, scope, &d))
        return e;
    return check("cudaHostUnregister", cudaHostUnregister(ptr));
}

} // namespace heddle::gpu::cuda
