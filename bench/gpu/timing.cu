// SPDX-License-Identifier: BSD-3-Clause
#include "timing.hpp"

#include <algorithm>
#include <chrono>

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int warm_up = 3, least = 3;
// cycles: about 25 and 400 us
constexpr long long least_waiting = 50000, most_waiting = least_waiting << 4;

__global__ void empty() {}

__global__ void wait(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

double since(Clock::time_point begin)
{
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Runs `sample(i)` a few times unmeasured, then keeps what it returns. One that takes very long is
// not repeated.
template <class Sample> void collect(Sample &&sample, int most, double seconds)
{
    const auto begin = Clock::now();
    for (int i = 0; i < warm_up; ++i) {
        sample(i, false);
        if (since(begin) > seconds)
            break;
    }
    const auto measuring = Clock::now();
    for (int i = 0; i < most && (i < least || since(measuring) < seconds); ++i) {
        sample(i, true);
        if (since(measuring) > 4 * seconds)
            break;
    }
}

std::vector<Time> times_of(std::vector<std::vector<double>> samples)
{
    std::vector<Time> times;
    for (std::vector<double> &each : samples)
        times.push_back(time_of(std::move(each)));
    return times;
}

} // namespace

Time time_of(std::vector<double> samples)
{
    if (samples.empty())
        throw std::runtime_error("nothing was measured");
    std::sort(samples.begin(), samples.end());
    const auto at = [&](double part) {
        return samples[static_cast<size_t>(part * static_cast<double>(samples.size() - 1) + 0.5)];
    };
    return {at(0.5), at(0.1), at(0.9), static_cast<int>(samples.size())};
}

Time gpu_time(const Enqueue &enqueue, int most, double seconds, int repeat)
{
    return gpu_times({enqueue}, most, seconds, repeat).front();
}

std::vector<Time> gpu_times(const std::vector<Enqueue> &all, int most, double seconds, int repeat)
{
    const Stream stream;
    const Event begin, end;
    std::vector<std::vector<double>> samples(all.size());
    std::vector<long long> waiting(all.size(), least_waiting);
    // Whether all of the work was there when the GPU came to it.
    const auto measure = [&](const Enqueue &enqueue, int i, long long cycles) {
        wait<<<1, 1, 0, stream>>>(cycles);
        BENCH_CUDA(cudaEventRecord(begin, stream));
        for (int k = 0; k < repeat; ++k)
            enqueue(i * repeat + k, stream);
        BENCH_CUDA(cudaEventRecord(end, stream));
        const bool in_time = cudaEventQuery(begin) == cudaErrorNotReady;
        cudaGetLastError(); // that it is not ready is no error
        BENCH_CUDA(cudaEventSynchronize(end));
        return in_time;
    };
    collect(
        [&](int i, bool kept) {
            for (size_t who = 0; who < all.size(); ++who) {
                while (!measure(all[who], i, waiting[who]) && waiting[who] < most_waiting)
                    waiting[who] *= 2;
                float milliseconds = 0;
                BENCH_CUDA(cudaEventElapsedTime(&milliseconds, begin, end));
                if (kept)
                    samples[who].push_back(1e-3 * milliseconds / repeat);
            }
        },
        most, seconds);
    return times_of(std::move(samples));
}

WallTimes wall_times(const std::vector<Call> &all, int most, double seconds, const Call &before)
{
    const Stream stream;
    std::vector<std::vector<double>> calls(all.size());
    std::vector<double> launches;
    collect(
        [&](int i, bool kept) {
            for (size_t who = 0; who < all.size(); ++who) {
                if (before)
                    before(i);
                const auto first = Clock::now();
                launch_empty(stream);
                stream.wait();
                const double launch = since(first);
                const auto second = Clock::now();
                all[who](i);
                const double taken = since(second);
                if (kept) {
                    launches.push_back(launch);
                    calls[who].push_back(taken);
                }
            }
        },
        most, seconds);
    return {times_of(std::move(calls)), time_of(std::move(launches))};
}

void launch_empty(cudaStream_t stream)
{
    empty<<<1, 1, 0, stream>>>();
    BENCH_CUDA(cudaGetLastError());
}

} // namespace bench
