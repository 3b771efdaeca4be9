// SPDX-License-Identifier: BSD-3-Clause
// What users of GPUs reported as slow or wrong in other MPIs. Each is done by MPI's datatypes, and
// by hand: kernels pack into contiguous buffers, and messages carry those.
#pragma once

#include "../../gpu/owner.hpp"

#include <mpi.h>

#include <memory>
#include <string>

namespace bench {

class Pattern {
public:
    Pattern(std::string name, int64_t bytes) : name(std::move(name)), bytes(bytes)
    {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    }
    virtual ~Pattern() = default;

    // The sources get their values, the targets others.
    virtual void fill() = 0;
    virtual void by_mpi() = 0;
    virtual void by_hand() = 0;
    // Elements of this process that are not what they should be.
    virtual int64_t wrong() = 0;

    const std::string name;
    const int64_t bytes; // from each process

protected:
    int other() const { return rank ^ 1; }

    int rank, ranks;
    Stream stream;
};

// open-mpi/ompi#8720: MPI_Alltoall of the columns of a matrix of doubles, of `rows` x `n` in each
// process: vectors, resized, and as many of them as each gets.
std::unique_ptr<Pattern> make_columns(int rows, int n);
// open-mpi/ompi#12202: cells anywhere in a field become another process's ghost cells,
// by MPI_Type_indexed.
std::unique_ptr<Pattern> make_ghosts(int cells, int field);
// pmodels/mpich#6226: one type, through MPI_BOTTOM, of every second of 2 n doubles in device
// memory, and n in host memory.
std::unique_ptr<Pattern> make_bottom(int n);

// Element i of what a process has.
__host__ __device__ inline double value(int rank, int64_t i)
{
    return static_cast<double>((int64_t{rank} << 40) + i);
}

constexpr int threads = 256;
inline unsigned blocks_of(int64_t n) { return static_cast<unsigned>((n + threads - 1) / threads); }

// How many i below `n` there are for which `is_wrong(i)`, on the device.
template <class IsWrong>
__global__ void count_wrong(int64_t n, IsWrong is_wrong, unsigned long long *found)
{
    if (const int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x; i < n && is_wrong(i))
        atomicAdd(found, 1ULL);
}
template <class IsWrong> int64_t counted(int64_t n, IsWrong is_wrong)
{
    const Device memory(sizeof(unsigned long long));
    unsigned long long found = 0;
    BENCH_CUDA(cudaMemset(memory.get(), 0, sizeof found));
    count_wrong<<<blocks_of(n), threads>>>(n, is_wrong,
                                           reinterpret_cast<unsigned long long *>(memory.get()));
    BENCH_CUDA(cudaGetLastError());
    BENCH_CUDA(cudaMemcpy(&found, memory.get(), sizeof found, cudaMemcpyDefault));
    return static_cast<int64_t>(found);
}

template <class Each> __global__ void run_each(int64_t n, Each each)
{
    if (const int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x; i < n)
        each(i);
}
// `each(i)` for all i below `n`, on the device.
template <class Each> void for_all(int64_t n, Each each, cudaStream_t stream)
{
    run_each<<<blocks_of(n), threads, 0, stream>>>(n, each);
    BENCH_CUDA(cudaGetLastError());
}

inline double *doubles(const Device &memory) { return reinterpret_cast<double *>(memory.get()); }

} // namespace bench
