// SPDX-License-Identifier: BSD-3-Clause
// Where the quantities lie, and what computes.
#pragma once

#include "update.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace stencil {

class Device {
public:
    virtual ~Device() = default;
    virtual std::string name() const = 0;

    // Throws std::runtime_error where there is not so much.
    virtual double *allocate(size_t cells) = 0;
    virtual void release(double *memory) = 0;
    // At once, to and from the host.
    virtual void write(double *to, const double *from, size_t cells) = 0;
    virtual void read(double *to, const double *from, size_t cells) = 0;

    // What the next updates do.
    virtual void prepare(const Update &update, const Layout &layout) = 0;
    // Begins to update the cells of a box. A GPU goes on by itself.
    virtual void update(const Box &box, double *const in[], double *const out[]) = 0;
    // Whether all that began has ended; and waits for it.
    virtual bool is_idle() = 0;
    virtual void wait() = 0;
};

std::unique_ptr<Device> host_device();
// Device memory without a compiler for it: a GPU's by CUDA's driver, or that of Heddle's simulated
// device (HEDDLE_DEVICE), which tests use. The processor computes, on copies. `turn` counts the
// processes of a node.
std::unique_ptr<Device> memory_device(int turn);
// With kernels, where the program was built by nvcc (kernels.cu); otherwise null.
std::unique_ptr<Device> cuda_device(int turn);

// Quantities of a block, each in an allocation of its own, twice: the old values and the new.
class Quantities {
public:
    Quantities(Device &device, const Layout &layout, int count);
    Quantities(const Quantities &) = delete;
    Quantities &operator=(const Quantities &) = delete;
    ~Quantities();

    int count() const { return count_; }
    Device &device() const { return device_; }
    const Layout &layout() const { return layout_; }
    // A pointer for each quantity; `which` is 0 or 1.
    double *const *at(int which) const { return memory_[static_cast<size_t>(which)].data(); }

private:
    Device &device_;
    Layout layout_;
    int count_;
    std::array<std::array<double *, kMostQuantities>, 2> memory_{};
};

} // namespace stencil
