// SPDX-License-Identifier: BSD-3-Clause
// MPI_Allreduce of doubles in device memory, a GPU for each process. It is measured in four ways,
// in turn: as it is; on copies in host memory, as MPICH does it
// (MPIR_CVAR_GPU_REDUCE_ON_DEVICE=-1); by hand (direct.cuh); by NCCL, where there is one.
// Everyone's result is checked. A line of JSON for each: medians of what the slowest process took,
// in microseconds.
#include "direct.cuh"
#include "nccl.cuh"

#include "../turns.hpp"

#include <CLI/CLI.hpp>

#include <iostream>
#include <string_view>

namespace bench {
namespace {

/* What MPI_T calls an int of MPICH's. */
class Setting {
public:
    explicit Setting(const char *name)
    {
        int index, count;
        if (MPI_T_cvar_get_index(name, &index) ||
            MPI_T_cvar_handle_alloc(index, nullptr, &handle_, &count))
            throw std::runtime_error(std::string("this MPI has no ") + name);
        MPI_T_cvar_read(handle_, &before_);
    }
    Setting(const Setting &) = delete;
    ~Setting() { MPI_T_cvar_handle_free(&handle_); }
    void set(int value) { MPI_T_cvar_write(handle_, &value); }
    void reset() { set(before_); }

private:
    MPI_T_cvar_handle handle_;
    int before_;
};

__global__ void fill(double *to, int64_t n, int rank)
{
    for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n;
         i += int64_t{gridDim.x} * blockDim.x)
        to[i] = rank + i % 1000;
}

__global__ void count_wrong(const double *sums, int64_t n, int ranks, unsigned long long *wrong)
{
    for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n;
         i += int64_t{gridDim.x} * blockDim.x)
        if (sums[i] != ranks * (ranks - 1) / 2 + ranks * (i % 1000))
            atomicAdd(wrong, 1ULL);
}

bool is_right(const double *sums, int64_t n, int ranks)
{
    const Device wrong(sizeof(unsigned long long));
    auto *const at = reinterpret_cast<unsigned long long *>(wrong.get());
    unsigned long long found = 0;
    BENCH_CUDA(cudaMemset(at, 0, sizeof found));
    count_wrong<<<512, 256>>>(sums, n, ranks, at);
    BENCH_CUDA(cudaMemcpy(&found, at, sizeof found, cudaMemcpyDefault));
    MPI_Allreduce(MPI_IN_PLACE, &found, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    return found == 0;
}

// True where everyone was right.
bool measure(int64_t bytes, Setting &threshold, Nccl *nccl)
{
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int64_t n = bytes / 8;
    // CUDA opens an allocation once in a process, and the MPI may have opened its own already.
    // Small ones share an allocation of the driver's.
    const Device memory(2 * bytes), by_hand(std::max(2 * bytes, int64_t{4} << 20));
    auto *const from = reinterpret_cast<double *>(memory.get()), *const to = from + n;
    auto *const hand_from = reinterpret_cast<double *>(by_hand.get());
    const auto by_mpi = [&] {
        MPI_Allreduce(from, to, static_cast<int>(n), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    };
    Direct direct(hand_from, n);
    const auto by_mpi_with = [&](int least) {
        return [&, least] {
            threshold.set(least);
            by_mpi();
            threshold.reset();
        };
    };
    std::vector<Kind> kinds{{"heddle", by_mpi, {}},
                            {"on the device", by_mpi_with(0), {}},
                            {"on the host", by_mpi_with(-1), {}},
                            {"hand", [&] { direct.sum(); }, {}}};
    if (nccl)
        kinds.push_back({"nccl", [&] { nccl->sum(from, to, n); }, {}});
    for (Kind &kind : kinds) {
        double *const vectors = kind.who == std::string_view("hand") ? hand_from : from;
        fill<<<512, 256>>>(vectors, n, rank);
        BENCH_CUDA(cudaMemset(vectors + n, 0xff, static_cast<size_t>(bytes)));
        BENCH_CUDA(cudaDeviceSynchronize());
        kind.once();
        kind.right = is_right(vectors + n, n, ranks);
    }
    take_turns(kinds);
    for (const Kind &kind : kinds)
        if (rank == 0)
            print({{"ranks", ranks}, {"bytes", bytes}}, kind, kind.right);
    return std::all_of(kinds.begin(), kinds.end(), [](const Kind &kind) { return kind.right; });
}

} // namespace
} // namespace bench

int main(int argc, char **argv)
{
    CLI::App app("MPI_Allreduce of doubles in device memory, beside copies in host memory, a "
                 "hand-written one and NCCL: a "
                 "line of JSON for each");
    int64_t most = int64_t{256} << 20;
    app.add_option("--most", most, "bytes of the longest vector")->capture_default_str();
    CLI11_PARSE(app, argc, argv);

    int provided, ranks, rank, devices = 0;
    bool right = true;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(nullptr, nullptr);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    try {
        if (ranks > bench::most_ranks)
            throw std::runtime_error("at most 8 processes, of one host");
        BENCH_CUDA(cudaGetDeviceCount(&devices));
        BENCH_CUDA(cudaSetDevice(rank % devices));
        const auto nccl = bench::Nccl::open();
        bench::Setting threshold("MPIR_CVAR_GPU_REDUCE_ON_DEVICE");
        for (int64_t bytes = int64_t{8} << 10; bytes <= most; bytes *= bytes < 1 << 20 ? 4 : 8)
            right = bench::measure(bytes, threshold, nccl.get()) && right;
    } catch (const std::exception &error) {
        std::cerr << "allreduce: " << error.what() << std::endl;
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Finalize();
    MPI_T_finalize();
    return !right;
}
