// SPDX-License-Identifier: BSD-3-Clause
// Makes a list of runs out of a type's arrays: a thread for each run, and one for each tile, which
// bisects for its first run.
#include "gpu/cuda/kernels/device_code.cuh"

namespace heddle::gpu::cuda {
namespace {

// Of a warp, in its first thread.
__device__ __forceinline__ int most_of_warp(int value)
{
    for (int step = 16; step > 0; step /= 2)
        value = max(value, __shfl_down_sync(~0u, value, step));
    return value;
}

__device__ __forceinline__ void add_facts(ListFacts &to, const ListFacts &more, bool is_mine)
{
    if (!is_mine)
        return;
    atomicMax(&to.longest, more.longest);
    atomicMax(&to.most, more.most);
    atomicOr(&to.too_far, more.too_far);
}

__global__ void __launch_bounds__(block_threads)
    list_runs(const __grid_constant__ Listing listing, Signal signal)
{
    __shared__ ListFacts of_block;
    const int64_t i = int64_t{blockIdx.x} * block_threads + threadIdx.x;
    if (threadIdx.x == 0)
        of_block = {};
    follow();
    __syncthreads();
    ListFacts mine{};
    if (i < listing.count)
        mine = list_run(listing, i);
    else if (i - listing.count <= listing.tiles)
        mine = list_tile(listing, i - listing.count);
    add_facts(of_block,
              {most_of_warp(mine.longest), most_of_warp(mine.most), __any_sync(~0u, mine.too_far)},
              threadIdx.x % 32 == 0);
    __syncthreads();
    add_facts(*listing.facts, of_block, threadIdx.x == 0);
    reach(signal);
}

} // namespace

cudaError_t run_list(Launcher &launcher, const Listing &listing)
{
    return launcher.start(list_runs, divide_up(listing.count + listing.tiles + 1, block_threads),
                          block_threads, 0, listing);
}

} // namespace heddle::gpu::cuda
