// SPDX-License-Identifier: BSD-3-Clause
#include "device.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <vector>

namespace stencil {

namespace {

// Computes in the host's memory, and ends before it returns.
class Host final : public Device {
public:
    std::string name() const override { return "host memory"; }

    double *allocate(size_t cells) override { return new double[cells]; }
    void release(double *memory) override { delete[] memory; }
    void write(double *to, const double *from, size_t cells) override
    {
        std::copy_n(from, cells, to);
    }
    void read(double *to, const double *from, size_t cells) override
    {
        std::copy_n(from, cells, to);
    }

    void prepare(const Update &update, const Layout &layout) override
    {
        update_ = update;
        layout_ = layout;
    }
    void update(const Box &box, double *const in[], double *const out[]) override
    {
        update_on_host(update_, layout_, box, in, out);
    }
    bool is_idle() override { return true; }
    void wait() override {}

private:
    Update update_;
    Layout layout_;
};

// Three functions of a library that is there at run time only.
struct Functions {
    std::string name;
    int (*allocate)(void **memory, size_t bytes) = nullptr;
    int (*release)(void *memory) = nullptr;
    int (*copy)(void *to, const void *from, size_t bytes) = nullptr;
};

template <class F> F *find(void *library, const char *symbol)
{
    void *const found = dlsym(library, symbol);
    if (!found)
        throw std::runtime_error(std::string("the device's library lacks ") + symbol);
    return reinterpret_cast<F *>(found);
}

// The simulated device, where MPI has opened it.
bool find_simulated(int turn, Functions &functions)
{
    const char *const path = std::getenv("HEDDLE_DEVICE");
    void *const library = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : nullptr;
    if (!library || !dlsym(library, "heddle_sim_malloc"))
        return false;
    static int device;
    static int (*allocate)(int, size_t, void **);
    allocate = find<int(int, size_t, void **)>(library, "heddle_sim_malloc");
    functions.name = "memory of a simulated device";
    functions.allocate = [](void **memory, size_t bytes) {
        return allocate(device, bytes, memory);
    };
    functions.release = find<int(void *)>(library, "heddle_sim_free");
    functions.copy = find<int(void *, const void *, size_t)>(library, "heddle_sim_memcpy");
    // There may be fewer devices than processes.
    for (device = turn;; device = 0) {
        void *memory = nullptr;
        if (allocate(device, 1, &memory) == 0 && functions.release(memory) == 0) {
            find<int(int)>(library, "heddle_sim_set_device")(device);
            return true;
        }
        if (device == 0)
            throw std::runtime_error("the simulated device has no memory");
    }
}

void find_cuda(int turn, Functions &functions)
{
    void *const cuda = dlopen("libcuda.so.1", RTLD_NOW);
    if (!cuda)
        throw std::runtime_error("there is no CUDA driver here (libcuda.so.1)");
    int devices = 0;
    void *context = nullptr;
    if (find<int(unsigned)>(cuda, "cuInit")(0) ||
        find<int(int *)>(cuda, "cuDeviceGetCount")(&devices) || devices == 0 ||
        find<int(void **, int)>(cuda, "cuDevicePrimaryCtxRetain")(&context, turn % devices) ||
        find<int(void *)>(cuda, "cuCtxSetCurrent")(context))
        throw std::runtime_error("CUDA's driver finds no GPU that can be used");
    // Its addresses are integers, which are passed as pointers are.
    functions.name = "a GPU's memory; the processor computes";
    functions.allocate = find<int(void **, size_t)>(cuda, "cuMemAlloc_v2");
    functions.release = find<int(void *)>(cuda, "cuMemFree_v2");
    functions.copy = find<int(void *, const void *, size_t)>(cuda, "cuMemcpy");
}

// Device memory that the processor computes with: it copies what it needs, row by row.
class MemoryAlone final : public Device {
public:
    explicit MemoryAlone(int turn)
    {
        if (!find_simulated(turn, functions_))
            find_cuda(turn, functions_);
    }
    std::string name() const override { return functions_.name; }

    double *allocate(size_t cells) override
    {
        void *memory = nullptr;
        if (functions_.allocate(&memory, cells * sizeof(double)))
            throw std::runtime_error("the device has no memory for " + std::to_string(cells) +
                                     " cells");
        return static_cast<double *>(memory);
    }
    void release(double *memory) override { functions_.release(memory); }
    void write(double *to, const double *from, size_t cells) override { copy(to, from, cells); }
    void read(double *to, const double *from, size_t cells) override { copy(to, from, cells); }

    void prepare(const Update &update, const Layout &layout) override
    {
        update_ = update;
        layout_ = layout;
        for (auto *mirror : {&in_, &out_})
            mirror->assign(update.first.size() - 1, std::vector<double>(layout.size()));
    }
    void update(const Box &box, double *const in[], double *const out[]) override
    {
        double *in_here[kMostQuantities], *out_here[kMostQuantities];
        for (size_t q = 0; q < in_.size(); ++q) {
            read(in_[q].data(), in[q], layout_.size());
            in_here[q] = in_[q].data();
            out_here[q] = out_[q].data();
        }
        update_on_host(update_, layout_, box, in_here, out_here);
        for (size_t q = 0; q < in_.size(); ++q)
            for (int64_t z = box.begin[2]; z < box.end[2]; ++z)
                for (int64_t y = box.begin[1]; y < box.end[1]; ++y) {
                    const int64_t at = layout_.index(box.begin[0], y, z);
                    write(out[q] + at, out_here[q] + at, static_cast<size_t>(box.extent(0)));
                }
    }
    bool is_idle() override { return true; }
    void wait() override {}

private:
    void copy(double *to, const double *from, size_t cells) const
    {
        if (functions_.copy(to, from, cells * sizeof(double)))
            throw std::runtime_error("the device does not copy");
    }

    Functions functions_;
    Update update_;
    Layout layout_;
    std::vector<std::vector<double>> in_, out_; // mirrors in host memory
};

} // namespace

std::unique_ptr<Device> host_device() { return std::make_unique<Host>(); }

std::unique_ptr<Device> memory_device(int turn) { return std::make_unique<MemoryAlone>(turn); }

#ifndef STENCIL_KERNELS
std::unique_ptr<Device> cuda_device(int) { return nullptr; }
#endif

Quantities::Quantities(Device &device, const Layout &layout, int count)
    : device_(device), layout_(layout), count_(count)
{
    for (auto &each : memory_)
        for (size_t q = 0; q < static_cast<size_t>(count); ++q)
            each[q] = device.allocate(layout.size());
}

Quantities::~Quantities()
{
    for (auto &each : memory_)
        for (double *memory : each)
            if (memory)
                device_.release(memory);
}

} // namespace stencil
