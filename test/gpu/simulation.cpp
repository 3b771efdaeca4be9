/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulated device's memory, by the functions that its plug-in exports for tests.
 */
#include "device_memory.hpp"

#include "../../src/gpu/sim/sim.h"

#include <cstdlib>
#include <dlfcn.h>
#include <stdexcept>

namespace gpu {
namespace {

class Simulation final : public Machine {
public:
    explicit Simulation(void *library) : library_(library)
    {
        for (void *stream = nullptr; create_(devices_, &stream) == 0; ++devices_)
            destroy_(stream);
    }

    const char *name() const override { return "sim"; }
    int devices() const override { return devices_; }
    bool reach_each_other() const override
    {
        const char *const peers = std::getenv("HEDDLE_SIM_PEER");
        return devices_ == 1 || !peers || std::string(peers) == "1";
    }

    void *allocate(Place place, size_t bytes) override
    {
        void *at = nullptr;
        switch (place.kind) {
        case Kind::pageable:
            return allocate_pageable(bytes);
        case Kind::pinned:
            return malloc_host_(bytes, &at) == 0 ? at : nullptr;
        case Kind::managed:
            return malloc_managed_(place.device, bytes, &at) == 0 ? at : nullptr;
        default:
            return malloc_(place.device, bytes, &at) == 0 ? at : nullptr;
        }
    }
    void release(Place place, void *memory, size_t bytes) override
    {
        if (place.kind == Kind::pageable)
            release_pageable(memory, bytes);
        else
            free_(memory);
    }
    bool pin(void *memory, size_t bytes) override { return register_(memory, bytes) == 0; }
    void unpin(void *memory) override { unregister_(memory); }
    void copy(void *to, const void *from, size_t bytes) override
    {
        if (memcpy_(to, from, bytes) != 0)
            throw std::runtime_error("heddle_sim_memcpy: outside of the memory");
    }
    int64_t largest(Kind kind) const override
    {
#if defined(__SANITIZE_THREAD__)
        constexpr int64_t farthest = int64_t{1} << 29;
#else
        constexpr int64_t farthest = int64_t{1} << 33;
#endif
        return kind == Kind::pageable ? largest_pageable()
               : kind == Kind::device ? farthest
                                      : int64_t{64} << 20;
    }

    void *make_stream(int device) override
    {
        void *stream = nullptr;
        if (create_(device, &stream) != 0)
            throw std::runtime_error("heddle_sim_stream_create");
        return stream;
    }
    void end_stream(int, void *stream) override { destroy_(stream); }
    void synchronize(int, void *stream) override
    {
        if (synchronize_(stream) != 0)
            throw std::runtime_error("the simulated device failed");
    }

    bool configure(const char *switches) override
    {
        if (configure_(switches) != 0)
            throw std::runtime_error("the simulation does not know " + std::string(switches));
        return true;
    }
    int64_t count(const char *what) override { return count_(what); }
    bool in_use(int) override
    {
        for (const char *call : {"allocate", "allocate_pinned", "stream_create", "stream_device",
                                 "stream_synchronize", "launch", "copy", "copy_2d", "copy_3d",
                                 "done_acquire", "done_after_all", "export_memory", "pin"})
            if (count(call) > 0)
                return true;
        return false;
    }

private:
    template <class F> F find(const char *symbol) const
    {
        void *found = dlsym(library_, symbol);
        if (!found)
            throw std::runtime_error(std::string("the plug-in lacks ") + symbol);
        return reinterpret_cast<F>(found);
    }

    void *const library_;
#define SIM_FUNCTION(member, symbol)                                                               \
    decltype(&symbol) const member = find<decltype(&symbol)>(#symbol)
    SIM_FUNCTION(configure_, heddle_sim_configure);
    SIM_FUNCTION(count_, heddle_sim_count);
    SIM_FUNCTION(malloc_, heddle_sim_malloc);
    SIM_FUNCTION(malloc_managed_, heddle_sim_malloc_managed);
    SIM_FUNCTION(malloc_host_, heddle_sim_malloc_host);
    SIM_FUNCTION(free_, heddle_sim_free);
    SIM_FUNCTION(register_, heddle_sim_host_register);
    SIM_FUNCTION(unregister_, heddle_sim_host_unregister);
    SIM_FUNCTION(memcpy_, heddle_sim_memcpy);
    SIM_FUNCTION(create_, heddle_sim_stream_create);
    SIM_FUNCTION(destroy_, heddle_sim_stream_destroy);
    SIM_FUNCTION(synchronize_, heddle_sim_stream_synchronize);
#undef SIM_FUNCTION
    int devices_ = 0;
};

} // namespace

std::unique_ptr<Machine> open_simulation()
{
    const char *path = getenv("HEDDLE_DEVICE");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : nullptr;
    if (!library || !dlsym(library, "heddle_sim_malloc"))
        return nullptr;
    return std::make_unique<Simulation>(library);
}

} // namespace gpu
