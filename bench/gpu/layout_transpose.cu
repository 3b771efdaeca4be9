// SPDX-License-Identifier: BSD-3-Clause
// A square matrix of doubles, stored row by row and packed column by column.
#include "layout.hpp"

namespace bench {
namespace {

constexpr int edge = 32, rows = 8;

template <bool Pack>
__global__ void transpose(const double *__restrict from, double *__restrict to, int n)
{
    __shared__ double tile[edge][edge + 1];
    const int x = blockIdx.x * edge + threadIdx.x, y = blockIdx.y * edge + threadIdx.y;
    for (int j = 0; j < edge; j += rows)
        if (x < n && y + j < n)
            tile[threadIdx.y + j][threadIdx.x] = __ldcs(from + size_t(y + j) * n + x);
    __syncthreads();
    const int tx = blockIdx.y * edge + threadIdx.x, ty = blockIdx.x * edge + threadIdx.y;
    for (int j = 0; j < edge; j += rows)
        if (tx < n && ty + j < n)
            __stcs(to + size_t(ty + j) * n + tx, tile[threadIdx.x][threadIdx.y + j]);
}

Case matrix(int64_t n)
{
    const Type column = Type::hvector(n, 1, n * 8, Type::predefined(HEDDLE_DOUBLE));
    Case made;
    made.type = Type::contiguous(n, Type::resized(column, 0, 8));
    made.bytes = made.span = made.sectors = n * n * 8;
    made.hand = [n](const Ends &ends, cudaStream_t stream) {
        const auto tiles = static_cast<unsigned>((n + edge - 1) / edge);
        (ends.pack ? transpose<true>
                   : transpose<false>)<<<dim3(tiles, tiles), dim3(edge, rows), 0, stream>>>(
            reinterpret_cast<const double *>(ends.pack ? ends.user : ends.packed),
            reinterpret_cast<double *>(ends.pack ? ends.packed : ends.user), static_cast<int>(n));
        BENCH_CUDA(cudaGetLastError());
    };
    return made;
}

} // namespace

// The sizes are the matrix's edge.
std::vector<Layout> transpose_layouts()
{
    return {{.name = "transpose", .strided = true, .sizes = {45, 512, 4096}, .make = matrix}};
}

} // namespace bench
