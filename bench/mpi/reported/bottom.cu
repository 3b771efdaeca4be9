// SPDX-License-Identifier: BSD-3-Clause
#include "pattern.cuh"

#include <algorithm>

namespace bench {
namespace {

// Every second double of device memory, and all of host memory.
struct Ends {
    explicit Ends(int n) : device(int64_t{16} * n), host(static_cast<size_t>(n))
    {
        MPI_Datatype every_second, members[2];
        MPI_Type_vector(n, 1, 2, MPI_DOUBLE, &every_second);
        MPI_Aint at[2];
        MPI_Get_address(device.get(), &at[0]);
        MPI_Get_address(host.data(), &at[1]);
        members[0] = every_second;
        members[1] = MPI_DOUBLE;
        const int counts[] = {1, n};
        MPI_Type_create_struct(2, counts, at, members, &both);
        MPI_Type_commit(&both);
        MPI_Type_free(&every_second);
    }
    Ends(const Ends &) = delete;
    ~Ends() { MPI_Type_free(&both); }

    const Device device;
    std::vector<double> host;
    MPI_Datatype both;
};

class Bottom : public Pattern {
public:
    explicit Bottom(int n)
        : Pattern("MPI_BOTTOM, " + std::to_string(n) + " and " + std::to_string(n),
                  int64_t{16} * n),
          n_(n),
          from_(n),
          to_(n),
          packed_(int64_t{8} * n),
          landing_(int64_t{8} * n)
    {
    }

    void fill() override
    {
        for_all(
            2 * int64_t{n_},
            [from = doubles(from_.device), me = rank] __device__(int64_t i) {
                from[i] = value(me, i);
            },
            stream);
        BENCH_CUDA(
            cudaMemsetAsync(to_.device.get(), 0, static_cast<size_t>(to_.device.bytes()), stream));
        stream.wait();
        for (int i = 0; i < n_; ++i)
            from_.host[static_cast<size_t>(i)] = value(rank, -i);
        std::fill(to_.host.begin(), to_.host.end(), 0.5);
    }
    void by_mpi() override
    {
        MPI_Sendrecv(MPI_BOTTOM, 1, from_.both, other(), 1, MPI_BOTTOM, 1, to_.both, other(), 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    // A message for each memory.
    void by_hand() override
    {
        for_all(
            n_,
            [from = doubles(from_.device), packed = doubles(packed_)] __device__(int64_t i) {
                packed[i] = from[2 * i];
            },
            stream);
        stream.wait();
        MPI_Sendrecv(packed_.get(), n_, MPI_DOUBLE, other(), 1, landing_.get(), n_, MPI_DOUBLE,
                     other(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for_all(
            n_,
            [to = doubles(to_.device), landing = doubles(landing_)] __device__(int64_t i) {
                to[2 * i] = landing[i];
            },
            stream);
        MPI_Sendrecv(from_.host.data(), n_, MPI_DOUBLE, other(), 2, to_.host.data(), n_, MPI_DOUBLE,
                     other(), 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        stream.wait();
    }
    int64_t wrong() override
    {
        int64_t found = counted(2 * int64_t{n_},
                                [to = doubles(to_.device), they = other()] __device__(int64_t i) {
                                    return to[i] != (i % 2 ? 0.0 : value(they, i));
                                });
        for (int i = 0; i < n_; ++i)
            found += to_.host[static_cast<size_t>(i)] != value(other(), -i);
        return found;
    }

private:
    const int n_;
    Ends from_, to_;
    const Device packed_, landing_;
};

} // namespace

std::unique_ptr<Pattern> make_bottom(int n) { return std::make_unique<Bottom>(n); }

} // namespace bench
