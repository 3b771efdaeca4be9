// SPDX-License-Identifier: BSD-3-Clause
#include "gpu_memory.hpp"

#include <dlfcn.h>

namespace heddle::tools {
namespace {

// The driver API's types, as its manual gives them.
using Result = int;
using Device = int;
using Address = unsigned long long;

struct Unload {
    void operator()(void *library) const { dlclose(library); }
};

} // namespace

struct Gpu::Driver {
    std::unique_ptr<void, Unload> library;
    Result (*init)(unsigned) = nullptr;
    Result (*device_count)(int *) = nullptr;
    Result (*device_get)(Device *, int) = nullptr;
    Result (*device_name)(char *, int, Device) = nullptr;
    Result (*retain)(void **, Device) = nullptr;
    Result (*release)(Device) = nullptr;
    Result (*set_current)(void *) = nullptr;
    Result (*memory_info)(size_t *, size_t *) = nullptr;
    Result (*allocate)(Address *, size_t) = nullptr;
    Result (*free)(Address) = nullptr;
    Result (*allocate_host)(void **, size_t, unsigned) = nullptr;
    Result (*free_host)(void *) = nullptr;
    Result (*fill)(Address, unsigned char, size_t) = nullptr;
    Result (*copy)(Address, Address, size_t, void *) = nullptr;
    Result (*stream_create)(void **, unsigned) = nullptr;
    Result (*stream_destroy)(void *) = nullptr;
    Result (*event_create)(void **, unsigned) = nullptr;
    Result (*event_destroy)(void *) = nullptr;
    Result (*event_record)(void *, void *) = nullptr;
    Result (*event_wait)(void *) = nullptr;
    Result (*event_elapsed)(float *, void *, void *) = nullptr;
    Result (*error_name)(Result, const char **) = nullptr;

    Device device = 0;
    void *context = nullptr;
    bool retained = false;
    void *stream = nullptr, *first = nullptr, *last = nullptr;
    std::string name;

    ~Driver()
    {
        if (last)
            event_destroy(last);
        if (first)
            event_destroy(first);
        if (stream)
            stream_destroy(stream);
        if (retained)
            release(device);
    }

    template <class Function> bool find(Function &function, const char *symbol, std::string &reason)
    {
        function = reinterpret_cast<Function>(dlsym(library.get(), symbol));
        if (!function)
            reason = std::string("the CUDA driver has no ") + symbol;
        return function != nullptr;
    }

    bool load(std::string &reason)
    {
        library.reset(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL));
        if (!library) {
            const char *why = dlerror();
            reason = why ? why : "libcuda.so.1 was not found";
            return false;
        }
        return find(init, "cuInit", reason) && find(device_count, "cuDeviceGetCount", reason) &&
               find(device_get, "cuDeviceGet", reason) &&
               find(device_name, "cuDeviceGetName", reason) &&
               find(retain, "cuDevicePrimaryCtxRetain", reason) &&
               find(release, "cuDevicePrimaryCtxRelease_v2", reason) &&
               find(set_current, "cuCtxSetCurrent", reason) &&
               find(memory_info, "cuMemGetInfo_v2", reason) &&
               find(allocate, "cuMemAlloc_v2", reason) && find(free, "cuMemFree_v2", reason) &&
               find(allocate_host, "cuMemHostAlloc", reason) &&
               find(free_host, "cuMemFreeHost", reason) && find(fill, "cuMemsetD8_v2", reason) &&
               find(copy, "cuMemcpyDtoDAsync_v2", reason) &&
               find(stream_create, "cuStreamCreate", reason) &&
               find(stream_destroy, "cuStreamDestroy_v2", reason) &&
               find(event_create, "cuEventCreate", reason) &&
               find(event_destroy, "cuEventDestroy_v2", reason) &&
               find(event_record, "cuEventRecord", reason) &&
               find(event_wait, "cuEventSynchronize", reason) &&
               find(event_elapsed, "cuEventElapsedTime", reason) &&
               find(error_name, "cuGetErrorName", reason);
    }

    bool check(Result result, const char *call, std::string &reason) const
    {
        if (result == 0)
            return true;
        const char *text = nullptr;
        error_name(result, &text);
        reason = std::string(call) + ": " + (text ? text : std::to_string(result).c_str());
        return false;
    }

    bool start(int ordinal, std::string &reason)
    {
        constexpr unsigned non_blocking = 1;
        char text[256] = "";
        if (!check(init(0), "cuInit", reason) ||
            !check(device_get(&device, ordinal), "cuDeviceGet", reason) ||
            !check(device_name(text, sizeof text, device), "cuDeviceGetName", reason) ||
            !check(retain(&context, device), "cuDevicePrimaryCtxRetain", reason))
            return false;
        name = text;
        retained = true;
        return check(set_current(context), "cuCtxSetCurrent", reason) &&
               check(stream_create(&stream, non_blocking), "cuStreamCreate", reason) &&
               check(event_create(&first, 0), "cuEventCreate", reason) &&
               check(event_create(&last, 0), "cuEventCreate", reason);
    }
};

Gpu::Gpu(std::unique_ptr<Driver> driver) : driver_(std::move(driver)) {}

Gpu::~Gpu()
{
    driver_->set_current(driver_->context);
    for (const Address each : allocated_)
        driver_->free(each);
    for (void *const each : pinned_)
        driver_->free_host(each);
}

std::unique_ptr<Gpu> Gpu::open(std::string &reason, int ordinal)
{
    auto driver = std::make_unique<Driver>();
    if (!driver->load(reason) || !driver->start(ordinal, reason))
        return nullptr;
    return std::unique_ptr<Gpu>(new Gpu(std::move(driver)));
}

const std::string &Gpu::name() const { return driver_->name; }
int Gpu::count() const
{
    int count = 0;
    return driver_->device_count(&count) == 0 ? count : 0;
}

void *Gpu::stream() const { return driver_->stream; }

size_t Gpu::free_bytes() const
{
    size_t left = 0, all = 0;
    return driver_->memory_info(&left, &all) == 0 ? left : 0;
}

void *Gpu::allocate(size_t bytes)
{
    Address address = 0;
    if (driver_->set_current(driver_->context) != 0 || driver_->allocate(&address, bytes) != 0)
        return nullptr;
    allocated_.push_back(address);
    driver_->fill(address, 0x5a, bytes);
    return reinterpret_cast<void *>(address);
}

void *Gpu::allocate_pinned(size_t bytes)
{
    void *at = nullptr;
    if (driver_->set_current(driver_->context) != 0 || driver_->allocate_host(&at, bytes, 0) != 0)
        return nullptr;
    pinned_.push_back(at);
    return at;
}

bool Gpu::free(void *memory)
{
    driver_->set_current(driver_->context);
    const auto address = reinterpret_cast<Address>(memory);
    if (std::erase(allocated_, address) > 0)
        return driver_->free(address) == 0;
    return std::erase(pinned_, memory) > 0 && driver_->free_host(memory) == 0;
}

bool Gpu::copy(void *to, const void *from, size_t bytes, std::string &reason)
{
    return driver_->check(driver_->copy(reinterpret_cast<Address>(to),
                                        reinterpret_cast<Address>(from), bytes, driver_->stream),
                          "cuMemcpyDtoDAsync", reason);
}

bool Gpu::begin(std::string &reason)
{
    return driver_->check(driver_->event_record(driver_->first, driver_->stream), "cuEventRecord",
                          reason);
}

bool Gpu::end(double &seconds, std::string &reason)
{
    float milliseconds = 0;
    if (!driver_->check(driver_->event_record(driver_->last, driver_->stream), "cuEventRecord",
                        reason) ||
        !driver_->check(driver_->event_wait(driver_->last), "cuEventSynchronize", reason) ||
        !driver_->check(driver_->event_elapsed(&milliseconds, driver_->first, driver_->last),
                        "cuEventElapsedTime", reason))
        return false;
    seconds = 1e-3 * milliseconds;
    return true;
}

} // namespace heddle::tools
