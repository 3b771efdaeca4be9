// SPDX-License-Identifier: BSD-3-Clause
#include "../by_hand.hpp"
#include "rivals.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

namespace bench {
namespace {

using stencil::Box;
using stencil::Quantities;
using stencil::Side;

// Messages of no bytes to and from all neighbours: what was written to them is there.
void tell_neighbours(const stencil::Parts &parts, int tag)
{
    std::vector<MPI_Request> requests;
    for (const auto &each : parts.sources())
        MPI_Irecv(nullptr, 0, MPI_BYTE, each.part, tag, parts.comm(), &requests.emplace_back());
    for (const auto &each : parts.destinations())
        MPI_Isend(nullptr, 0, MPI_BYTE, each.part, tag, parts.comm(), &requests.emplace_back());
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

// Everyone's memory, in an order in which all pairs meet.
class OpenedByAll {
public:
    OpenedByAll(char *mine, MPI_Comm comm) : mine_(mine)
    {
        int rank, ranks;
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &ranks);
        for (int step = 0; step < ranks; ++step)
            if (const int other = (step - rank + ranks) % ranks; other != rank)
                opened_[other] = std::make_unique<Opened>(mine, other, comm);
    }
    char *of(int rank) const
    {
        const auto found = opened_.find(rank);
        return found == opened_.end() ? mine_ : found->second->get();
    }

private:
    char *mine_;
    std::map<int, std::unique_ptr<Opened>> opened_;
};

// ---- one kernel ----

struct Region {
    unsigned extent[3];
    int64_t begin;  // its first cell in a block
    int64_t packed; // and among those of all regions
    double *there;  // where its cells are packed
};

struct Job {
    int64_t row, plane;
    int regions;
    Region region[stencil::kSides];
    double *at[stencil::kMostQuantities];
};

constexpr unsigned kThreads = 256, kBlocks = 32;

// A row of blocks for each region and quantity, a cell a thread.
template <bool Pack> __global__ void move_regions(const __grid_constant__ Job job)
{
    const Region &region = job.region[blockIdx.y];
    const unsigned nx = region.extent[0], ny = region.extent[1];
    const unsigned all = nx * ny * region.extent[2];
    double *const packed = region.there + region.packed + int64_t{blockIdx.z} * all;
    double *const cells = job.at[blockIdx.z] + region.begin;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < all; i += gridDim.x * blockDim.x) {
        double &cell = cells[i % nx + i / nx % ny * job.row + i / nx / ny * job.plane];
        if (Pack)
            packed[i] = cell;
        else
            cell = packed[i];
    }
}

class ByKernel final : public Rival {
public:
    ByKernel(const stencil::Parts &parts, const stencil::Shape &shape, const Quantities &quantities)
        : parts_(parts),
          quantities_(quantities),
          packed_(prepare(shape)),
          landing_(2 * 8 * packed_),
          opened_(landing_.get(), parts.comm())
    {
    }

    void exchange(int which) override
    {
        // The landing memory is there twice, so nobody has to be asked whether it was unpacked.
        const int64_t half = turn_++ % 2 * packed_;
        launch<true>(out_, to_, which, half);
        tell_neighbours(parts_, 98);
        launch<false>(in_, from_, which, half);
    }

private:
    // The regions, and how many cells they have together.
    int64_t prepare(const stencil::Shape &shape)
    {
        int64_t packed = 0;
        const stencil::Layout &layout = quantities_.layout();
        for (int i = 0; i < stencil::kSides; ++i) {
            const Side side = stencil::side_of(i);
            if (i == stencil::kMiddle || shape.halo(side) == 0)
                continue;
            add(out_, sent_for(layout, shape, side), packed);
            add(in_, halo_of(layout, shape, side), packed);
            to_.push_back(part_of(parts_.destinations(), side));
            from_.push_back(parts_.mine());
            packed += halo_of(layout, shape, side).cells() * quantities_.count();
        }
        return packed;
    }
    static int part_of(const std::vector<stencil::Neighbour> &neighbours, const Side &side)
    {
        for (const auto &each : neighbours)
            for (const Side &other : each.sides)
                if (other == side)
                    return each.part;
        throw std::logic_error("a side without a neighbour");
    }
    void add(Job &job, const Box &box, int64_t packed) const
    {
        const stencil::Layout &layout = quantities_.layout();
        job.row = layout.index(0, 1, 0);
        job.plane = layout.index(0, 0, 1);
        Region &region = job.region[job.regions++];
        for (int axis = 0; axis < 3; ++axis)
            region.extent[axis] = static_cast<unsigned>(box.extent(axis));
        region.begin = layout.index(box.begin[0], box.begin[1], box.begin[2]);
        region.packed = packed;
    }
    template <bool Pack>
    void launch(Job &job, const std::vector<int> &ranks, int which, int64_t half)
    {
        for (int q = 0; q < quantities_.count(); ++q)
            job.at[q] = quantities_.at(which)[q];
        for (int i = 0; i < job.regions; ++i)
            job.region[i].there =
                reinterpret_cast<double *>(opened_.of(ranks[static_cast<size_t>(i)])) + half;
        const dim3 grid(kBlocks, static_cast<unsigned>(job.regions),
                        static_cast<unsigned>(quantities_.count()));
        move_regions<Pack><<<grid, kThreads, 0, stream_>>>(job);
        BENCH_CUDA(cudaGetLastError());
        stream_.wait();
    }

    const stencil::Parts &parts_;
    const Quantities &quantities_;
    Job out_{}, in_{};
    std::vector<int> to_, from_; // who has the landing memory of each region
    int64_t packed_;
    Device landing_;
    OpenedByAll opened_;
    Stream stream_;
    int turn_ = 0;
};

// ---- a copy a field ----

class ByCopies final : public Rival {
public:
    ByCopies(const stencil::Parts &parts, const stencil::Shape &shape, const Quantities &quantities)
        : parts_(parts), shape_(shape), quantities_(quantities)
    {
        for (int which = 0; which < 2; ++which)
            for (int q = 0; q < quantities.count(); ++q)
                opened_[which].push_back(std::make_unique<OpenedByAll>(
                    reinterpret_cast<char *>(quantities.at(which)[q]), parts.comm()));
    }

    void exchange(int which) override
    {
        for (const auto &each : parts_.destinations())
            for (const Side &side : each.sides)
                for (int q = 0; q < quantities_.count(); ++q)
                    copy(which, q, each.part, side);
        stream_.wait();
        tell_neighbours(parts_, 97);
    }

private:
    // All blocks have one layout.
    void copy(int which, int q, int part, const Side &side)
    {
        const stencil::Layout &layout = quantities_.layout();
        const Box from = sent_for(layout, shape_, side), to = halo_of(layout, shape_, side);
        const auto pitched = [&](char *at) {
            return make_cudaPitchedPtr(at, static_cast<size_t>(8 * layout.whole[0]),
                                       static_cast<size_t>(8 * layout.whole[0]),
                                       static_cast<size_t>(layout.whole[1]));
        };
        const auto position = [](const Box &box) {
            return make_cudaPos(static_cast<size_t>(8 * box.begin[0]),
                                static_cast<size_t>(box.begin[1]),
                                static_cast<size_t>(box.begin[2]));
        };
        const OpenedByAll &opened = *opened_[which][static_cast<size_t>(q)];
        cudaMemcpy3DParms copy{};
        copy.srcPtr = pitched(reinterpret_cast<char *>(quantities_.at(which)[q]));
        copy.srcPos = position(from);
        copy.dstPtr = pitched(opened.of(part));
        copy.dstPos = position(to);
        copy.extent = make_cudaExtent(static_cast<size_t>(8 * from.extent(0)),
                                      static_cast<size_t>(from.extent(1)),
                                      static_cast<size_t>(from.extent(2)));
        copy.kind = cudaMemcpyDefault;
        BENCH_CUDA(cudaMemcpy3DAsync(&copy, stream_));
    }

    const stencil::Parts &parts_;
    const stencil::Shape &shape_;
    const Quantities &quantities_;
    std::vector<std::unique_ptr<OpenedByAll>> opened_[2]; // of each state's quantities
    Stream stream_;
};

// ---- SHOC's Stencil2D ----

class EdgesThroughHost {
public:
    explicit EdgesThroughHost(const Plane &plane)
        : plane_(plane), host_(std::make_shared<Pinned>(8 * longest() + 8))
    {
        const int64_t row = plane.pitch() * plane.size;
        const auto at = [&](int64_t r, int64_t c) { return plane.at + r * row + c * plane.size; };
        const int64_t last = plane.rows, across = plane.columns * plane.size;
        add(plane.north, at(1, 1), at(0, 1), across, 1, row);
        add(plane.south, at(last, 1), at(last + 1, 1), across, 1, row);
        add(plane.west, at(1, 1), at(1, 0), plane.size, plane.rows, row);
        add(plane.east, at(1, plane.columns), at(1, plane.columns + 1), plane.size, plane.rows,
            row);
    }

    void operator()()
    {
        for (const Edge &edge : edges_)
            BENCH_CUDA(cudaMemcpy2DAsync(edge.out_here, edge.width, edge.out, edge.row, edge.width,
                                         edge.height, cudaMemcpyDeviceToHost, *stream_));
        stream_->wait();
        std::vector<MPI_Request> requests;
        for (const Edge &edge : edges_) {
            const auto bytes = static_cast<int>(edge.width * edge.height);
            MPI_Irecv(edge.in_here, bytes, MPI_BYTE, edge.other, 96, MPI_COMM_WORLD,
                      &requests.emplace_back());
            MPI_Isend(edge.out_here, bytes, MPI_BYTE, edge.other, 96, MPI_COMM_WORLD,
                      &requests.emplace_back());
        }
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
        for (const Edge &edge : edges_)
            BENCH_CUDA(cudaMemcpy2DAsync(edge.in, edge.row, edge.in_here, edge.width, edge.width,
                                         edge.height, cudaMemcpyHostToDevice, *stream_));
        stream_->wait();
    }

private:
    struct Edge {
        int other;
        char *out, *in;           // on the device
        char *out_here, *in_here; // packed, in host memory
        size_t width, height, row;
    };

    int64_t longest() const { return std::max(plane_.rows, plane_.columns) * plane_.size; }
    void add(int other, char *out, char *in, int64_t width, int64_t height, int64_t row)
    {
        if (other == MPI_PROC_NULL)
            return;
        char *const here = host_->get() + static_cast<int64_t>(2 * edges_.size()) * longest();
        edges_.push_back({other, out, in, here, here + longest(), static_cast<size_t>(width),
                          static_cast<size_t>(height), static_cast<size_t>(row)});
    }

    Plane plane_;
    std::shared_ptr<Pinned> host_;
    std::shared_ptr<Stream> stream_ = std::make_shared<Stream>();
    std::vector<Edge> edges_;
};

} // namespace

std::unique_ptr<Rival> halo_by_hand(const stencil::Parts &parts, const stencil::Shape &shape,
                                    const Quantities &quantities)
{
    return std::make_unique<ByKernel>(parts, shape, quantities);
}

std::unique_ptr<Rival> halo_by_copies(const stencil::Parts &parts, const stencil::Shape &shape,
                                      const Quantities &quantities)
{
    return std::make_unique<ByCopies>(parts, shape, quantities);
}

std::function<void()> edges_through_host(const Plane &plane) { return EdgesThroughHost(plane); }

char *host_memory(size_t bytes)
{
    void *memory;
    BENCH_CUDA(cudaMallocHost(&memory, bytes));
    return static_cast<char *>(memory);
}

void free_host_memory(char *memory) { cudaFreeHost(memory); }

} // namespace bench
