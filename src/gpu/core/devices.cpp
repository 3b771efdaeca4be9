// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/core/devices.hpp"

#include "engine/immortal.hpp"
#include "gpu/core/affinity.hpp"
#include "gpu/core/error_detail.hpp"
#include "gpu/core/log.hpp"
#include "gpu/core/settings.hpp"
#include "gpu/core/warnings.hpp"

#include <dlfcn.h>
#include <string_view>

namespace heddle::gpu {

// Logs an allocation of the library's own, whose error it returns.
static Error logged(int ordinal, const char *kind, size_t bytes, Error error)
{
    if (logs(Topic::memory))
        log_line(Topic::memory, "device %d: %zu bytes of %s memory: %s", ordinal, bytes, kind,
                 error ? heddle_strerror(error.code()) : "allocated");
    return error;
}

Device::Device(Backend &backend, int ordinal, size_t slab_limit)
    : memory(
          [&backend, ordinal](size_t bytes, void **at) {
              return logged(ordinal, "device", bytes, backend.allocate(ordinal, bytes, at));
          },
          [&backend, ordinal](void *at) { static_cast<void>(backend.free(ordinal, at)); },
          slab_limit),
      pinned(
          [&backend, ordinal](size_t bytes, void **at) {
              return logged(ordinal, "pinned", bytes, backend.allocate_pinned(ordinal, bytes, at));
          },
          [&backend, ordinal](void *at) { static_cast<void>(backend.free_pinned(ordinal, at)); },
          slab_limit),
      deferred(backend, ordinal),
      backend_(backend),
      ordinal_(ordinal)
{
}

Error Device::own_stream(Stream &stream)
{
    static std::atomic<unsigned> threads{0};
    thread_local const unsigned thread = threads.fetch_add(1, std::memory_order_relaxed);
    return stream_at(thread % streams, stream);
}

Error Device::stream_at(size_t number, Stream &stream)
{
    auto &slot = streams_[number];
    stream = slot.load(std::memory_order_acquire);
    if (stream)
        return HEDDLE_SUCCESS;
    warn_if_far(backend_, ordinal_);
    const std::lock_guard lock(mutex_);
    stream = slot.load(std::memory_order_relaxed);
    if (stream)
        return HEDDLE_SUCCESS;
    if (const Error e = backend_.stream_create(ordinal_, number / streams == 1, &stream))
        return e;
    slot.store(stream, std::memory_order_release);
    return HEDDLE_SUCCESS;
}

Devices::Devices(Backend &backend, size_t slab_limit) : backend_(backend)
{
    for (int i = 0; i < backend.device_count(); ++i)
        devices_.push_back(std::make_unique<Device>(backend, i, slab_limit));
    has_profiler_ = backend.has_profiler();
}

namespace {

struct Opened {
    std::unique_ptr<Devices> devices;
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
    static constexpr Host host{set_error_detail, [](const char *text) { warn(text); }};
    std::string reason;
    Backend *backend = open(host, reason);
    if (!backend) {
        const std::string detail = heddle_error_detail(); // the library's words, where one of its
                                                          // calls failed
        return no_device(path + ": " + reason + (detail.empty() ? "" : ": " + detail));
    }
    return {std::make_unique<Devices>(*backend, Settings::get().slab_limit),
            std::string(backend->name()) + ": " + path};
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

void tell(const Opened &opened)
{
    log_line(Topic::info, "%s", opened.status.c_str());
    for (int i = 0; opened.devices && i < opened.devices->count(); ++i)
        log_line(Topic::info, "device %d: %s", i, opened.devices->backend().describe(i).c_str());
}

std::atomic<Devices *> opened_before;

const Opened &opened()
{
    static Immortal<Opened> instance([] {
        Opened made = open_as_set();
        opened_before = made.devices.get();
        if (logs(Topic::info))
            tell(made);
        return made;
    }());
    return *instance;
}

} // namespace

Devices *Devices::open() { return opened().devices.get(); }

Devices *Devices::if_open() { return opened_before; }

const std::string &Devices::status() { return opened().status; }

} // namespace heddle::gpu
