// SPDX-License-Identifier: BSD-3-Clause
// Devices, their streams, and what is put on them.
#include "backend.hpp"

#include "error.hpp"

namespace heddle::gpu::cuda {

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

int CudaBackend::device_count() const { return static_cast<int>(devices_.size()); }

std::string CudaBackend::describe(int device) const
{
    return is_device(device) ? devices_[static_cast<size_t>(device)]->describe() : std::string();
}

bool CudaBackend::is_device(int device) const { return device >= 0 && device < device_count(); }

int CudaBackend::enter(int device, Scope &scope, Device **found)
{
    if (!is_device(device))
        return check("device ordinal", CUDA_ERROR_INVALID_DEVICE);
    *found = devices_[static_cast<size_t>(device)].get();
    return (*found)->enter(scope);
}

// ---- streams ----

int CudaBackend::stream_create(int device, bool gives_way, Stream *stream)
{
    Scope scope;
    Device *d = nullptr;
    if (const int e = enter(device, scope, &d))
        return e;
    cudaStream_t made = nullptr;
    if (const int e = check(
            "cudaStreamCreateWithPriority",
            cudaStreamCreateWithPriority(&made, cudaStreamNonBlocking, d->priority(gives_way))))
        return e;
    *stream = made;
    return HEDDLE_SUCCESS;
}

int CudaBackend::stream_device(Stream stream, int *device)
{
    const cudaStream_t s = as_cuda(stream);
    CUcontext before = nullptr;
    if (const int e = check("cuCtxGetCurrent", cuCtxGetCurrent(&before)))
        return e;
    CUcontext context = before;
    const bool of_a_handle = s != nullptr && s != cudaStreamLegacy && s != cudaStreamPerThread;
    if (of_a_handle) {
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
            if (of_a_handle)
                return HEDDLE_SUCCESS;
            Device &found = *devices_[static_cast<size_t>(i)];
            Scope primary;
            if (const int e = found.enter(primary))
                return e;
            if (found.context() == context)
                return HEDDLE_SUCCESS;
            check("the default stream of a context that is not the device's primary one",
                  CUDA_ERROR_INVALID_CONTEXT);
            return HEDDLE_ERR_STREAM;
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

int64_t CudaBackend::launched() const
{
    int64_t sum = 0;
    for (const auto &device : devices_)
        sum += device->functions().launched();
    return sum;
}

int CudaBackend::copy(int device, Stream stream, void *to, const void *from, size_t bytes,
                      Done *done)
{
    Scope scope;
    Device *d = nullptr;
    if (const int e = enter(device, scope, &d))
        return e;
    return finish(stream, done, false, [&](const Signal &, int *) {
        return check("cuMemcpyAsync",
                     cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(to),
                                   reinterpret_cast<CUdeviceptr>(from), bytes, as_cuda(stream)));
    });
}

int CudaBackend::copy_2d(int device, Stream stream, void *to, size_t to_pitch, const void *from,
                         size_t from_pitch, size_t width, size_t rows, Done *done)
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

// Puts something on the stream by `put`, then, unless that sees to it, what reaches `done`: a
// number that the stream writes, if it is to, or an event. After a copy that is over 0.45 us
// sooner; after a large kernel 1 to 3 us later (H200, as the host sees them).
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
