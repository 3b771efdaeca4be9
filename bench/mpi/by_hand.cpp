// SPDX-License-Identifier: BSD-3-Clause
#include "by_hand.hpp"

namespace bench {

Opened::Opened(char *mine, int other, MPI_Comm comm)
{
    cudaIpcMemHandle_t here, there;
    BENCH_CUDA(cudaIpcGetMemHandle(&here, mine));
    MPI_Sendrecv(&here, sizeof here, MPI_BYTE, other, 0, &there, sizeof there, MPI_BYTE, other, 0,
                 comm, MPI_STATUS_IGNORE);
    BENCH_CUDA(cudaIpcOpenMemHandle(&at_, there, cudaIpcMemLazyEnablePeerAccess));
}

ByHand::ByHand(const Case &made, bool dense, const Buffers &buffers, int other)
    : made_(made),
      dense_(dense),
      user_(buffers.user.get()),
      landing_(buffers.landing.get()),
      there_(dense ? buffers.their_user.get() : buffers.their_landing.get()),
      other_(other)
{
}

void ByHand::send(int n, int64_t apart)
{
    for (int i = 0; i < n; ++i) {
        if (dense_)
            BENCH_CUDA(cudaMemcpyAsync(there_ + i * apart, user_ + i * apart,
                                       static_cast<size_t>(made_.bytes), cudaMemcpyDefault,
                                       stream_));
        else
            made_.hand({user_ + i * apart, there_ + i * made_.bytes, true}, stream_);
    }
    stream_.wait();
    MPI_Send(nullptr, 0, MPI_BYTE, other_, 1, MPI_COMM_WORLD);
}

void ByHand::receive(int n, int64_t apart)
{
    MPI_Recv(nullptr, 0, MPI_BYTE, other_, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (dense_)
        return;
    for (int i = 0; i < n; ++i)
        made_.hand({user_ + i * apart, landing_ + i * made_.bytes, false}, stream_);
    stream_.wait();
}

void ByHand::offer()
{
    const int64_t at = 0;
    MPI_Send(&at, 1, MPI_INT64_T, other_, 1, MPI_COMM_WORLD);
}

void ByHand::read()
{
    int64_t at;
    MPI_Recv(&at, 1, MPI_INT64_T, other_, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    BENCH_CUDA(cudaMemcpyAsync(user_, there_ + at, static_cast<size_t>(made_.bytes),
                               cudaMemcpyDefault, stream_));
    stream_.wait();
}

double ByHand::copy()
{
    const Event begin, end;
    BENCH_CUDA(cudaEventRecord(begin, stream_));
    BENCH_CUDA(cudaMemcpyAsync(there_, dense_ ? user_ : landing_, static_cast<size_t>(made_.bytes),
                               cudaMemcpyDefault, stream_));
    BENCH_CUDA(cudaEventRecord(end, stream_));
    stream_.wait();
    float ms = 0;
    BENCH_CUDA(cudaEventElapsedTime(&ms, begin, end));
    return 1e3 * static_cast<double>(ms);
}

void ThroughHost::send()
{
    made_.copy({user_, host_.get(), true}, stream_);
    stream_.wait();
    MPI_Send(host_.get(), static_cast<int>(made_.bytes), MPI_BYTE, other_, 1, MPI_COMM_WORLD);
}

void ThroughHost::receive()
{
    MPI_Recv(host_.get(), static_cast<int>(made_.bytes), MPI_BYTE, other_, 1, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    made_.copy({user_, host_.get(), false}, stream_);
    stream_.wait();
}

} // namespace bench
