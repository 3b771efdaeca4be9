// SPDX-License-Identifier: BSD-3-Clause
#include "method.hpp"

#include "memory.hpp"

#include <algorithm>
#include <cstdio>

namespace bench {
namespace {

constexpr int most_samples = 100;
// Short copies go several in a row between the events, which cost something themselves.
constexpr int64_t short_bytes = 1 << 20;
constexpr int in_a_row = 4;
constexpr uint64_t pattern_seed = 1, spoiled_seed = 101;

void put(char *to, const Device &pattern, uint64_t seed)
{
    fill_pattern(pattern.get(), pattern.bytes(), seed);
    BENCH_CUDA(
        cudaMemcpy(to, pattern.get(), static_cast<size_t>(pattern.bytes()), cudaMemcpyDefault));
}

// Moves the data once, from memory that holds a pattern into memory that holds another.
void check_data(const Method &method, int64_t bytes)
{
    const Device pattern(bytes), found(bytes);
    for (size_t way = 0; way < method.ends.size(); ++way) {
        const Ends &ends = method.ends[way];
        put(ends.from, pattern, pattern_seed + way);
        if (ends.to != ends.from)
            put(ends.to, pattern, spoiled_seed);
    }
    // cudaMemcpy between GPUs returns before it ends, and streams of another GPU do not wait for
    // it.
    BENCH_CUDA(cudaDeviceSynchronize());
    if (method.before)
        method.before(bytes);
    if (method.call) {
        method.call(bytes);
    } else {
        const Stream stream;
        method.enqueue(bytes, stream);
        stream.wait();
    }
    for (size_t way = 0; way < method.ends.size(); ++way) {
        fill_pattern(pattern.get(), bytes, pattern_seed + way);
        BENCH_CUDA(cudaMemcpy(found.get(), method.ends[way].to, static_cast<size_t>(bytes),
                              cudaMemcpyDefault));
        if (const int64_t wrong = differing(pattern.get(), found.get(), bytes))
            throw std::runtime_error("wrong data: " + std::to_string(wrong) + " of " +
                                     std::to_string(bytes) + " bytes");
    }
}

Time time_of_length(const Method &method, int64_t bytes, double seconds)
{
    if (method.enqueue)
        return gpu_time([&](int, cudaStream_t on) { method.enqueue(bytes, on); }, most_samples,
                        seconds, bytes <= short_bytes ? in_a_row : 1);
    Call before;
    if (method.before)
        before = [&](int) { method.before(bytes); };
    return wall_times({[&](int) { method.call(bytes); }}, most_samples, seconds, before)
        .calls.front();
}

// Enough in flight for any link, and two such kernels fit on a GPU at once.
constexpr int threads = 256, most_blocks = 512;

__global__ void copy(uint4 *to, const uint4 *from, int64_t words)
{
    const int64_t all = int64_t{gridDim.x} * blockDim.x;
    for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < words; i += all)
        to[i] = from[i];
}

} // namespace

std::string gpu_name(int gpu) { return "GPU " + std::to_string(gpu); }

void measure(const Method &method, const Limits &limits)
{
    const Series &series = method.series;
    const std::string name = series.method + ", " + series.from +
                             (series.ways == 2 ? " and back, to " : " to ") + series.to;
    std::vector<Point> points;
    try {
        for (int64_t bytes = least_bytes; bytes <= limits.most; bytes *= step) {
            check_data(method, bytes);
            points.push_back({bytes, time_of_length(method, bytes, limits.seconds)});
        }
    } catch (const std::exception &error) {
        cudaGetLastError();
        say_error(name + ": " + error.what());
    }
    if (points.empty())
        return;
    say_series(series, points);
    const Point &least = points.front(), &most = points.back();
    std::fprintf(stderr, "  %s: %.1f us for %lld bytes, %.1f GB/s at %lld\n", name.c_str(),
                 1e6 * least.time.median, static_cast<long long>(least.bytes),
                 1e-9 * series.ways * static_cast<double>(most.bytes) / most.time.median,
                 static_cast<long long>(most.bytes));
}

BothWays::BothWays(Enqueue first, Enqueue second, int second_gpu)
    : first_(std::move(first)), second_(std::move(second)), second_gpu_(second_gpu)
{
    const OnGpu current(second_gpu_);
    other_ = std::make_unique<Side>();
}

void BothWays::enqueue(int64_t bytes, cudaStream_t on) const
{
    BENCH_CUDA(cudaEventRecord(begun_, on));
    BENCH_CUDA(cudaStreamWaitEvent(other_->stream, begun_));
    first_(bytes, on);
    {
        const OnGpu current(second_gpu_);
        second_(bytes, other_->stream);
        BENCH_CUDA(cudaEventRecord(other_->ended, other_->stream));
    }
    BENCH_CUDA(cudaStreamWaitEvent(on, other_->ended));
}

void copy_by_kernel(char *to, const char *from, int64_t bytes, cudaStream_t on)
{
    const int64_t words = bytes / static_cast<int64_t>(sizeof(uint4));
    const auto blocks = std::min<int64_t>((words + threads - 1) / threads, most_blocks);
    copy<<<static_cast<unsigned>(blocks), threads, 0, on>>>(
        reinterpret_cast<uint4 *>(to), reinterpret_cast<const uint4 *>(from), words);
    BENCH_CUDA(cudaGetLastError());
}

} // namespace bench
