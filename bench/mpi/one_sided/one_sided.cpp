// SPDX-License-Identifier: BSD-3-Clause
// One-sided operations on device memory between two ranks, with a GPU each where there are two:
// rank 0's times of lock, operation, unlock. Beside them stand a copy of as many bytes between the
// two devices, and a message. Then a halo of 26 neighbours by put and fence, and by Isend. They
// take turns, and everyone's data are checked. A line of JSON for each: medians in microseconds.
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

// From `first` on, `step` apart.
auto rising(double first, double step = 1)
{
    return [=](int64_t i) { return first + step * static_cast<double>(i); };
}

void print(const std::string &what, int64_t bytes, std::vector<bench::Kind> &kinds)
{
    for (const bench::Kind &kind : kinds) {
        int right = kind.right;
        MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        wrong += !right;
        if (rank == 0)
            std::printf("{\"what\": \"%s\", \"bytes\": %lld, \"who\": \"%s\", \"median\": %.2f, "
                        "\"low\": %.2f, \"high\": %.2f, \"right\": %s}\n",
                        what.c_str(), static_cast<long long>(bytes), kind.who, kind.at(0.5),
                        kind.at(0.1), kind.at(0.9), right ? "true" : "false");
    }
    std::fflush(stdout);
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
        window_.fill(rising(1 + rank));
        own_.fill(rising(1000, 2));
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
            print(shape.name, bytes, kinds);
        }
}

// ---- a halo
// --------------------------------------------------------------------------------------

// A cube of doubles with a layer around it. The other rank is the neighbour in all directions.
class Halo {
public:
    explicit Halo(int cells) : n_(cells), all_(cells + 2), cube_(int64_t{all_} * all_ * all_, rank)
    {
        for (int d = 0; d < 27; ++d)
            if (d != 13)
                add(d);
        MPI_Win_create(cube_.at(), int64_t{all_} * all_ * all_ * 8, 8, MPI_INFO_NULL,
                       MPI_COMM_WORLD, &win_);
    }
    Halo(const Halo &) = delete;
    ~Halo()
    {
        MPI_Win_free(&win_);
        for (Direction &each : directions_)
            MPI_Type_free(&each.inner), MPI_Type_free(&each.outer);
    }

    void by_put()
    {
        MPI_Win_fence(0, win_);
        for (const Direction &each : directions_)
            MPI_Put(cube_.at(), 1, each.inner, 1 - rank, 0, 1, each.outer, win_);
        MPI_Win_fence(0, win_);
    }
    void by_isend()
    {
        std::vector<MPI_Request> requests;
        for (size_t d = 0; d < directions_.size(); ++d) {
            requests.emplace_back();
            MPI_Irecv(cube_.at(), 1, directions_[d].outer, 1 - rank, static_cast<int>(d),
                      MPI_COMM_WORLD, &requests.back());
        }
        for (size_t d = 0; d < directions_.size(); ++d) {
            requests.emplace_back();
            MPI_Isend(cube_.at(), 1, directions_[d].inner, 1 - rank, static_cast<int>(d),
                      MPI_COMM_WORLD, &requests.back());
        }
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    }
    template <class Once> bool moves(Once &&once)
    {
        cube_.fill(rising(1e9 * rank));
        MPI_Barrier(MPI_COMM_WORLD);
        once();
        MPI_Barrier(MPI_COMM_WORLD);
        const std::vector<double> found = cube_.read();
        for (int z = 0; z < all_; ++z)
            for (int y = 0; y < all_; ++y)
                for (int x = 0; x < all_; ++x)
                    if (found[index(z, y, x)] != expected(z, y, x))
                        return false;
        return true;
    }

private:
    struct Direction {
        MPI_Datatype inner, outer; // what leaves, and where it arrives
    };

    size_t index(int z, int y, int x) const
    {
        return (static_cast<size_t>(z) * static_cast<size_t>(all_) + static_cast<size_t>(y)) *
                   static_cast<size_t>(all_) +
               static_cast<size_t>(x);
    }
    // A cell of the layer has what lies at the cube's other end.
    double expected(int z, int y, int x) const
    {
        const auto inside = [&](int i) { return i == 0 ? n_ : i == n_ + 1 ? 1 : i; };
        const bool is_layer = z != inside(z) || y != inside(y) || x != inside(x);
        return 1e9 * (is_layer ? 1 - rank : rank) +
               static_cast<double>(index(inside(z), inside(y), inside(x)));
    }
    void add(int direction)
    {
        const int step[] = {direction / 9 - 1, direction / 3 % 3 - 1, direction % 3 - 1};
        const int sizes[] = {all_, all_, all_};
        int lengths[3], from[3], to[3];
        for (int i = 0; i < 3; ++i) {
            lengths[i] = step[i] ? 1 : n_;
            from[i] = step[i] > 0 ? n_ : 1;
            to[i] = step[i] > 0 ? 0 : step[i] < 0 ? n_ + 1 : 1;
        }
        Direction made;
        MPI_Type_create_subarray(3, sizes, lengths, from, MPI_ORDER_C, MPI_DOUBLE, &made.inner);
        MPI_Type_create_subarray(3, sizes, lengths, to, MPI_ORDER_C, MPI_DOUBLE, &made.outer);
        MPI_Type_commit(&made.inner), MPI_Type_commit(&made.outer);
        directions_.push_back(made);
    }

    const int n_, all_;
    bench::DeviceVector cube_;
    std::vector<Direction> directions_;
    MPI_Win win_;
};

void measure_halo(int cells)
{
    Halo halo(cells);
    std::vector<bench::Kind> kinds{{"put", [&] { halo.by_put(); }, {}},
                                   {"isend", [&] { halo.by_isend(); }, {}}};
    for (bench::Kind &kind : kinds)
        kind.right = halo.moves(kind.once);
    bench::take_turns(kinds);
    print("halo", cells, kinds);
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
