// SPDX-License-Identifier: BSD-3-Clause
// Exchanges of two ranks, with a GPU each where there are two, that are the same every time: by
// MPI_Isend and MPI_Irecv, and by persistent requests (MPI_Startall, MPI_Waitall). First a vector
// each way, then a halo of 26 neighbours, also by MPI_Neighbor_alltoallw and its persistent form.
// They take turns, and everyone's data are checked. A line
// of JSON for each: medians of the slower rank, in microseconds.
#include "../cube.hpp"
#include "../device_vector.hpp"
#include "../turns.hpp"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace {

int rank, wrong;
MPI_Comm of_persistent; // nobody else's messages come between theirs

// Requests that are started again and again.
class Persistent {
public:
    explicit Persistent(std::vector<MPI_Request> requests) : requests_(std::move(requests)) {}
    Persistent(const Persistent &) = delete;
    ~Persistent()
    {
        for (MPI_Request &each : requests_)
            MPI_Request_free(&each);
    }
    void once()
    {
        MPI_Startall(static_cast<int>(requests_.size()), requests_.data());
        MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    }

private:
    std::vector<MPI_Request> requests_;
};

// ---- a vector each way ----

// Blocks at a stride, or, of stride 1, none.
struct Shape {
    const char *name;
    int block, stride;
};
constexpr Shape contiguous{"contiguous", 1, 1}, doubles{"blocks-8-stride-16", 1, 2},
    blocks{"blocks-128-stride-512", 16, 64};

class Pair {
public:
    Pair(const Shape &shape, int64_t n)
        : block_(shape.block),
          stride_(shape.stride),
          from_(n / block_ * stride_, rank),
          to_(n / block_ * stride_, rank)
    {
        MPI_Type_vector(static_cast<int>(n / block_), shape.block, shape.stride, MPI_DOUBLE,
                        &type_);
        MPI_Type_commit(&type_);
    }
    Pair(const Pair &) = delete;
    ~Pair() { MPI_Type_free(&type_); }

    void by_isend() const
    {
        MPI_Request requests[2];
        MPI_Irecv(to_.at(), 1, type_, 1 - rank, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(from_.at(), 1, type_, 1 - rank, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    std::vector<MPI_Request> persistent() const
    {
        std::vector<MPI_Request> requests(2);
        MPI_Recv_init(to_.at(), 1, type_, 1 - rank, 0, of_persistent, &requests[0]);
        MPI_Send_init(from_.at(), 1, type_, 1 - rank, 0, of_persistent, &requests[1]);
        return requests;
    }
    // Whether each has the other's elements after each of three times, and its own gaps.
    template <class Once> bool moves(Once &&once) const
    {
        bool right = true;
        for (int time = 0; time < 3; ++time) {
            from_.fill(bench::rising(1000 * (1 + rank) + time, 2));
            to_.fill(bench::rising(-1, -1));
            MPI_Barrier(MPI_COMM_WORLD);
            once();
            MPI_Barrier(MPI_COMM_WORLD);
            const std::vector<double> found = to_.read();
            for (size_t i = 0; i < found.size(); ++i) {
                const auto at = static_cast<double>(i);
                const bool is_gap = static_cast<int64_t>(i) % stride_ >= block_;
                right = right && found[i] == (is_gap ? -1 - at : 1000 * (2 - rank) + time + 2 * at);
            }
        }
        return right;
    }

private:
    const int64_t block_, stride_;
    bench::DeviceVector from_, to_;
    MPI_Datatype type_;
};

void measure_pairs(int64_t most)
{
    for (int64_t bytes = 8; bytes <= most; bytes *= bytes < 1024 ? 128 : bytes < 65536 ? 64 : 16)
        for (const Shape &shape : {contiguous, doubles, blocks}) {
            if (bytes / 8 % shape.block || (bytes == 8 && shape.stride > 1))
                continue;
            const Pair pair(shape, bytes / 8);
            Persistent requests(pair.persistent());
            std::vector<bench::Kind> kinds{{"isend", [&] { pair.by_isend(); }, {}},
                                           {"persistent", [&] { requests.once(); }, {}}};
            for (bench::Kind &kind : kinds)
                kind.right = pair.moves(kind.once);
            bench::take_turns(kinds);
            bench::print_kinds(shape.name, bytes, kinds, wrong);
        }
}

// ---- a halo ----

void measure_halo(int cells)
{
    const bench::Cube cube(cells, rank);
    Persistent requests(cube.persistent(of_persistent));
    MPI_Comm graph = bench::Cube::graph(rank);
    Persistent neighbours(cube.persistent_neighbours(graph));
    std::vector<bench::Kind> kinds{{"isend", [&] { cube.by_isend(); }, {}},
                                   {"persistent", [&] { requests.once(); }, {}},
                                   {"neighbours", [&] { cube.by_neighbours(graph); }, {}},
                                   {"neighbours, persistent", [&] { neighbours.once(); }, {}}};
    for (bench::Kind &kind : kinds)
        kind.right = cube.moves(kind.once) && cube.moves(kind.once);
    bench::take_turns(kinds);
    bench::print_kinds("halo", cells, kinds, wrong);
    MPI_Comm_free(&graph); // the request keeps it until it goes
}

} // namespace

int main(int argc, char **argv)
{
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    try {
        if (size != 2 || gpu::Machine::get().devices() == 0)
            throw std::runtime_error("two processes and a device are needed");
        const int64_t most = argc > 1 ? std::atoll(argv[1]) : 16 << 20;
        MPI_Comm_dup(MPI_COMM_WORLD, &of_persistent);
        measure_pairs(most);
        for (const int cells : {64, 128, 256})
            if (int64_t{cells} * cells * 64 <= most)
                measure_halo(cells);
        MPI_Comm_free(&of_persistent);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "persistent: %s\n", e.what());
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Finalize();
    return wrong != 0;
}
