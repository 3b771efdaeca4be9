// SPDX-License-Identifier: BSD-3-Clause
#include "memory.hpp"

#include "owner.hpp"

namespace bench {
namespace {

constexpr int threads = 256, grid = 2048;

__device__ uint64_t hash(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

__global__ void fill(char *at, int64_t bytes, uint64_t seed)
{
    const int64_t thread = int64_t{blockIdx.x} * blockDim.x + threadIdx.x,
                  all = int64_t{gridDim.x} * blockDim.x;
    for (int64_t i = thread; i < bytes / 8; i += all)
        reinterpret_cast<uint64_t *>(at)[i] =
            hash(static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15 + seed);
    for (int64_t i = bytes / 8 * 8 + thread; i < bytes; i += all)
        at[i] = static_cast<char>(hash(static_cast<uint64_t>(i) + seed));
}

__global__ void compare(const char *a, const char *b, int64_t bytes, unsigned long long *wrong)
{
    const int64_t thread = int64_t{blockIdx.x} * blockDim.x + threadIdx.x,
                  all = int64_t{gridDim.x} * blockDim.x;
    unsigned long long found = 0;
    for (int64_t i = thread; i < bytes / 8; i += all)
        if (uint64_t different =
                reinterpret_cast<const uint64_t *>(a)[i] ^ reinterpret_cast<const uint64_t *>(b)[i])
            for (; different; different >>= 8)
                found += (different & 255) != 0;
    for (int64_t i = bytes / 8 * 8 + thread; i < bytes; i += all)
        found += a[i] != b[i];
    if (found)
        atomicAdd(wrong, found);
}

} // namespace

void fill_pattern(char *at, int64_t bytes, uint64_t seed)
{
    fill<<<grid, threads>>>(at, bytes, seed);
    BENCH_CUDA(cudaGetLastError());
    BENCH_CUDA(cudaDeviceSynchronize());
}

int64_t differing(const char *a, const char *b, int64_t bytes)
{
    const Device wrong(8);
    auto *count = reinterpret_cast<unsigned long long *>(wrong.get());
    unsigned long long found = 0;
    BENCH_CUDA(cudaMemset(count, 0, sizeof *count));
    compare<<<grid, threads>>>(a, b, bytes, count);
    BENCH_CUDA(cudaGetLastError());
    BENCH_CUDA(cudaMemcpy(&found, count, sizeof found, cudaMemcpyDeviceToHost));
    return static_cast<int64_t>(found);
}

} // namespace bench
