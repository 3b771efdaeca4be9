// SPDX-License-Identifier: BSD-3-Clause
#include "devices.hpp"

#include "error_detail.hpp"
#include "settings.hpp"
#include "warnings.hpp"

#include <dlfcn.h>
#include <string_view>

namespace heddle::gpu {

Device::Device(Backend &backend, int ordinal, size_t slab_limit)
    : memory([&backend, ordinal](size_t bytes,
                                 void **at) { return backend.allocate(ordinal, bytes, at); },
             [&backend, ordinal](void *at) { backend.free(ordinal, at); }, slab_limit),
      pinned([&backend, ordinal](size_t bytes,
                                 void **at) { return backend.allocate_pinned(ordinal, bytes, at); },
             [&backend, ordinal](void *at) { backend.free_pinned(ordinal, at); }, slab_limit),
      retired(backend, ordinal),
      backend_(backend),
      ordinal_(ordinal)
{
}

int Device::own_stream(Stream &stream)
{
    static std::atomic<unsigned> threads{0};
    thread_local const unsigned thread = threads.fetch_add(1, std::memory_order_relaxed);
    return stream_at(thread % streams, stream);
}

int Device::stream_at(size_t number, Stream &stream)
{
    auto &slot = streams_[number];
    stream = slot.load(std::memory_order_acquire);
    if (stream)
        return HEDDLE_SUCCESS;
    const std::lock_guard lock(mutex_);
    stream = slot.load(std::memory_order_relaxed);
    if (stream)
        return HEDDLE_SUCCESS;
    if (const int e = backend_.stream_create(ordinal_, number / streams == 1, &stream))
        return e;
    slot.store(stream, std::memory_order_release);
    return HEDDLE_SUCCESS;
}

Devices::Devices(Backend &backend, size_t slab_limit) : backend_(backend)
{
    for (int i = 0; i < backend.device_count(); ++i)
        devices_.push_back(std::make_unique<Device>(backend, i, slab_limit));
}

namespace {

struct Opened {
    Devices *devices = nullptr;
    std::string status; // one line of heddle_info
};

// The folder of the library that this function is in.
std::string own_folder()
{
    Dl_info info;
    if (!dladdr(reinterpret_cast<void *>(&own_folder), &info) || !info.dli_fname)
        return {};
    const std::string_view path = info.dli_fname;
    const size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? std::string() : std::string(path.substr(0, slash + 1));
}

Opened no_device(const std::string &why) { return {nullptr, "no device: " + why}; }

Opened open_plugin(const std::string &path)
{
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        return no_device(why ? why : path);
    }
    const auto open = reinterpret_cast<OpenBackend>(dlsym(library, HEDDLE_BACKEND_SYMBOL));
    if (!open)
        return no_device(path + " is no plug-in of this version of Heddle");
    static constexpr Host host{set_error_detail};
    std::string reason;
    Backend *backend = open(host, reason);
    if (!backend) {
        const std::string detail = heddle_error_detail(); // the library's words, where one of its
                                                          // calls failed
        return no_device(path + ": " + reason + (detail.empty() ? "" : ": " + detail));
    }
    // Never destroyed: the device's library may be gone before static objects end.
    auto devices = std::make_unique<Devices>(*backend, Settings::get().slab_limit);
    return {devices.release(), std::string(backend->name()) + ": " + path};
}

// Most machines have no device, which is no news; that one which somebody named is missing is.
Opened open_as_set()
{
    const std::string &device = Settings::get().device;
    if (device == "none")
        return no_device("HEDDLE_DEVICE=none");
    if (device == "auto")
        return open_plugin(own_folder() + "libheddle-cuda.so");
    Opened opened = open_plugin(device);
    if (!opened.devices)
        warn(opened.status + " (HEDDLE_DEVICE=" + device + ")");
    return opened;
}

std::atomic<Devices *> opened_before;

const Opened &opened()
{
    static const Opened &instance = []() -> const Opened & {
        const Opened &made = *std::make_unique<Opened>(open_as_set()).release();
        opened_before = made.devices;
        return made;
    }();
    return instance;
}

} // namespace

Devices *Devices::open() { return opened().devices; }

Devices *Devices::if_open() { return opened_before; }

const std::string &Devices::status() { return opened().status; }

} // namespace heddle::gpu
