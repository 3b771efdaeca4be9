// SPDX-License-Identifier: BSD-3-Clause
// The GPU benchmark. bench/gpu/run builds it, runs it and judges what it found.
#include "benchmarks.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>

namespace bench {

void report(benchmark::State &state, const Time &time, const std::string &name)
{
    state.SetIterationTime(time.median);
    state.counters[name] = time.median;
    state.counters[name + "_low"] = time.low;
    state.counters[name + "_high"] = time.high;
    state.counters[name + "_samples"] = time.samples;
}

void report_gpu(benchmark::State &state, const std::vector<Enqueue> &who, int repeat)
{
    const std::vector<Time> times = gpu_times(who, most_samples, enough_seconds, repeat);
    if (times.size() > 1)
        report(state, times[1], "beside_gpu");
    report(state, times[0], "gpu");
}

void report_wall(benchmark::State &state, const std::vector<Call> &who)
{
    const WallTimes times = wall_times(who, most_calls, enough_seconds);
    if (times.calls.size() > 1)
        report(state, times.calls[1], "beside_wall");
    report(state, times.launch, "launch");
    report(state, times.calls[0], "wall");
}

namespace {

std::string info()
{
    size_t length = 0;
    BENCH_HEDDLE(heddle_info(nullptr, 0, &length));
    std::string text(length + 1, '\0');
    BENCH_HEDDLE(heddle_info(text.data(), text.size(), &length));
    text.resize(length);
    return text;
}

// Adds what describes the GPU, which need not be there for a list of the benchmarks.
void add_context()
{
    cudaDeviceProp device{};
    int driver = 0, runtime = 0;
    BENCH_CUDA(cudaGetDeviceProperties(&device, 0));
    BENCH_CUDA(cudaDriverGetVersion(&driver));
    BENCH_CUDA(cudaRuntimeGetVersion(&runtime));
    benchmark::AddCustomContext("gpu", device.name);
    benchmark::AddCustomContext("cuda_driver", std::to_string(driver));
    benchmark::AddCustomContext("cuda_runtime", std::to_string(runtime));
    benchmark::AddCustomContext("heddle", heddle_version());
}

int run(int argc, char **argv)
{
    const bool only_names = std::any_of(argv, argv + argc, [](const char *each) {
        return std::string_view(each).starts_with("--benchmark_list_tests");
    });
    std::vector<Rival> rivals;
    const auto is_rival = [](const char *each) {
        return std::string_view(each).starts_with("--rival=");
    };
    for (int i = 1; i < argc; ++i)
        if (is_rival(argv[i]))
            rivals.emplace_back(argv[i] + std::string_view("--rival=").size());
    argc = static_cast<int>(std::remove_if(argv + 1, argv + argc, is_rival) - argv);
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 2;
    if (!only_names)
        add_context();
    register_limits();
    register_moves(rivals);
    register_batch();
    register_copies();
    register_reductions();
    // The rivals can be measured without a device.
    if (!only_names && heddle_device_open() != HEDDLE_SUCCESS)
        std::fprintf(stderr, "no device is open:\n%s\n", info().c_str());
    benchmark::RunSpecifiedBenchmarks();
    if (!only_names)
        std::fprintf(stderr, "%s\n", info().c_str());
    benchmark::Shutdown();
    return 0;
}

} // namespace
} // namespace bench

int main(int argc, char **argv)
{
    try {
        return bench::run(argc, argv);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "bench/gpu: %s\n", error.what());
        return 2;
    }
}
