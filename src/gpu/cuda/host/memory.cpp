// SPDX-License-Identifier: BSD-3-Clause
// Memory: what kind it is, slabs, and that of other processes.
#include "gpu/cuda/host/backend.hpp"

#include "gpu/cuda/host/error.hpp"
#include "gpu/cuda/host/numa.hpp"
#include "gpu/cuda/kernels/operators.hpp"

#include <cstring>

namespace heddle::gpu::cuda {
namespace {

// What one process tells another of its memory.
struct Handle {
    cudaIpcMemHandle_t memory;
    CUuuid device;
};
static_assert(sizeof(Handle) <= Backend::handle_bytes);

} // namespace

// Finds the devices that cannot reach memory that is not cudaMalloc's. The owner of memory of pools
// (cudaMallocAsync) and of cuMemMap opens it for each device by itself. A device that Heddle has
// not used yet counts as closed.
void CudaBackend::find_closed(CUdeviceptr address, Memory &memory) const
{
    CUmemoryPool pool = nullptr;
    if (cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address) != CUDA_SUCCESS)
        pool = nullptr;
    const auto opened = [&](size_t device) {
        CUmemLocation location{};
        location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        location.id = devices_[device]->handle();
        unsigned long long of_map = 0;
        CUmemAccess_flags of_pool{};
        return pool ? cuMemPoolGetAccess(&of_pool, pool, &location) == CUDA_SUCCESS &&
                          of_pool == CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                    : cuMemGetAccess(&of_map, &location, address) == CUDA_SUCCESS &&
                          of_map == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    };
    // Memory of cudaMalloc has no rights to ask about, and is not even open to its own device. It
    // comes here in a system without CUDA IPC.
    if (!opened(static_cast<size_t>(memory.device)))
        return;
    memory.close_to_others();
    for (size_t d = 0; d < devices_.size(); ++d)
        if (!memory.is_open_to(static_cast<int>(d)) && devices_[d]->entered() && opened(d))
            memory.open_to(static_cast<int>(d));
}

Memory CudaBackend::query(const void *ptr, bool range) const
{
    unsigned type = 0;
    int ordinal = -1;
    unsigned managed = 0;
    CUdeviceptr start = 0;
    size_t size = 0;
    unsigned long long id = 0;
    unsigned shared = 0; // can be sent to other processes, as cudaMalloc's can
    CUpointer_attribute attributes[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        CU_POINTER_ATTRIBUTE_IS_MANAGED,       CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
        CU_POINTER_ATTRIBUTE_BUFFER_ID};
    void *answers[] = {&type,  &ordinal, &managed, &shared,
                       &start, &size,    &id}; // zero for a pointer that CUDA does not know
    const auto address = reinterpret_cast<CUdeviceptr>(ptr);
    Memory memory;
    const auto ask = [&](unsigned n) {
        return ptr && cuPointerGetAttributes(n, attributes, answers, address) == CUDA_SUCCESS;
    };
    // What the last question met is what the next one is likely to meet. Of pageable memory all
    // attributes take the driver 139 ns, the first four 95; of a device's 71 and 62 (H100).
    thread_local bool was_known = true;
    const bool at_once = range && was_known;
    if (!(at_once && ask(7)) && !ask(4))
        return memory;
    was_known = managed != 0 || type != 0;
    if (was_known && range && !at_once && !ask(7))
        static_cast<void>(ask(4));
    if (managed)
        memory.kind = MemoryKind::managed;
    else if (type == CU_MEMORYTYPE_DEVICE)
        memory.kind = MemoryKind::device;
    else if (type == CU_MEMORYTYPE_HOST)
        memory.kind = MemoryKind::pinned;
    else
        return memory;
    memory.device = ordinal;
    if (memory.kind == MemoryKind::device) {
        memory.imported = imports_.hold(address);
        if (memory.imported)
            memory.close_to_others(); // that the device which opened it reaches it is sure alone
        else if (!shared && devices_.size() > 1 && is_device(ordinal))
            find_closed(address, memory);
    }
    memory.base = reinterpret_cast<char *>(start);
    memory.size = size;
    memory.id = id;
    return memory;
}

bool CudaBackend::combines(heddle_op op, heddle_predefined basic) const
{
    return can_combine(op, basic);
}

// Peer access has to be switched on, by a device for another. While one of them is not in use by
// the process there is no memory to reach, and asking must not create a context.
bool CudaBackend::reaches(int device, int peer) const
{
    if (!is_device(device) || !is_device(peer))
        return false;
    if (device == peer)
        return true;
    std::atomic<bool> &reached =
        reached_[static_cast<size_t>(device) * devices_.size() + static_cast<size_t>(peer)];
    if (reached.load(std::memory_order_acquire))
        return true;
    Device &here = *devices_[static_cast<size_t>(device)];
    Device &there = *devices_[static_cast<size_t>(peer)];
    int possible = 0;
    if (cuDeviceCanAccessPeer(&possible, here.handle(), there.handle()) != CUDA_SUCCESS ||
        !possible)
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

Error CudaBackend::allocate(int device, size_t bytes, void **ptr)
{
    Scope scope;
    Device *d = nullptr;
    if (const Error e = enter(device, scope, &d))
        return e;
    return check("cudaMalloc", cudaMalloc(ptr, bytes));
}

Error CudaBackend::free(int device, void *ptr)
{
    Scope scope;
    Device *d = nullptr;
    if (const Error e = enter(device, scope, &d))
        return e;
    return check("cudaFree", cudaFree(ptr));
}

Error CudaBackend::allocate_pinned(int device, size_t bytes, void **ptr)
{
    Scope scope;
    Device *d = nullptr;
    if (const Error e = enter(device, scope, &d))
        return e;
    const NearDevice near(d->bus_id());
    return check("cudaHostAlloc",
                 cudaHostAlloc(ptr, bytes, cudaHostAllocPortable | cudaHostAllocMapped));
}

Error CudaBackend::free_pinned(int device, void *ptr)
{
    Scope scope;
    Device *d = nullptr;
    if (const Error e = enter(device, scope, &d))
        return e;
    return check("cudaFreeHost", cudaFreeHost(ptr));
}

// ---- other processes ----

Error CudaBackend::export_memory(int device, void *ptr, unsigned char handle[handle_bytes])
{
    Scope scope;
    Device *d = nullptr;
    if (const Error e = enter(device, scope, &d))
        return e;
    cudaIpcMemHandle_t h{};
    if (const Error e = check("cudaIpcGetMemHandle", cudaIpcGetMemHandle(&h, ptr)))
        return e;
    const Handle whole{h, d->uuid()};
    std::memcpy(handle, &whole, sizeof whole);
    return HEDDLE_SUCCESS;
}

Error CudaBackend::import_memory(int device, const unsigned char handle[handle_bytes], void **ptr)
{
    Scope scope;
    Device *d = nullptr;
    if (const Error e = enter(device, scope, &d))
        return e;
    Handle whole{};
    std::memcpy(&whole, handle, sizeof whole);
    const cudaError_t opened =
        cudaIpcOpenMemHandle(ptr, whole.memory, cudaIpcMemLazyEnablePeerAccess);
    if (const Error e = check("cudaIpcOpenMemHandle", opened))
        return opened == cudaErrorAlreadyMapped ? Error{HEDDLE_ERR_NO_MEMORY} : e;
    if (std::memcmp(&whole.device, &d->uuid(), sizeof whole.device) == 0)
        return HEDDLE_SUCCESS;
    const Memory all = query(*ptr, true);
    if (all.base)
        imports_.add(reinterpret_cast<uintptr_t>(all.base), all.size);
    return HEDDLE_SUCCESS;
}

Error CudaBackend::close_memory(int device, void *ptr)
{
    Scope scope;
    Device *d = nullptr;
    if (const Error e = enter(device, scope, &d))
        return e;
    imports_.remove(reinterpret_cast<uintptr_t>(ptr));
    return check("cudaIpcCloseMemHandle", cudaIpcCloseMemHandle(ptr));
}

Error CudaBackend::pin(int device, void *ptr, size_t bytes)
{
    Scope scope;
    Device *d = nullptr;
    if (const Error e = enter(device, scope, &d))
        return e;
    const NearDevice near(d->bus_id());
    return check("cudaHostRegister",
                 cudaHostRegister(ptr, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped));
}

Error CudaBackend::unpin(int device, void *ptr)
{
    Scope scope;
    Device *d = nullptr;
    if (const Error e = enter(device, scope, &d))
        return e;
    return check("cudaHostUnregister", cudaHostUnregister(ptr));
}

} // namespace heddle::gpu::cuda
