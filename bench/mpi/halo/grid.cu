// SPDX-License-Identifier: BSD-3-Clause
#include "grid.cuh"

namespace bench {
namespace {

constexpr unsigned threads = 256, blocks = 2048;

// What cell `i` of a block should hold: its global coordinates tell.
__device__ double value_of(const Block &block, int64_t i, int exchange, bool *halo)
{
    int at[3];
    for (int axis = 2; axis >= 0; --axis) {
        at[axis] = static_cast<int>(i % block.whole[axis]);
        i /= block.whole[axis];
    }
    int64_t number = exchange % 16 * block.quantities + i;
    *halo = false;
    for (int axis = 0; axis < 3; ++axis) {
        const int length = block.dims[axis] * block.interior[axis];
        const int inside = at[axis] - block.radius;
        *halo |= inside < 0 || inside >= block.interior[axis];
        number =
            number * length + (block.place[axis] * block.interior[axis] + inside + length) % length;
    }
    return static_cast<double>(number);
}

__global__ void fill_cells(double *cells, Block block, int exchange)
{
    for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < block.cells();
         i += int64_t{gridDim.x} * blockDim.x) {
        bool halo;
        const double value = value_of(block, i, exchange, &halo);
        cells[i] = halo ? -1.0 : value;
    }
}

__global__ void count_wrong(const double *cells, Block block, int exchange,
                            unsigned long long *wrong)
{
    for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < block.cells();
         i += int64_t{gridDim.x} * blockDim.x) {
        bool halo;
        if (cells[i] != value_of(block, i, exchange, &halo))
            atomicAdd(wrong, 1ull);
    }
}

} // namespace

Grid::Grid(int size, int radius, int quantities)
{
    int ranks, rank, periodic[3] = {1, 1, 1};
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 3, block_.dims);
    MPI_Cart_create(MPI_COMM_WORLD, 3, block_.dims, periodic, 0, &comm_);
    MPI_Comm_rank(comm_, &rank);
    MPI_Cart_coords(comm_, rank, 3, block_.place);
    block_.radius = radius;
    block_.quantities = quantities;
    for (int axis = 0; axis < 3; ++axis) {
        block_.interior[axis] = size;
        block_.whole[axis] = size + 2 * radius;
    }
    for (int code = 0, i = 0; code < 27; ++code) {
        const int side[3] = {code / 9 - 1, code / 3 % 3 - 1, code % 3 - 1};
        if (code == 13)
            continue;
        Region &out = block_.out[i], &in = block_.in[i];
        out.first = in.first = block_.packed;
        int64_t cells = quantities;
        int to[3], from[3];
        for (int axis = 0; axis < 3; ++axis) {
            out.count[axis] = in.count[axis] = side[axis] ? radius : size;
            out.start[axis] = side[axis] > 0 ? size : radius;
            in.start[axis] = side[axis] > 0 ? 0 : side[axis] < 0 ? radius + size : radius;
            cells *= out.count[axis];
            to[axis] = block_.place[axis] + side[axis];
            from[axis] = block_.place[axis] - side[axis];
        }
        block_.packed += cells;
        MPI_Cart_rank(comm_, to, &destinations_[static_cast<size_t>(i)]);
        MPI_Cart_rank(comm_, from, &sources_[static_cast<size_t>(i)]);
        ++i;
    }
    cells_ = Device(block_.cells() * 8);
}

Grid::~Grid() { MPI_Comm_free(&comm_); }

void Grid::fill(int exchange) const
{
    fill_cells<<<blocks, threads>>>(cells(), block_, exchange);
    BENCH_CUDA(cudaDeviceSynchronize());
}

int64_t Grid::wrong(int exchange) const
{
    const Device count = on_device(std::vector<unsigned long long>{0});
    count_wrong<<<blocks, threads>>>(cells(), block_, exchange,
                                     reinterpret_cast<unsigned long long *>(count.get()));
    unsigned long long wrong = 0;
    BENCH_CUDA(cudaMemcpy(&wrong, count.get(), sizeof wrong, cudaMemcpyDeviceToHost));
    return static_cast<int64_t>(wrong);
}

} // namespace bench
