// SPDX-License-Identifier: BSD-3-Clause
#include "../../gpu/owner.hpp"
#include "cells.hpp"

namespace bench {
namespace {

constexpr unsigned kThreads = 256, kBlocks = 2048;

enum class What { fill, compare, sum };

template <What what> __global__ void visit(const Block block, int round, unsigned long long *found)
{
    unsigned long long mine = 0;
    for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
         i < block.size() * block.quantities; i += int64_t{gridDim.x} * blockDim.x) {
        const int q = static_cast<int>(i / block.size());
        const int64_t index = i % block.size();
        bool is_halo;
        const double value = block.value(q, index, round, is_halo);
        double &cell = block.at[q][index];
        if constexpr (what == What::fill)
            cell = is_halo ? -1.0 : value;
        else if constexpr (what == What::compare)
            mine += cell != value;
        else if (!is_halo)
            mine += static_cast<unsigned long long>(__double_as_longlong(cell)) *
                    static_cast<unsigned long long>(2 * i + 1);
    }
    if (mine != 0)
        atomicAdd(found, mine);
}

template <What what> uint64_t visited(const Block &block, int round)
{
    const Device found = on_device(std::vector<unsigned long long>{0});
    visit<what>
        <<<kBlocks, kThreads>>>(block, round, reinterpret_cast<unsigned long long *>(found.get()));
    unsigned long long count = 0;
    BENCH_CUDA(cudaMemcpy(&count, found.get(), sizeof count, cudaMemcpyDeviceToHost));
    return count;
}

} // namespace

void fill_cells(stencil::Device &, const Block &block, int round)
{
    visited<What::fill>(block, round);
}

int64_t count_wrong(stencil::Device &, const Block &block, int round)
{
    return static_cast<int64_t>(visited<What::compare>(block, round));
}

uint64_t checksum(stencil::Device &, const Block &block) { return visited<What::sum>(block, 0); }

} // namespace bench
