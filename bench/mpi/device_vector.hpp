// SPDX-License-Identifier: BSD-3-Clause
// Doubles on a device, for benchmarks that need no CUDA to compile.
#pragma once

#include "../../test/gpu/device_memory.hpp"

#include <stdexcept>
#include <vector>

namespace bench {

// From `first` on, `step` apart.
inline auto rising(double first, double step = 1)
{
    return [=](int64_t i) { return first + step * static_cast<double>(i); };
}

// Of a rank's device: its own, or another's.
class DeviceVector {
public:
    DeviceVector(int64_t n, int rank)
        : n_(static_cast<size_t>(n)),
          memory_({gpu::Kind::device, rank % gpu::Machine::get().devices()}, n_ * sizeof(double))
    {
        if (!memory_)
            throw std::runtime_error("no device memory");
    }
    void *at() const { return memory_.at(); }
    // Element i is value(i).
    template <class Value> void fill(Value value) const
    {
        std::vector<double> values(n_);
        for (size_t i = 0; i < n_; ++i)
            values[i] = value(static_cast<int64_t>(i));
        memory_.write(0, values.data(), n_ * sizeof(double));
    }
    std::vector<double> read() const
    {
        std::vector<double> values(n_);
        memory_.read(0, values.data(), n_ * sizeof(double));
        return values;
    }

private:
    size_t n_;
    gpu::Memory memory_;
};

} // namespace bench
