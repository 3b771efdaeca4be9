// SPDX-License-Identifier: BSD-3-Clause
#include "exchanges.cuh"

#include <vector>

namespace bench {

// ---- by MPI ----

namespace {

MPI_Datatype type_of(const Block &block, const Region &region)
{
    int sizes[4] = {block.quantities}, counts[4] = {block.quantities}, starts[4] = {0};
    for (int axis = 0; axis < 3; ++axis) {
        sizes[axis + 1] = block.whole[axis];
        counts[axis + 1] = region.count[axis];
        starts[axis + 1] = region.start[axis];
    }
    MPI_Datatype type;
    MPI_Type_create_subarray(4, sizes, counts, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

} // namespace

ByMpi::ByMpi(const Grid &grid) : grid_(grid)
{
    std::array<int, directions> sources, destinations;
    for (int i = 0; i < directions; ++i) {
        const auto at = static_cast<size_t>(i);
        sources[at] = grid.source(i);
        destinations[at] = grid.destination(i);
        out_[at] = type_of(grid.block(), grid.block().out[i]);
        in_[at] = type_of(grid.block(), grid.block().in[i]);
    }
    MPI_Dist_graph_create_adjacent(grid.comm(), directions, sources.data(), MPI_UNWEIGHTED,
                                   directions, destinations.data(), MPI_UNWEIGHTED, MPI_INFO_NULL,
                                   0, &graph_);
}

ByMpi::~ByMpi()
{
    for (auto *types : {&out_, &in_})
        for (MPI_Datatype &type : *types)
            MPI_Type_free(&type);
    MPI_Comm_free(&graph_);
}

void ByMpi::by_isend() const
{
    std::vector<MPI_Request> requests(2 * directions);
    std::vector<MPI_Status> statuses(2 * directions);
    for (int i = 0; i < directions; ++i)
        MPI_Irecv(grid_.cells(), 1, in_[static_cast<size_t>(i)], grid_.source(i), i, grid_.comm(),
                  &requests[static_cast<size_t>(i)]);
    for (int i = 0; i < directions; ++i)
        MPI_Isend(grid_.cells(), 1, out_[static_cast<size_t>(i)], grid_.destination(i), i,
                  grid_.comm(), &requests[static_cast<size_t>(directions + i)]);
    MPI_Waitall(2 * directions, requests.data(), statuses.data());
}

void ByMpi::by_neighbours() const
{
    static const std::array<int, directions> ones = [] {
        std::array<int, directions> all;
        all.fill(1);
        return all;
    }();
    static const std::array<MPI_Aint, directions> zeros{};
    MPI_Neighbor_alltoallw(grid_.cells(), ones.data(), zeros.data(), out_.data(), grid_.cells(),
                           ones.data(), zeros.data(), in_.data(), graph_);
}

// ---- by hand ----

namespace {

constexpr unsigned threads = 256, blocks_each = 64;

struct Landings {
    double *at[directions]; // where the cells of all regions are packed, of the one that region i
                            // goes to
};

// A row of blocks for each region, a cell a thread. All regions of a direction have x as their
// fastest axis, too.
template <bool Pack>
__global__ void move_regions(double *__restrict cells, Block block, Landings landings)
{
    const Region &region = Pack ? block.out[blockIdx.y] : block.in[blockIdx.y];
    double *const packed = landings.at[blockIdx.y] + region.first;
    const unsigned nx = static_cast<unsigned>(region.count[2]),
                   ny = static_cast<unsigned>(region.count[1]),
                   nz = static_cast<unsigned>(region.count[0]);
    const unsigned all = nx * ny * nz * static_cast<unsigned>(block.quantities);
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < all; i += gridDim.x * blockDim.x) {
        const unsigned x = i % nx, y = i / nx % ny, z = i / nx / ny % nz, q = i / nx / ny / nz;
        const int64_t at = ((int64_t{q} * block.whole[0] + region.start[0] + z) * block.whole[1] +
                            region.start[1] + y) *
                               block.whole[2] +
                           region.start[2] + x;
        if (Pack)
            packed[i] = cells[at];
        else
            cells[at] = packed[i];
    }
}

} // namespace

HaloByHand::HaloByHand(const Grid &grid) : grid_(grid), landing_(2 * 8 * grid.block().packed)
{
    int rank, ranks;
    MPI_Comm_rank(grid.comm(), &rank);
    MPI_Comm_size(grid.comm(), &ranks);
    // Everyone opens everyone's, in an order in which all pairs meet.
    for (int step = 0; step < ranks; ++step) {
        const int other = (step - rank + ranks) % ranks;
        if (other != rank)
            opened_[other] = std::make_unique<Opened>(landing_.get(), other, grid.comm());
    }
}

void HaloByHand::exchange()
{
    int rank;
    MPI_Comm_rank(grid_.comm(), &rank);
    const Block &block = grid_.block();
    const int64_t half = turn_++ % 2 * block.packed;
    Landings there, here;
    for (int i = 0; i < directions; ++i) {
        const int to = grid_.destination(i);
        char *const landing = to == rank ? landing_.get() : opened_.at(to)->get();
        there.at[i] = reinterpret_cast<double *>(landing) + half;
        here.at[i] = reinterpret_cast<double *>(landing_.get()) + half;
    }
    const dim3 grid(blocks_each, directions);
    move_regions<true><<<grid, threads, 0, stream_>>>(grid_.cells(), block, there);
    BENCH_CUDA(cudaGetLastError());
    stream_.wait();
    std::vector<MPI_Request> requests;
    for (const auto &[other, opened] : opened_) {
        requests.resize(requests.size() + 2);
        MPI_Irecv(nullptr, 0, MPI_BYTE, other, 99, grid_.comm(), &requests[requests.size() - 2]);
        MPI_Isend(nullptr, 0, MPI_BYTE, other, 99, grid_.comm(), &requests[requests.size() - 1]);
    }
    std::vector<MPI_Status> statuses(requests.size());
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), statuses.data());
    move_regions<false><<<grid, threads, 0, stream_>>>(grid_.cells(), block, here);
    BENCH_CUDA(cudaGetLastError());
    stream_.wait();
}

} // namespace bench
