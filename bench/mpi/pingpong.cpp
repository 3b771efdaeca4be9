// SPDX-License-Identifier: BSD-3-Clause
// Half a ping-pong between two ranks, with a GPU each where there are two. It takes turns between
// device buffers by MPI, the same by hand (by_hand.hpp), and host buffers. Everyone's data is
// checked before it is timed. A line of JSON for each case and who: medians, in microseconds.
#include "by_hand.hpp"
#include "mpi_type.hpp"
#include "row.hpp"

#include "../gpu/memory.hpp"

#include <CLI/CLI.hpp>
#include <heddle_mpi.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <new>
#include <span>

namespace bench {
namespace {

constexpr int64_t KiB = 1024, MiB = KiB * KiB;
constexpr int in_a_row = 20, before_them = 2, most_turns = 20, fewest_turns = 3;
constexpr double seconds = 0.4;            // for each case
constexpr int64_t host_warm_up = 32 << 20; // bytes
constexpr int window = 64;                 // messages under way one way, of up to
constexpr int64_t most_in_window = MiB;
constexpr int64_t most_copied = 16 * MiB;

// What is measured: the sizes are bench/gpu's.
struct Choice {
    const char *layout;
    std::vector<int64_t> sizes;
};
const std::vector<Choice> choices{
    {"blocks-8-stride-512", {KiB, 64 * KiB, MiB, 16 * MiB}},
    {"blocks-32-stride-512", {KiB, 64 * KiB, MiB, 16 * MiB}},
    {"blocks-128-stride-512", {KiB, 64 * KiB, MiB, 16 * MiB, 256 * MiB}},
    {"struct-diic", {10000, 1000000}},
    {"hindexed-1-to-15", {250, 100000}},
    {"contiguous", {KiB, 64 * KiB, MiB, 16 * MiB, 64 * MiB, 256 * MiB}},
};

int rank, wrong;

// Who sends and who receives next, for both ends.
template <class Send, class Receive> void there_and_back(Send &&send, Receive &&receive)
{
    if (rank == 0)
        send(), receive();
    else
        receive(), send();
}

class Times {
public:
    // `parts`: messages one after the other.
    template <class Once> void add(Once &&once, int parts = 2)
    {
        for (int i = 0; i < before_them; ++i)
            once();
        for (int i = 0; i < in_a_row; ++i) {
            const double begin = MPI_Wtime();
            once();
            all_.push_back((MPI_Wtime() - begin) / parts * 1e6);
        }
    }
    void add(double us) { all_.push_back(us); }
    void print(const char *layout, int64_t size, int64_t bytes, const char *who, bool right)
    {
        wrong += !right;
        if (rank)
            return;
        std::sort(all_.begin(), all_.end());
        const size_t n = all_.size();
        bench::Row row = bench::timed({{"layout", layout}, {"size", size}, {"bytes", bytes}}, who,
                                      all_[n / 2], all_[n / 10], all_[n - 1 - n / 10]);
        row["samples"] = n;
        row["right"] = right;
        bench::print(row);
    }

private:
    std::vector<double> all_;
};

// True on both ranks for as long as rank 0 has time.
bool more(int turn, double begin)
{
    int goes_on = turn < fewest_turns || (turn < most_turns && MPI_Wtime() - begin < seconds);
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return goes_on;
}

bool everywhere(bool right)
{
    int mine = right, all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

// Rank 0's bytes go there and back by `once`: rank 1 then has them where the layout says, and what
// it had elsewhere. What is expected is made by the hand-written kernels.
template <class Once> bool arrives(const Case &made, char *user, Once &&once)
{
    Device packed(made.bytes), expected(made.span);
    Stream stream;
    fill_pattern(user, made.span, 1);
    BENCH_CUDA(cudaDeviceSynchronize());
    made.hand({user, packed.get(), true}, stream);
    stream.wait();
    if (rank)
        fill_pattern(user, made.span, 2);
    BENCH_CUDA(cudaDeviceSynchronize());
    BENCH_CUDA(cudaMemcpy(expected.get(), user, static_cast<size_t>(made.span), cudaMemcpyDefault));
    BENCH_CUDA(cudaDeviceSynchronize()); // copies between device memory do not wait
    made.hand({expected.get(), packed.get(), false}, stream);
    stream.wait();
    MPI_Barrier(MPI_COMM_WORLD);
    once();
    MPI_Barrier(MPI_COMM_WORLD);
    return everywhere(differing(user, expected.get(), made.span) == 0);
}

void measure_device(const Layout &layout, int64_t size, const Buffers &buffers)
{
    const Case made = layout.make(size);
    const bool dense = made.span == made.bytes;
    const int other = 1 - rank;
    const MpiType type(made.type);
    const auto count = static_cast<int>(made.count);
    const Device &user = buffers.user;
    ByHand hand(made, dense, buffers, other);
    const auto by_mpi = [&] {
        there_and_back([&] { MPI_Send(user.get(), count, type.get(), other, 1, MPI_COMM_WORLD); },
                       [&] {
                           MPI_Recv(user.get(), count, type.get(), other, 1, MPI_COMM_WORLD,
                                    MPI_STATUS_IGNORE);
                       });
    };
    const auto by_hand = [&] { there_and_back([&] { hand.send(); }, [&] { hand.receive(); }); };
    const bool copies = made.copy && made.bytes <= most_copied;
    ThroughHost host(made, user.get(), copies ? made.bytes : 0, other);
    const auto through_host = [&] {
        there_and_back([&] { host.send(); }, [&] { host.receive(); });
    };
    const auto by_reading = [&] { there_and_back([&] { hand.offer(); }, [&] { hand.read(); }); };

    const bool mpi_right = arrives(made, user.get(), by_mpi),
               hand_right = arrives(made, user.get(), by_hand);
    const bool reading_right = !dense || arrives(made, user.get(), by_reading);
    const bool host_right = !copies || arrives(made, user.get(), through_host);
    Times mpi, hands, readings, through, peer;
    const double begin = MPI_Wtime();
    for (int turn = 0; more(turn, begin); ++turn) {
        mpi.add(by_mpi);
        hands.add(by_hand);
        if (dense)
            readings.add(by_reading);
        if (copies)
            through.add(through_host);
        if (rank == 0)
            peer.add(hand.copy());
        MPI_Barrier(MPI_COMM_WORLD);
    }
    mpi.print(layout.name.c_str(), size, made.bytes, "heddle", mpi_right);
    hands.print(layout.name.c_str(), size, made.bytes, "hand", hand_right);
    if (dense)
        readings.print(layout.name.c_str(), size, made.bytes, "hand, read", reading_right);
    if (copies)
        through.print(layout.name.c_str(), size, made.bytes, "cudaMemcpy2D", host_right);
    peer.print(layout.name.c_str(), size, made.bytes, "peer copy", true);
}

// Measures bandwidth and the rate of messages: as many messages at once as the buffers have room
// for, then an answer.
void measure_window(const Layout &layout, int64_t size, const Buffers &buffers, int64_t span,
                    int64_t packed)
{
    const Case made = layout.make(size);
    const int other = 1 - rank;
    const int64_t apart = (made.span + 511) / 512 * 512;
    const auto n = static_cast<int>(std::min({int64_t{window}, span / apart, packed / made.bytes}));
    if (made.bytes > most_in_window || n < 2)
        return;
    const MpiType type(made.type);
    const auto count = static_cast<int>(made.count);
    char *const user = buffers.user.get();
    ByHand hand(made, made.span == made.bytes, buffers, other);
    std::vector<MPI_Request> requests(static_cast<size_t>(n));
    std::vector<MPI_Status> statuses(static_cast<size_t>(n));
    const auto answer = [&](bool mine) {
        if (mine)
            MPI_Send(nullptr, 0, MPI_BYTE, other, 2, MPI_COMM_WORLD);
        else
            MPI_Recv(nullptr, 0, MPI_BYTE, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    };
    const auto by_mpi = [&] {
        for (int i = 0; i < n; ++i) {
            MPI_Request *const request = &requests[static_cast<size_t>(i)];
            if (rank == 0)
                MPI_Isend(user + i * apart, count, type.get(), other, 1, MPI_COMM_WORLD, request);
            else
                MPI_Irecv(user + i * apart, count, type.get(), other, 1, MPI_COMM_WORLD, request);
        }
        MPI_Waitall(n, requests.data(), statuses.data());
        answer(rank == 1);
    };
    const auto by_hand = [&] {
        if (rank == 0)
            hand.send(n, apart);
        else
            hand.receive(n, apart);
        answer(rank == 1);
    };
    // The last one's data, there and back.
    const bool mpi_right = arrives(made, user + (n - 1) * apart, [&] {
        by_mpi();
        MPI_Sendrecv_replace(user + (n - 1) * apart, count, type.get(), other, 3, other, 3,
                             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    });
    Times mpi, hands;
    const double begin = MPI_Wtime();
    for (int turn = 0; more(turn, begin); ++turn) {
        mpi.add(by_mpi, n);
        hands.add(by_hand, n);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    const std::string of = ", of " + std::to_string(n);
    mpi.print(layout.name.c_str(), size, made.bytes, ("heddle" + of).c_str(), mpi_right);
    hands.print(layout.name.c_str(), size, made.bytes, ("hand" + of).c_str(), true);
}

/* Host memory of which only the driver can say that it is: what lies in the heap or on the stack it
 * is not asked about. */
class Mapped {
public:
    explicit Mapped(size_t bytes)
        : bytes_(bytes),
          at_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
    {
        if (at_ == MAP_FAILED)
            throw std::bad_alloc();
    }
    Mapped(const Mapped &) = delete;
    ~Mapped() { munmap(at_, bytes_); }
    std::span<unsigned char> span() const { return {static_cast<unsigned char *>(at_), bytes_}; }

private:
    size_t bytes_;
    void *at_;
};

/* `told`: the type says that its buffers are the host's. Otherwise it says nothing. */
void measure_host(int64_t bytes, bool told)
{
    MPI_Datatype type;
    MPI_Type_dup(MPI_BYTE, &type);
    if (told) {
        int key;
        MPIX_Type_memory_keyval(&key);
        MPI_Type_set_attr(type, key, MPIX_MEMORY_HOST);
    }
    const Mapped memory(static_cast<size_t>(bytes));
    const std::span<unsigned char> buffer = memory.span();
    std::fill(buffer.begin(), buffer.end(), static_cast<unsigned char>(rank ? 0 : 77));
    const int other = 1 - rank;
    const auto once = [&] {
        there_and_back(
            [&] {
                MPI_Send(buffer.data(), static_cast<int>(bytes), type, other, 1, MPI_COMM_WORLD);
            },
            [&] {
                MPI_Recv(buffer.data(), static_cast<int>(bytes), type, other, 1, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            });
    };
    once();
    const bool right = everywhere(
        std::all_of(buffer.begin(), buffer.end(), [](unsigned char each) { return each == 77; }));
    // The first milliseconds of messages that take a microsecond are slower by as much as it takes
    // to ask for memory.
    for (int64_t sent = 0; sent < host_warm_up; sent += std::max(bytes, KiB))
        once();
    Times times;
    const double begin = MPI_Wtime();
    for (int turn = 0; more(turn, begin); ++turn)
        times.add(once);
    times.print(told ? "host, told" : "host", bytes, bytes, "heddle", right);
    MPI_Type_free(&type);
}

void measure_all(const std::string &only, int64_t most)
{
    const auto wanted = [&](const std::string &name) { return name.find(only) != name.npos; };
    for (const int64_t bytes : {KiB, 64 * KiB, MiB, 16 * MiB, 64 * MiB, 256 * MiB})
        if (wanted("host") && bytes <= most)
            measure_host(bytes, false);
    const std::vector<Layout> all = layouts();
    std::vector<std::pair<Layout, int64_t>> cases;
    int64_t span = 1, packed = 1;
    for (const Choice &choice : choices)
        for (const Layout &layout : all)
            for (const int64_t size : choice.sizes)
                if (layout.name == choice.layout && wanted(layout.name) && size <= most) {
                    const Case made = layout.make(size);
                    cases.emplace_back(layout, size);
                    span = std::max(span, made.span);
                    packed = std::max(packed, made.bytes);
                }
    {
        const Buffers buffers(span, packed, 1 - rank);
        for (const auto &[layout, size] : cases)
            measure_device(layout, size, buffers);
        for (const auto &[layout, size] : cases)
            measure_window(layout, size, buffers, span, packed);
    }
    if (wanted("host")) // last: once the key was asked for, types are looked at
        measure_host(KiB, true);
}

} // namespace
} // namespace bench

int main(int argc, char **argv)
{
    CLI::App app(
        "Half a ping-pong of device buffers between two ranks, by MPI and by hand: a line of JSON "
        "for each case");
    int64_t most = 256 * bench::MiB;
    std::string only;
    app.add_option("--most", most, "bytes of the longest message")->capture_default_str();
    app.add_option("--only", only,
                   "layouts whose name contains this: blocks-8, blocks-32, blocks-128, struct, "
                   "hindexed, contiguous, host");
    CLI11_PARSE(app, argc, argv);

    MPI_Init(nullptr, nullptr);
    int size, devices = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &bench::rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    try {
        if (size != 2)
            throw std::runtime_error("it takes two ranks");
        BENCH_CUDA(cudaGetDeviceCount(&devices));
        BENCH_CUDA(cudaSetDevice(bench::rank % devices));
        bench::measure_all(only, most);
    } catch (const std::exception &error) {
        std::cerr << "pingpong: " << error.what() << std::endl;
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Finalize();
    return bench::wrong != 0;
}
