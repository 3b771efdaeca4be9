// SPDX-License-Identifier: BSD-3-Clause
// Without CUDA: the simulated device, or host memory. Cells are looked at in copies.
#include "cells.hpp"
#include "rivals.hpp"

#include <cstdlib>
#include <cstring>
#include <limits>

namespace bench {

void fill_cells(stencil::Device &device, const Block &block, int round)
{
    std::vector<double> values(static_cast<size_t>(block.size()));
    for (int q = 0; q < block.quantities; ++q) {
        for (int64_t i = 0; i < block.size(); ++i) {
            bool is_halo;
            const double value = block.value(q, i, round, is_halo);
            values[static_cast<size_t>(i)] =
                is_halo ? std::numeric_limits<double>::quiet_NaN() : value;
        }
        device.write(block.at[q], values.data(), values.size());
    }
}

int64_t count_wrong(stencil::Device &device, const Block &block, int round)
{
    int64_t wrong = 0;
    std::vector<double> values(static_cast<size_t>(block.size()));
    for (int q = 0; q < block.quantities; ++q) {
        device.read(values.data(), block.at[q], values.size());
        for (int64_t i = 0; i < block.size(); ++i) {
            bool is_halo;
            wrong += values[static_cast<size_t>(i)] != block.value(q, i, round, is_halo);
        }
    }
    return wrong;
}

uint64_t checksum(stencil::Device &device, const Block &block)
{
    uint64_t sum = 0;
    std::vector<double> values(static_cast<size_t>(block.size()));
    for (int q = 0; q < block.quantities; ++q) {
        device.read(values.data(), block.at[q], values.size());
        for (int64_t i = 0; i < block.size(); ++i) {
            bool is_halo;
            uint64_t bits;
            block.value(q, i, 0, is_halo);
            std::memcpy(&bits, &values[static_cast<size_t>(i)], sizeof bits);
            sum += is_halo ? 0 : bits * static_cast<uint64_t>(2 * (q * block.size() + i) + 1);
        }
    }
    return sum;
}

std::unique_ptr<Rival> halo_by_hand(const stencil::Parts &, const stencil::Shape &,
                                    const stencil::Quantities &)
{
    return nullptr;
}

std::unique_ptr<Rival> halo_by_copies(const stencil::Parts &, const stencil::Shape &,
                                      const stencil::Quantities &)
{
    return nullptr;
}

std::function<void()> edges_through_host(const Plane &) { return nullptr; }

char *host_memory(size_t bytes) { return static_cast<char *>(std::malloc(bytes)); }
void free_host_memory(char *memory) { std::free(memory); }

} // namespace bench
