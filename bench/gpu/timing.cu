// SPDX-License-Identifier: BSD-3-Clause
#include "timing.hpp"

#include <algorithm>
#include <chrono>

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int warm_up = 3, least = 3;
constexpr long long least_waiting = 50000, most_waiting = least_waiting << 4; // cycles: about 25 and 400 us

__global__ void empty() {}

__global__ void wait(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Runs `sample(i)` a few times unmeasured, then keeps what it returns. One that takes very long is not
// repeated.
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

Time gpu_time(const std::function<void(int, cudaStream_t)> &enqueue, int most, double seconds, int repeat)
{
    const Stream stream;
    const Event begin, end;
    std::vector<double> samples;
    long long waiting = least_waiting;
    collect(
        [&](int i, bool kept) {
            // Once more, behind a longer wait, where the GPU came to the work before all of it was there.
            for (bool early = true; early; waiting = early ? 2 * waiting : waiting) {
                wait<<<1, 1, 0, stream>>>(waiting);
                BENCH_CUDA(cudaEventRecord(begin, stream));
                for (int k = 0; k < repeat; ++k)
                    enqueue(i * repeat + k, stream);
                BENCH_CUDA(cudaEventRecord(end, stream));
                early = cudaEventQuery(begin) == cudaSuccess && waiting < most_waiting;
                cudaGetLastError(); // that the event is yet to come is no error
                BENCH_CUDA(cudaEventSynchronize(end));
            }
            float milliseconds = 0;
            BENCH_CUDA(cudaEventElapsedTime(&milliseconds, begin, end));
            if (kept)
                samples.push_back(1e-3 * milliseconds / repeat);
        },
        most, seconds);
    return time_of(std::move(samples));
}

WallTime wall_time(const std::function<void(int)> &call, int most, double seconds)
{
    const Stream stream;
    std::vector<double> calls, launches;
    collect(
        [&](int i, bool kept) {
            const auto first = Clock::now();
            launch_empty(stream);
            stream.wait();
            const double launch = since(first);
            const auto second = Clock::now();
            call(i);
            const double taken = since(second);
            if (kept) {
                launches.push_back(launch);
                calls.push_back(taken);
            }
        },
        most, seconds);
    return {time_of(std::move(calls)), time_of(std::move(launches))};
}

void launch_empty(cudaStream_t stream)
{
    empty<<<1, 1, 0, stream>>>();
    BENCH_CUDA(cudaGetLastError());
}

} // namespace bench
