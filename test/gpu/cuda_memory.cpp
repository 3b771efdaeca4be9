/* SPDX-License-Identifier: BSD-3-Clause
 *
 * CUDA's memory, by the driver's API and dlsym: the program itself needs no CUDA to build or to
 * start.
 */
#include "device_memory.hpp"

#include <dlfcn.h>
#include <map>
#include <mutex>
#include <stdexcept>
#include <tuple>

namespace gpu {
namespace {

/* The parts of cuda.h that are used here. */
using Result = int;
using Address = unsigned long long;
using Context = void *;
constexpr unsigned attach_global = 1;       /* CU_MEM_ATTACH_GLOBAL */
constexpr unsigned host_portable = 1;       /* CU_MEMHOSTALLOC_PORTABLE */
constexpr unsigned non_blocking_stream = 1; /* CU_STREAM_NON_BLOCKING */
constexpr int global_capture = 0;           /* CU_STREAM_CAPTURE_MODE_GLOBAL */

struct Driver {
    Result (*init)(unsigned);
    Result (*device_count)(int *);
    Result (*device_get)(int *, int);
    Result (*can_access_peer)(int *, int, int);
    Result (*retain)(Context *, int);
    Result (*context_state)(int, unsigned *, int *);
    Result (*set_current)(Context);
    Result (*alloc)(Address *, size_t);
    Result (*alloc_managed)(Address *, size_t, unsigned);
    Result (*alloc_host)(void **, size_t, unsigned);
    Result (*free)(Address);
    Result (*free_host)(void *);
    Result (*pin)(void *, size_t, unsigned);
    Result (*unpin)(void *);
    Result (*copy)(Address, Address, size_t);
    Result (*stream_create)(void **, unsigned);
    Result (*stream_destroy)(void *);
    Result (*stream_synchronize)(void *);
    Result (*begin_capture)(void *, int);
    Result (*end_capture)(void *, void **);
    Result (*graph_destroy)(void *);
    Result (*alloc_async)(Address *, size_t, void *);
    Result (*free_async)(Address, void *);
};

void check(Result result, const char *call)
{
    if (result != 0)
        throw std::runtime_error(std::string(call) + ": CUDA error " + std::to_string(result));
}

class Cuda final : public Machine {
public:
    Cuda(const Driver &driver, int devices)
        : driver_(driver), contexts_(static_cast<size_t>(devices))
    {
    }

    const char *name() const override { return "cuda"; }
    int devices() const override { return static_cast<int>(contexts_.size()); }
    bool reach_each_other() const override
    {
        for (int from = 0; from < devices(); ++from)
            for (int to = 0; to < devices(); ++to)
                if (from != to && !reaches(from, to))
                    return false;
        return true;
    }

    void *allocate(Place place, size_t bytes) override
    {
        if (place.kind == Kind::pageable)
            return allocate_pageable(bytes);
        const size_t rounded = round_up(bytes);
        if (void *kept = take(place, rounded))
            return kept;
        use(place.device);
        Address address = 0;
        void *host = nullptr;
        switch (place.kind) {
        case Kind::pinned:
            return driver_.alloc_host(&host, rounded, host_portable) == 0 ? host : nullptr;
        case Kind::managed:
            return driver_.alloc_managed(&address, rounded, attach_global) == 0 ? pointer(address)
                                                                                : nullptr;
        default:
            return driver_.alloc(&address, rounded) == 0 ? pointer(address) : nullptr;
        }
    }

    void release(Place place, void *memory, size_t bytes) override
    {
        if (place.kind == Kind::pageable)
            return release_pageable(memory, bytes);
        const size_t rounded = round_up(bytes);
        if (rounded <= kept_at_most) {
            const std::lock_guard lock(mutex_);
            kept_[key(place, rounded)].push_back(memory);
            return;
        }
        use(place.device);
        if (place.kind == Kind::pinned)
            driver_.free_host(memory);
        else
            driver_.free(reinterpret_cast<Address>(memory));
    }

    bool pin(void *memory, size_t bytes) override
    {
        use(0);
        return driver_.pin(memory, bytes, host_portable) == 0;
    }
    void unpin(void *memory) override
    {
        use(0);
        check(driver_.unpin(memory), "cuMemHostUnregister");
    }

    void copy(void *to, const void *from, size_t bytes) override
    {
        if (bytes == 0)
            return;
        use(0);
        check(driver_.copy(reinterpret_cast<Address>(to), reinterpret_cast<Address>(from), bytes),
              "cuMemcpy");
        /* It may return while the last bytes are still on their way to the device. */
        check(driver_.stream_synchronize(nullptr), "cuStreamSynchronize");
    }

    int64_t largest(Kind kind) const override
    {
        return kind == Kind::pageable ? largest_pageable() : int64_t{64} << 20;
    }

    void *make_stream(int device) override
    {
        use(device);
        void *stream = nullptr;
        check(driver_.stream_create(&stream, non_blocking_stream), "cuStreamCreate");
        return stream;
    }
    void end_stream(int device, void *stream) override
    {
        use(device);
        driver_.stream_destroy(stream);
    }
    void synchronize(int device, void *stream) override
    {
        use(device);
        check(driver_.stream_synchronize(stream), "cuStreamSynchronize");
    }
    void *allocate_on(int device, void *stream, size_t bytes) override
    {
        use(device);
        Address address = 0;
        return driver_.alloc_async(&address, bytes, stream) == 0 ? pointer(address) : nullptr;
    }
    void release_on(int device, void *stream, void *memory, size_t) override
    {
        use(device);
        check(driver_.free_async(reinterpret_cast<Address>(memory), stream), "cuMemFreeAsync");
    }

    bool begin_capture(int device, void *stream) override
    {
        use(device);
        check(driver_.begin_capture(stream, global_capture), "cuStreamBeginCapture");
        return true;
    }
    bool end_capture(int device, void *stream) override
    {
        use(device);
        void *graph = nullptr;
        if (driver_.end_capture(stream, &graph) != 0)
            return false;
        check(driver_.graph_destroy(graph), "cuGraphDestroy");
        return true;
    }

    bool in_use(int device) override
    {
        unsigned flags = 0;
        int active = 0;
        check(driver_.context_state(handle(device), &flags, &active), "cuDevicePrimaryCtxGetState");
        return active != 0;
    }

private:
    using Key = std::tuple<Kind, int, size_t>;

    /* Allocating takes CUDA long, so small pieces are kept for the next case. */
    static constexpr size_t kept_at_most = size_t{16} << 20;

    bool reaches(int from, int to) const
    {
        int devices[2] = {0, 0}, can = 0;
        check(driver_.device_get(&devices[0], from), "cuDeviceGet");
        check(driver_.device_get(&devices[1], to), "cuDeviceGet");
        check(driver_.can_access_peer(&can, devices[0], devices[1]), "cuDeviceCanAccessPeer");
        return can != 0;
    }

    static size_t round_up(size_t bytes)
    {
        size_t rounded = size_t{64} << 10;
        while (rounded < bytes && rounded < kept_at_most)
            rounded *= 2;
        return rounded < bytes ? bytes : rounded;
    }
    static Key key(Place place, size_t rounded) { return {place.kind, place.device, rounded}; }
    static void *pointer(Address address) { return reinterpret_cast<void *>(address); }
    int handle(int device) const
    {
        int found = 0;
        check(driver_.device_get(&found, device), "cuDeviceGet");
        return found;
    }
    /* A device has a context from its first use on, as it would have by CUDA's runtime. */
    void use(int device)
    {
        Context &context = contexts_[static_cast<size_t>(device)];
        {
            const std::lock_guard lock(contexts_mutex_);
            if (!context)
                check(driver_.retain(&context, handle(device)), "cuDevicePrimaryCtxRetain");
        }
        check(driver_.set_current(context), "cuCtxSetCurrent");
    }
    void *take(Place place, size_t rounded)
    {
        const std::lock_guard lock(mutex_);
        auto &kept = kept_[key(place, rounded)];
        if (kept.empty())
            return nullptr;
        void *memory = kept.back();
        kept.pop_back();
        return memory;
    }

    const Driver driver_;
    std::vector<Context> contexts_;
    std::mutex contexts_mutex_;
    std::mutex mutex_;
    std::map<Key, std::vector<void *>> kept_;
};

} // namespace

std::unique_ptr<Machine> open_cuda()
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library)
        return nullptr;
    bool complete = true;
    const auto find = [&](auto &function, const char *symbol) {
        void *found = dlsym(library, symbol);
        complete = complete && found;
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
    };
    Driver driver{};
    find(driver.init, "cuInit");
    find(driver.device_count, "cuDeviceGetCount");
    find(driver.device_get, "cuDeviceGet");
    find(driver.can_access_peer, "cuDeviceCanAccessPeer");
    find(driver.retain, "cuDevicePrimaryCtxRetain");
    find(driver.context_state, "cuDevicePrimaryCtxGetState");
    find(driver.set_current, "cuCtxSetCurrent");
    find(driver.alloc, "cuMemAlloc_v2");
    find(driver.alloc_managed, "cuMemAllocManaged");
    find(driver.alloc_host, "cuMemHostAlloc");
    find(driver.free, "cuMemFree_v2");
    find(driver.free_host, "cuMemFreeHost");
    find(driver.pin, "cuMemHostRegister_v2");
    find(driver.unpin, "cuMemHostUnregister");
    find(driver.copy, "cuMemcpy");
    find(driver.stream_create, "cuStreamCreate");
    find(driver.stream_destroy, "cuStreamDestroy_v2");
    find(driver.stream_synchronize, "cuStreamSynchronize");
    find(driver.begin_capture, "cuStreamBeginCapture_v2");
    find(driver.end_capture, "cuStreamEndCapture");
    find(driver.graph_destroy, "cuGraphDestroy");
    find(driver.alloc_async, "cuMemAllocAsync");
    find(driver.free_async, "cuMemFreeAsync");
    int devices = 0;
    if (!complete || driver.init(0) != 0 || driver.device_count(&devices) != 0 || devices == 0)
        return nullptr;
    return std::make_unique<Cuda>(driver, devices);
}

} // namespace gpu
