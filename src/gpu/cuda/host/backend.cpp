// SPDX-License-Identifier: BSD-3-Clause
// Devices, their streams, and what is put on them.
#include "gpu/cuda/host/backend.hpp"

#include "gpu/cuda/host/error.hpp"
#include "gpu/cuda/host/select_kernel.hpp"

namespace heddle::gpu::cuda {
namespace {

CUdeviceptr address(const void *at) { return reinterpret_cast<CUdeviceptr>(at); }

Error copy_rows(const Layers &c, cudaStream_t stream)
{
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    copy.srcDevice = address(c.from);
    copy.srcPitch = c.from_pitch;
    copy.dstDevice = address(c.to);
    copy.dstPitch = c.to_pitch;
    copy.WidthInBytes = c.width;
    copy.Height = c.rows;
    return check("cuMemcpy2DAsync", cuMemcpy2DAsync(&copy, stream));
}

Error copy_layers(const Layers &c, cudaStream_t stream)
{
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    copy.srcDevice = address(c.from);
    copy.srcPitch = c.from_pitch;
    copy.srcHeight = c.from_rows;
    copy.dstDevice = address(c.to);
    copy.dstPitch = c.to_pitch;
    copy.dstHeight = c.to_rows;
    copy.WidthInBytes = c.width;
    copy.Height = c.rows;
    copy.Depth = c.layers;
    return check("cuMemcpy3DAsync", cuMemcpy3DAsync(&copy, stream));
}

// The driver writes contiguous copies of 6 to 32 KiB out of pinned memory into the stream by the
// processor, which takes longer than the copy engine takes. It tells the engine at once where the
// same bytes are two rows (one H200).
Error copy_bytes(const Layers &c, cudaStream_t stream)
{
    constexpr size_t by_processor_from = 6 << 10, by_processor_below = 32 << 10;
    if (c.from_pinned && c.width >= by_processor_from && c.width < by_processor_below &&
        c.width % 2 == 0) {
        const size_t half = c.width / 2;
        return copy_rows({c.to, half, 2, c.from, half, 2, half, 2, 1, false}, stream);
    }
    return check("cuMemcpyAsync", cuMemcpyAsync(address(c.to), address(c.from), c.width, stream));
}

} // namespace

Error CudaBackend::open(int devices)
{
    for (int i = 0; i < devices; ++i) {
        devices_.push_back(std::make_unique<Device>());
        if (const Error e = devices_.back()->open(i))
            return e;
    }
    reached_ = std::make_unique<std::atomic<bool>[]>(devices_.size() * devices_.size());
    return HEDDLE_SUCCESS;
}

int CudaBackend::device_count() const { return static_cast<int>(devices_.size()); }

std::string CudaBackend::describe(int device) const
{
    return is_device(device) ? devices_[static_cast<size_t>(device)]->describe() : std::string();
}

bool CudaBackend::is_device(int device) const { return device >= 0 && device < device_count(); }

Error CudaBackend::enter(int device, Scope &scope, Device **found)
{
    if (!is_device(device))
        return check("device ordinal", CUDA_ERROR_INVALID_DEVICE);
    *found = devices_[static_cast<size_t>(device)].get();
    return (*found)->enter(scope);
}

// ---- streams ----

Error CudaBackend::stream_create(int device, bool gives_way, Stream *stream)
{
    Scope scope;
    Device *d = nullptr;
    if (const Error e = enter(device, scope, &d))
        return e;
    cudaStream_t made = nullptr;
    if (const Error e = check(
            "cudaStreamCreateWithPriority",
            cudaStreamCreateWithPriority(&made, cudaStreamNonBlocking, d->priority(gives_way))))
        return e;
    *stream = made;
    return HEDDLE_SUCCESS;
}

Error CudaBackend::stream_device(Stream stream, int *device)
{
    const cudaStream_t s = as_cuda(stream);
    CUcontext before = nullptr;
    if (const Error e = check("cuCtxGetCurrent", cuCtxGetCurrent(&before)))
        return e;
    CUcontext context = before;
    const bool of_a_handle = s != nullptr && s != cudaStreamLegacy && s != cudaStreamPerThread;
    if (of_a_handle) {
        if (const Error e = check("cuStreamGetCtx", cuStreamGetCtx(s, &context)))
            return e;
    } else if (!before) {
        *device = 0; // what CUDA takes for a thread that chose none
        return HEDDLE_SUCCESS;
    }
    Scope scope;
    if (const Error e = scope.enter(context))
        return e;
    CUdevice handle = 0;
    if (const Error e = check("cuCtxGetDevice", cuCtxGetDevice(&handle)))
        return e;
    for (int i = 0; i < device_count(); ++i)
        if (devices_[static_cast<size_t>(i)]->handle() == handle) {
            *device = i;
            if (of_a_handle)
                return HEDDLE_SUCCESS;
            Device &found = *devices_[static_cast<size_t>(i)];
            Scope primary;
            if (const Error e = found.enter(primary))
                return e;
            if (found.context() == context)
                return HEDDLE_SUCCESS;
            static_cast<void>(
                check("the default stream of a context that is not the device's primary one",
                      CUDA_ERROR_INVALID_CONTEXT));
            return HEDDLE_ERR_STREAM;
        }
    return check("cuCtxGetDevice", CUDA_ERROR_INVALID_DEVICE);
}

Error CudaBackend::stream_synchronize(int device, Stream stream)
{
    Scope scope;
    Device *d = nullptr;
    if (const Error e = enter(device, scope, &d))
        return e;
    return check("cudaStreamSynchronize", cudaStreamSynchronize(as_cuda(stream)));
}

// ---- work ----

Error CudaBackend::launch(int device, Stream stream, std::span<Launch> launches,
                          const Others &others, Done *done)
{
    Scope scope;
    Device *d = nullptr;
    if (const Error e = enter(device, scope, &d))
        return e;
    return finish(stream, done, d->writes_in_order(), [&](const Signal &signal, int *signalled) {
        return dispatch(*d, as_cuda(stream), launches, others, signal, signalled);
    });
}

Error CudaBackend::fold(int device, Stream stream, const Fold &fold, Done *done)
{
    Scope scope;
    Device *d = nullptr;
    if (const Error e = enter(device, scope, &d))
        return e;
    return finish(stream, done, d->writes_in_order(), [&](const Signal &signal, int *signalled) {
        return dispatch_fold(*d, as_cuda(stream), fold, signal, signalled);
    });
}

Kernel CudaBackend::kernel_for(int device, const Work &work, Kernel wanted) const
{
    const Device &d = *devices_[static_cast<size_t>(device)];
    return select_kernel(work, d.processors().tuning, wanted, true);
}

int64_t CudaBackend::launched() const
{
    int64_t sum = 0;
    for (const auto &device : devices_)
        sum += device->functions().launched();
    return sum;
}

Error CudaBackend::copy(int device, Stream stream, const Layers &c, Done *done)
{
    Scope scope;
    Device *d = nullptr;
    if (const Error e = enter(device, scope, &d))
        return e;
    return finish(stream, done, false, [&](const Signal &, int *) {
        return c.layers > 1 ? copy_layers(c, as_cuda(stream))
               : c.rows > 1 ? copy_rows(c, as_cuda(stream))
                            : copy_bytes(c, as_cuda(stream));
    });
}

Error CudaBackend::list_runs(int device, Stream stream, const Listing &listing)
{
    Scope scope;
    Device *d = nullptr;
    if (const Error e = enter(device, scope, &d))
        return e;
    Launcher launcher(d->functions(), as_cuda(stream), d->processors(), false, Signal{});
    return check("cuLaunchKernel", run_list(launcher, listing));
}

// Puts something on the stream by `put`, then, unless that sees to it, what reaches `done`: a
// number that the stream writes, if it is to, or an event. After a copy that is over 0.45 us
// sooner; after a large kernel 1 to 3 us later (H200, as the host sees them).
template <class Put> Error CudaBackend::finish(Stream stream, Done *done, bool writes, Put put)
{
    int signalled = 0;
    if (!done)
        return put(Signal{}, &signalled);

    CudaDone &c = *as_cuda(done);
    c.next();
    Error e = put(c.signal, &signalled);
    if (signalled)
        c.words = signalled;
    if (!e && !signalled && writes) {
        e = check("cuStreamWriteValue32",
                  cuStreamWriteValue32(as_cuda(stream),
                                       reinterpret_cast<CUdeviceptr>(c.signal.slot), c.signal.value,
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

} // namespace heddle::gpu::cuda
