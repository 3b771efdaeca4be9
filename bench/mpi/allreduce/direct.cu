// SPDX-License-Identifier: BSD-3-Clause
#include "direct.cuh"

#include <algorithm>

namespace bench {
namespace {

constexpr int threads = 512, blocks = 528;

__global__ void add_part(Vectors all, int64_t begin, int64_t end)
{
    const int64_t step = int64_t{gridDim.x} * blockDim.x * 2;
    for (int64_t i = begin + (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * 2; i < end;
         i += step) {
        double2 sum{0, 0};
#pragma unroll
        for (int r = 0; r < most_ranks; ++r)
            if (r < all.ranks) {
                const double2 v = *reinterpret_cast<const double2 *>(all.of[r] + i);
                sum.x += v.x;
                sum.y += v.y;
            }
        for (int r = 0; r < all.ranks; ++r)
            *reinterpret_cast<double2 *>(all.of[r] + all.n + i) = sum;
    }
}

} // namespace

Direct::Direct(double *vectors, int64_t n)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &all_.ranks);
    all_.n = n;
    for (int r = 0; r < all_.ranks; ++r) {
        if (r != rank_)
            opened_.push_back(std::make_unique<Opened>(reinterpret_cast<char *>(vectors), r));
        all_.of[r] = r == rank_ ? vectors : reinterpret_cast<double *>(opened_.back()->get());
    }
}

void Direct::sum()
{
    const int64_t part = (all_.n / all_.ranks + 1) / 2 * 2;
    const int64_t begin = std::min(part * rank_, all_.n),
                  end = rank_ + 1 == all_.ranks ? all_.n : begin + part;
    MPI_Barrier(MPI_COMM_WORLD); // everyone's vector is there
    add_part<<<blocks, threads, 0, stream_>>>(all_, begin, end);
    BENCH_CUDA(cudaGetLastError());
    stream_.wait();
    MPI_Barrier(MPI_COMM_WORLD); // everyone's part is
}

} // namespace bench
