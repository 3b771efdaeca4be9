// SPDX-License-Identifier: BSD-3-Clause
// Data with gaps from one GPU to another: every other double of as long a buffer on each. What a
// link carries are sectors of 32 bytes, gaps included, so a kernel that reads or writes across it
// takes longer than for dense data. Packed at the source they take another kernel, which may run a
// piece ahead. A copy of as many dense bytes is the limit of what any of them can do.
#include "memory.hpp"
#include "parts.hpp"

#include <cstdio>
#include <string>

namespace bench {
namespace {

constexpr int threads = 512, blocks = 264, most_samples = 100, most_pieces = 4;
constexpr uint64_t sent_seed = 1, spoiled_seed = 101;

// Double i of the data is double i * stride of the buffer. Each thread has two under way at once.
__global__ void move(double *to, int to_stride, const double *from, int from_stride, int64_t n)
{
    const int64_t all = int64_t{gridDim.x} * blockDim.x;
    int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    for (; i + all < n; i += 2 * all) {
        const double one = from[i * from_stride], other = from[(i + all) * from_stride];
        to[i * to_stride] = one;
        to[(i + all) * to_stride] = other;
    }
    if (i < n)
        to[i * to_stride] = from[i * from_stride];
}

// Whether every other double came, and what lies between stayed.
__global__ void count_wrong(const double *to, const double *from, const double *before, int64_t n,
                            unsigned long long *wrong)
{
    const int64_t all = int64_t{gridDim.x} * blockDim.x;
    const auto bits = [](double value) { return __double_as_longlong(value); };
    for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += all)
        if (bits(to[2 * i]) != bits(from[2 * i]) || bits(to[2 * i + 1]) != bits(before[2 * i + 1]))
            atomicAdd(wrong, 1ULL);
}

double *doubles(const Device &memory) { return reinterpret_cast<double *>(memory.get()); }

Device on_gpu(int gpu, int64_t bytes)
{
    const OnGpu current(gpu);
    return Device(bytes);
}

// From GPU 0 to GPU 1. A way moves the first `n` doubles; `on` is a stream of GPU 1.
class Gaps {
public:
    explicit Gaps(int64_t most)
        : from(on_gpu(0, 2 * most)), to(on_gpu(1, 2 * most)), packed(on_gpu(0, most))
    {
        const OnGpu current(0);
        source_ = std::make_unique<Stream>();
        for (std::unique_ptr<Event> &each : ended_)
            each = std::make_unique<Event>();
    }

    void read(int64_t n, cudaStream_t on) const
    {
        move<<<blocks, threads, 0, on>>>(doubles(to), 2, doubles(from), 2, n);
    }
    void write(int64_t n, cudaStream_t on) const
    {
        behind(on, 0, [&] {
            move<<<blocks, threads, 0, *source_>>>(doubles(to), 2, doubles(from), 2, n);
        });
    }
    void pack_and_read(int64_t n, int pieces, cudaStream_t on) const
    {
        const int64_t each = n / pieces;
        for (int i = 0; i < pieces; ++i) {
            double *const there = doubles(packed) + i * each;
            behind(on, i, [&] {
                move<<<blocks, threads, 0, *source_>>>(there, 1, doubles(from) + 2 * i * each, 2,
                                                       each);
            });
            move<<<blocks, threads, 0, on>>>(doubles(to) + 2 * i * each, 2, there, 1, each);
        }
    }

    const Device from, to, packed;

private:
    // GPU 0 does something once `on` has come so far (the first piece), and `on` waits for it.
    template <class Work> void behind(cudaStream_t on, int piece, Work work) const
    {
        if (piece == 0) {
            BENCH_CUDA(cudaEventRecord(begun_, on));
            BENCH_CUDA(cudaStreamWaitEvent(*source_, begun_));
        }
        {
            const OnGpu current(0);
            work();
            BENCH_CUDA(cudaGetLastError());
            BENCH_CUDA(cudaEventRecord(*ended_[piece], *source_));
        }
        BENCH_CUDA(cudaStreamWaitEvent(on, *ended_[piece]));
    }

    std::unique_ptr<Stream> source_;
    std::unique_ptr<Event> ended_[most_pieces];
    Event begun_; // of GPU 1
};

using Way = std::function<void(int64_t n, cudaStream_t on)>;

void check(const Gaps &gaps, const Way &way, int64_t n)
{
    const Device before(16 * n), wrong(sizeof(unsigned long long));
    unsigned long long found = 0;
    fill_pattern(before.get(), 16 * n, spoiled_seed);
    BENCH_CUDA(
        cudaMemcpy(gaps.to.get(), before.get(), static_cast<size_t>(16 * n), cudaMemcpyDefault));
    BENCH_CUDA(cudaMemset(wrong.get(), 0, sizeof found));
    {
        const OnGpu current(0);
        fill_pattern(gaps.from.get(), 16 * n, sent_seed);
        BENCH_CUDA(cudaDeviceSynchronize());
    }
    BENCH_CUDA(cudaDeviceSynchronize());
    const Stream on;
    way(n, on);
    on.wait();
    count_wrong<<<blocks, threads>>>(doubles(gaps.to), doubles(gaps.from), doubles(before), n,
                                     reinterpret_cast<unsigned long long *>(wrong.get()));
    BENCH_CUDA(cudaMemcpy(&found, wrong.get(), sizeof found, cudaMemcpyDefault));
    if (found)
        throw std::runtime_error("wrong data: " + std::to_string(found) + " of " +
                                 std::to_string(n) + " doubles");
}

void measure_way(const std::string &name, const Gaps &gaps, const Way &way, const Limits &limits)
{
    std::vector<Point> points;
    try {
        for (int64_t bytes = least_bytes; bytes <= limits.most; bytes *= step) {
            const int64_t n = bytes / 8;
            check(gaps, way, n);
            points.push_back({bytes, gpu_time([&](int, cudaStream_t on) { way(n, on); },
                                              most_samples, limits.seconds, 1)});
        }
    } catch (const std::exception &error) {
        cudaGetLastError();
        say_error(name + ": " + error.what());
    }
    if (points.empty())
        return;
    say_series({name, gpu_name(0), gpu_name(1), 1}, points);
    std::fprintf(stderr, "  %s: %.1f us for %lld bytes\n", name.c_str(),
                 1e6 * points.back().time.median, static_cast<long long>(points.back().bytes));
}

} // namespace

void measure_gaps(int gpus, Limits limits)
{
    if (gpus < 2 || !let_access(0, 1)) {
        say_note("Data with gaps need two GPUs with access to each other's memory.");
        return;
    }
    limits.most = std::min<int64_t>(limits.most, 64 << 20);
    const OnGpu current(1);
    const Gaps gaps(limits.most);
    measure_way(
        "gaps, read", gaps, [&](int64_t n, cudaStream_t on) { gaps.read(n, on); }, limits);
    measure_way(
        "gaps, write", gaps, [&](int64_t n, cudaStream_t on) { gaps.write(n, on); }, limits);
    for (const int pieces : {1, 2, most_pieces})
        measure_way(
            "gaps, packed and read" +
                (pieces > 1 ? " in " + std::to_string(pieces) + " pieces" : std::string()),
            gaps, [&, pieces](int64_t n, cudaStream_t on) { gaps.pack_and_read(n, pieces, on); },
            limits);
}

} // namespace bench
