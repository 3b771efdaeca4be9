// SPDX-License-Identifier: BSD-3-Clause
// One-sided operations on device memory between two ranks, with a GPU each where there are two:
// rank 0's times of lock, operation, unlock. Beside them stand a copy of as many bytes between the
// two devices, and a message. Then a halo of 26 neighbours by put and fence, and by Isend. They
// take turns, and everyone's data are checked. A line of JSON for each: medians in microseconds.
#include "../cube.hpp"
#include "../device_vector.hpp"
#include "../turns.hpp"

#include <heddle.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

namespace {

int rank, wrong;

void check(int error, const char *what)
{
    if (error != 0)
        throw std::runtime_error(std::string(what) + " fails");
}

// ---- two ranks
// -----------------------------------------------------------------------------------

// Blocks at a stride, or, of stride 1, none.
struct Shape {
    const char *name;
    int block, stride;
};
constexpr Shape contiguous{"contiguous", 1, 1}, blocks{"blocks-128-stride-512", 16, 64};

// n doubles of a shape in each rank's window, and as many beside it.
class Pair {
public:
    Pair(const Shape &shape, int64_t n)
        : n_(n),
          span_(n / shape.block * shape.stride),
          window_(span_, rank),
          own_(span_, rank),
          far_(span_, 1)
    {
        MPI_Type_vector(static_cast<int>(n / shape.block), shape.block, shape.stride, MPI_DOUBLE,
                        &type_);
        MPI_Type_commit(&type_);
        MPI_Win_create(window_.at(), span_ * 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win_);
    }
    Pair(const Pair &) = delete;
    ~Pair()
    {
        MPI_Win_free(&win_);
        MPI_Type_free(&type_);
    }

    void put()
    {
        locked([&] { MPI_Put(own_.at(), 1, type_, 1, 0, 1, type_, win_); });
    }
    void get()
    {
        locked([&] { MPI_Get(own_.at(), 1, type_, 1, 0, 1, type_, win_); });
    }
    void sum()
    {
        locked([&] { MPI_Accumulate(own_.at(), 1, type_, 1, 0, 1, type_, MPI_SUM, win_); });
    }
    // One way: as long as a put is, for the receiver is waiting.
    void message()
    {
        if (rank == 0)
            MPI_Ssend(own_.at(), 1, type_, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(window_.at(), 1, type_, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    void copy()
    {
        if (rank)
            return;
        heddle_type *const of_bytes = heddle_type_predefined(HEDDLE_BYTE);
        const heddle_move move{
            {own_.at(), n_ * 8, of_bytes, 0}, {far_.at(), n_ * 8, of_bytes, 0}, n_ * 8, {}};
        check(heddle_transfer(&move, 1), "heddle_transfer");
    }

    // Whether `once` brings rank 0's elements to rank 1, or back, and adds them where `adds`.
    template <class Once> bool moves(Once &&once, bool gets = false, bool adds = false)
    {
        window_.fill(bench::rising(1 + rank));
        own_.fill(bench::rising(1000, 2));
        MPI_Barrier(MPI_COMM_WORLD);
        once();
        MPI_Barrier(MPI_COMM_WORLD);
        const bool is_target = gets ? rank == 0 : rank == 1;
        return !is_target || has_moved((gets ? own_ : window_).read(), gets, adds);
    }

private:
    template <class Once> void locked(Once &&once)
    {
        if (rank)
            return;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win_);
        once();
        MPI_Win_unlock(1, win_);
    }
    bool has_moved(const std::vector<double> &found, bool gets, bool adds) const
    {
        int size;
        MPI_Aint lb, extent;
        MPI_Type_size(type_, &size);
        MPI_Type_get_extent(type_, &lb, &extent);
        for (size_t i = 0; i < found.size(); ++i) {
            const auto at = static_cast<double>(i);
            const double sent = gets ? 2 + at : 1000 + 2 * at, held = gets ? 1000 + 2 * at : 2 + at;
            const bool is_gap = size < extent && i % 64 >= 16;
            if (found[i] != (is_gap ? held : adds ? held + sent : sent))
                return false;
        }
        return true;
    }

    const int64_t n_, span_;
    bench::DeviceVector window_, own_, far_;
    MPI_Datatype type_;
    MPI_Win win_;
};

void measure_pairs(int64_t most)
{
    for (int64_t bytes = 8; bytes <= most; bytes *= bytes < 1024 ? 128 : bytes < 65536 ? 64 : 16)
        for (const Shape &shape : {contiguous, blocks}) {
            if (bytes / 8 % shape.block)
                continue;
            Pair pair(shape, bytes / 8);
            std::vector<bench::Kind> kinds{{"put", [&] { pair.put(); }, {}},
                                           {"get", [&] { pair.get(); }, {}},
                                           {"sum", [&] { pair.sum(); }, {}},
                                           {"message", [&] { pair.message(); }, {}},
                                           {"peer copy", [&] { pair.copy(); }, {}}};
            kinds[0].right = pair.moves(kinds[0].once);
            kinds[1].right = pair.moves(kinds[1].once, true);
            kinds[2].right = pair.moves(kinds[2].once, false, true);
            kinds[3].right = pair.moves(kinds[3].once);
            bench::take_turns(kinds);
            bench::print_kinds(shape.name, bytes, kinds, wrong);
        }
}

// ---- a halo
// --------------------------------------------------------------------------------------

void measure_halo(int cells)
{
    const bench::Cube cube(cells, rank);
    MPI_Win win;
    MPI_Win_create(cube.at(), cube.bytes(), 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    const auto by_put = [&] {
        MPI_Win_fence(0, win);
        for (const bench::Cube::Direction &each : cube.directions())
            MPI_Put(cube.at(), 1, each.inner, 1 - rank, 0, 1, each.outer, win);
        MPI_Win_fence(0, win);
    };
    std::vector<bench::Kind> kinds{{"put", by_put, {}}, {"isend", [&] { cube.by_isend(); }, {}}};
    for (bench::Kind &kind : kinds)
        kind.right = cube.moves(kind.once);
    bench::take_turns(kinds);
    bench::print_kinds("halo", cells, kinds, wrong);
    MPI_Win_free(&win);
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
        measure_pairs(most);
        for (const int cells : {64, 128})
            if (int64_t{cells} * cells * cells * 8 <= most)
                measure_halo(cells);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "one_sided: %s\n", e.what());
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Finalize();
    return wrong != 0;
}
