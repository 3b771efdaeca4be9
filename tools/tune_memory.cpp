// SPDX-License-Identifier: BSD-3-Clause
#include "tune_memory.hpp"

#include "gpu_memory.hpp"
#include "heddle.h"
#include "information.hpp"

#include <algorithm>
#include <dlfcn.h>
#include <string_view>
#include <vector>

namespace heddle::tools {
namespace {

class OfGpu final : public TuneMemory {
public:
    explicit OfGpu(std::unique_ptr<Gpu> first) { gpus_.push_back(std::move(first)); }
    std::string device() const override { return gpus_.front()->name(); }
    int devices() const override { return gpus_.front()->count(); }
    void *on_device(size_t bytes, int device) override
    {
        const auto at = static_cast<size_t>(device);
        gpus_.resize(std::max(gpus_.size(), at + 1));
        std::string reason;
        if (!gpus_[at])
            gpus_[at] = Gpu::open(reason, device);
        return gpus_[at] ? gpus_[at]->allocate(bytes) : nullptr;
    }
    void *pinned(size_t bytes) override { return gpus_.front()->allocate_pinned(bytes); }
    void free(void *memory) override
    {
        for (const auto &each : gpus_)
            if (each && each->free(memory))
                return;
    }

private:
    std::vector<std::unique_ptr<Gpu>> gpus_; // null: not asked for yet
};

// The devices of which the library tells, "device 0: ..." and so on.
int devices_in(const std::string &text)
{
    int count = 0;
    while (text.find("\ndevice " + std::to_string(count) + ": ") != text.npos)
        ++count;
    return count;
}

class OfSimulation final : public TuneMemory {
public:
    explicit OfSimulation(void *library) : library_(library)
    {
        find(malloc_, "heddle_sim_malloc");
        find(malloc_host_, "heddle_sim_malloc_host");
        find(free_, "heddle_sim_free");
    }
    ~OfSimulation() override
    {
        for (void *const each : allocated_)
            free_(each);
    }
    bool is_complete() const { return malloc_ && malloc_host_ && free_; }
    std::string device() const override { return "simulated device"; }
    int devices() const override { return devices_in(information()); }
    void *on_device(size_t bytes, int device) override
    {
        void *at = nullptr;
        return kept(malloc_(device, bytes, &at) == 0 ? at : nullptr);
    }
    void *pinned(size_t bytes) override
    {
        void *at = nullptr;
        return kept(malloc_host_(bytes, &at) == 0 ? at : nullptr);
    }
    void free(void *memory) override
    {
        if (std::erase(allocated_, memory) > 0)
            free_(memory);
    }

private:
    template <class Function> void find(Function &function, const char *name)
    {
        function = reinterpret_cast<Function>(dlsym(library_, name));
    }
    void *kept(void *at)
    {
        if (at)
            allocated_.push_back(at);
        return at;
    }

    void *library_; // stays open: libheddle has it, too
    int (*malloc_)(int, size_t, void **) = nullptr;
    int (*malloc_host_)(size_t, void **) = nullptr;
    int (*free_)(void *) = nullptr;
    std::vector<void *> allocated_;
};

// The path of the open plug-in, from the line "sim: /path".
std::string path_of_plugin(const std::string &text, const std::string &name)
{
    const std::string begin = "\n" + name + ": ";
    const size_t at = text.find(begin);
    if (at == std::string::npos)
        return {};
    const size_t path = at + begin.size();
    return text.substr(path, text.find('\n', path) - path);
}

} // namespace

std::unique_ptr<TuneMemory> TuneMemory::open(std::string &reason)
{
    if (heddle_device_open() != HEDDLE_SUCCESS) {
        reason = "no device is open; heddle-info says why";
        return nullptr;
    }
    const std::string name = heddle_device_plugin();
    if (name == "cuda") {
        auto gpu = Gpu::open(reason);
        return gpu ? std::make_unique<OfGpu>(std::move(gpu)) : nullptr;
    }
    void *const library =
        dlopen(path_of_plugin(information(), name).c_str(), RTLD_NOW | RTLD_LOCAL);
    auto simulation = library ? std::make_unique<OfSimulation>(library) : nullptr;
    if (!simulation || !simulation->is_complete()) {
        reason = "the plug-in " + name + " gives no memory to programs";
        return nullptr;
    }
    return simulation;
}

} // namespace heddle::tools
