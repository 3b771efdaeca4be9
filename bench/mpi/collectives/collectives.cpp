// SPDX-License-Identifier: BSD-3-Clause
// Collectives on device memory, blocking, nonblocking and persistent, a GPU for each rank where
// there are enough: straight between the buffers, and by messages. Beside them stands a copy
// between two devices of as many bytes as a rank has to receive. They take turns, and everyone's
// data are checked. A line of JSON for each: medians of what the slowest rank took, in
// microseconds.
#include "../../../test/mpi/forms.hpp"
#include "../device_vector.hpp"
#include "../turns.hpp"

#include <heddle.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace {

int rank, ranks, wrong;

// From `first` on, again and again.
auto repeating(double first)
{
    return [=](int64_t i) { return first + static_cast<double>(i % 1000); };
}

// Whether element `at + i * stride` is `value(i)`, for `n` of them.
template <class Value>
bool is(const bench::DeviceVector &vector, int64_t at, int64_t n, int64_t stride, Value value)
{
    const std::vector<double> found = vector.read();
    for (int64_t i = 0; i < n; ++i)
        if (found[static_cast<size_t>(at + i * stride)] != value(i))
            return false;
    return true;
}

// What is made meanwhile goes directly, or by messages: communicators, which decide in their first
// calls, and persistent requests.
class Way {
public:
    explicit Way(int directly)
    {
        int index, count;
        if (MPI_T_cvar_get_index("MPIR_CVAR_CH4_UCX_DIRECT_COLL", &index) ||
            MPI_T_cvar_handle_alloc(index, nullptr, &handle_, &count))
            throw std::runtime_error("this MPI has no MPIR_CVAR_CH4_UCX_DIRECT_COLL");
        MPI_T_cvar_read(handle_, &before_);
        MPI_T_cvar_write(handle_, &directly);
    }
    Way(const Way &) = delete;
    ~Way()
    {
        MPI_T_cvar_write(handle_, &before_);
        MPI_T_cvar_handle_free(&handle_);
    }

private:
    MPI_T_cvar_handle handle_;
    int before_;
};

// A communicator of the whole job.
MPI_Comm communicator(int directly)
{
    const Way way(directly);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0, sum; i < 8; ++i)
        MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, comm);
    return comm;
}

struct Call {
    Form form;
    MPI_Comm comm;
    MPI_Request *request; // not of blocking ones
};

// n doubles from each, contiguous or with gaps.
class Case {
public:
    Case(int64_t n, int stride)
        : n_(n), stride_(stride), from_(n * ranks * stride, rank), to_(n * ranks * stride, rank)
    {
        MPI_Datatype vector;
        MPI_Type_vector(static_cast<int>(n), 1, stride, MPI_DOUBLE, &vector);
        MPI_Type_create_resized(vector, 0, n * stride * 8, &type_);
        MPI_Type_commit(&type_);
        MPI_Type_free(&vector);
    }
    Case(const Case &) = delete;
    ~Case() { MPI_Type_free(&type_); }

    void bcast(const Call &c)
    {
        call_in(c.form, c.request, MPI_Bcast, MPI_Ibcast, MPI_Bcast_init,
                rank == 0 ? from_.at() : to_.at(), 1, type_, 0, c.comm);
    }
    void allgather(const Call &c)
    {
        call_in(c.form, c.request, MPI_Allgather, MPI_Iallgather, MPI_Allgather_init, from_.at(), 1,
                type_, to_.at(), 1, type_, c.comm);
    }
    void gather(const Call &c)
    {
        call_in(c.form, c.request, MPI_Gather, MPI_Igather, MPI_Gather_init, from_.at(), 1, type_,
                to_.at(), 1, type_, 0, c.comm);
    }
    void scatter(const Call &c)
    {
        call_in(c.form, c.request, MPI_Scatter, MPI_Iscatter, MPI_Scatter_init, from_.at(), 1,
                type_, to_.at(), 1, type_, 0, c.comm);
    }
    void alltoall(const Call &c)
    {
        call_in(c.form, c.request, MPI_Alltoall, MPI_Ialltoall, MPI_Alltoall_init, from_.at(), 1,
                type_, to_.at(), 1, type_, c.comm);
    }
    void allreduce(const Call &c)
    {
        call_in(c.form, c.request, MPI_Allreduce, MPI_Iallreduce, MPI_Allreduce_init, from_.at(),
                to_.at(), static_cast<int>(n_), MPI_DOUBLE, MPI_SUM, c.comm);
    }
    void reduce(const Call &c)
    {
        call_in(c.form, c.request, MPI_Reduce, MPI_Ireduce, MPI_Reduce_init, from_.at(), to_.at(),
                static_cast<int>(n_), MPI_DOUBLE, MPI_SUM, 0, c.comm);
    }
    void reduce_scatter(const Call &c)
    {
        call_in(c.form, c.request, MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block,
                MPI_Reduce_scatter_block_init, from_.at(), to_.at(), static_cast<int>(n_),
                MPI_DOUBLE, MPI_SUM, c.comm);
    }

    void prepare()
    {
        from_.fill(repeating(1e4 * rank));
        to_.fill(repeating(-1e6));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    // Block `b` of the result is block `sent` of rank `of`'s.
    bool has(int64_t b, int of, int64_t sent) const
    {
        return is(to_, b * n_ * stride_, n_, stride_, [&](int64_t i) {
            return 1e4 * of + static_cast<double>((sent * n_ + i) * stride_ % 1000);
        });
    }
    bool has_sum(int64_t block) const
    {
        return is(to_, 0, n_, 1, [&](int64_t i) {
            return 1e4 * (ranks * (ranks - 1) / 2) +
                   ranks * static_cast<double>((block * n_ + i) % 1000);
        });
    }

private:
    int64_t n_, stride_;
    bench::DeviceVector from_, to_;
    MPI_Datatype type_;
};

struct Collective {
    const char *name;
    void (Case::*call)(const Call &);
    bool (*is_right)(const Case &);
    bool takes_gaps;
    int received; // blocks, by a rank, from others
};

bool has_all(const Case &c, int64_t sent_of)
{
    for (int r = 0; r < ranks; ++r)
        if (!c.has(r, r, sent_of))
            return false;
    return true;
}

std::vector<Collective> all_collectives()
{
    return {
        {"bcast", &Case::bcast, [](const Case &c) { return rank == 0 || c.has(0, 0, 0); }, true, 1},
        {"allgather", &Case::allgather, [](const Case &c) { return has_all(c, 0); }, true,
         ranks - 1},
        {"gather", &Case::gather, [](const Case &c) { return rank != 0 || has_all(c, 0); }, true,
         ranks - 1},
        {"scatter", &Case::scatter, [](const Case &c) { return c.has(0, 0, rank); }, true, 1},
        {"alltoall", &Case::alltoall, [](const Case &c) { return has_all(c, rank); }, true,
         ranks - 1},
        {"allreduce", &Case::allreduce, [](const Case &c) { return c.has_sum(0); }, false, 1},
        {"reduce", &Case::reduce, [](const Case &c) { return rank != 0 || c.has_sum(0); }, false,
         1},
        {"reduce_scatter", &Case::reduce_scatter, [](const Case &c) { return c.has_sum(rank); },
         false, 1},
    };
}

void print(const std::string &what, const char *layout, int64_t bytes,
           const std::vector<bench::Kind> &kinds)
{
    for (const bench::Kind &kind : kinds) {
        int right = kind.right;
        MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        wrong += !right;
        if (rank == 0)
            bench::print({{"what", what}, {"layout", layout}, {"ranks", ranks}, {"bytes", bytes}},
                         kind, right != 0);
    }
}

void measure(const Collective &which, int64_t bytes, int stride, MPI_Comm directly,
             MPI_Comm by_message)
{
    Case c(bytes / 8, stride);
    const bench::DeviceVector near(bytes * which.received / 8, rank),
        far(bytes * which.received / 8, rank + 1);
    const auto copy = [&] {
        heddle_type *const byte = heddle_type_predefined(HEDDLE_BYTE);
        const int64_t all = bytes * which.received;
        const heddle_move move{{far.at(), all, byte, 0}, {near.at(), all, byte, 0}, all, {}};
        if (rank == 0 && heddle_transfer(&move, 1) != HEDDLE_SUCCESS)
            throw std::runtime_error("heddle_transfer fails");
    };
    const auto blocking = [&](MPI_Comm comm) {
        return [&c, &which, comm] { (c.*which.call)({Form::blocking, comm, nullptr}); };
    };
    const auto nonblocking = [&](MPI_Comm comm) {
        return [&c, &which, comm] {
            MPI_Request request;
            (c.*which.call)({Form::nonblocking, comm, &request});
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        };
    };
    MPI_Request persistent[2]; // by messages, and directly
    for (const int way : {0, 1}) {
        const Way made(way);
        (c.*which.call)({Form::persistent, way ? directly : by_message, &persistent[way]});
    }
    const auto again = [&](MPI_Request *request) {
        return [request] {
            MPI_Start(request);
            MPI_Wait(request, MPI_STATUS_IGNORE);
        };
    };
    std::vector<bench::Kind> kinds{{"direct", blocking(directly), {}},
                                   {"messages", blocking(by_message), {}},
                                   {"nonblocking", nonblocking(directly), {}},
                                   {"nonblocking, messages", nonblocking(by_message), {}},
                                   {"persistent", again(&persistent[1]), {}},
                                   {"persistent, messages", again(&persistent[0]), {}},
                                   {"peer copy", copy, {}}};
    for (size_t i = 0; i + 1 < kinds.size(); ++i) {
        c.prepare();
        kinds[i].once();
        kinds[i].right = which.is_right(c);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    bench::take_turns(kinds);
    for (MPI_Request &each : persistent)
        MPI_Request_free(&each);
    print(which.name, stride == 1 ? "contiguous" : "strided", bytes, kinds);
}

void measure_all(int64_t most)
{
    MPI_Comm directly = communicator(1), by_message = communicator(0);
    for (int64_t bytes = 8; bytes <= most; bytes *= bytes < 1024 ? 128 : 8)
        for (const Collective &which : all_collectives())
            for (const int stride : {1, 2})
                if (stride == 1 || which.takes_gaps)
                    measure(which, bytes, stride, directly, by_message);
    MPI_Comm_free(&directly);
    MPI_Comm_free(&by_message);
}

} // namespace

int main(int argc, char **argv)
{
    int provided;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    try {
        if (ranks < 2 || gpu::Machine::get().devices() == 0)
            throw std::runtime_error("two processes and a device are needed");
        measure_all(argc > 1 ? std::atoll(argv[1]) : 16 << 20);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "collectives: %s\n", e.what());
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Finalize();
    MPI_T_finalize();
    return wrong != 0;
}
