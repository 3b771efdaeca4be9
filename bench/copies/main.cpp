// SPDX-License-Identifier: BSD-3-Clause
// Copies between the memories of a machine, and what CUDA's calls cost: what Pearson measures with
// Comm|Scope (paper 004, chapter 3). bench/copies/run builds it and runs it.
#include "parts.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>

namespace bench {
namespace {

// A buffer of managed memory, two on each GPU for the pairs, and two for the checks.
constexpr int64_t buffers_on_a_gpu = 6;

// No more than fits on the GPU with the least memory free, and a length of the list.
int64_t fitting(int gpus, int64_t most)
{
    size_t least = SIZE_MAX;
    for (int i = 0; i < gpus; ++i) {
        const OnGpu current(i);
        size_t free = 0, all = 0;
        BENCH_CUDA(cudaMemGetInfo(&free, &all));
        least = std::min(least, free);
    }
    const int64_t fits = std::min(most, static_cast<int64_t>(least) / buffers_on_a_gpu);
    int64_t bytes = least_bytes;
    while (bytes * step <= fits)
        bytes *= step;
    if (fits < most)
        say_note("Little memory is free on a GPU, so the longest copy has " +
                 std::to_string(bytes) + " bytes.");
    return bytes;
}

int count_gpus()
{
    int gpus = 0;
    if (const cudaError_t error = cudaGetDeviceCount(&gpus); error != cudaSuccess)
        throw std::runtime_error(std::string("no GPU can be used: ") + cudaGetErrorString(error));
    return gpus;
}

int run(int argc, char **argv)
{
    Limits limits;
    const std::vector<std::string> all{"host", "pairs", "gaps", "calls", "graphs"};
    std::vector<std::string> only = all;
    CLI::App app(
        "Measures copies between the memories of a machine, and what CUDA's calls cost. Writes "
        "a line of JSON for each result.\n",
        "copies");
    app.footer("\nExit status: 0 measured, 2 something failed (wrong data included).");
    app.add_option("--only", only, "Measure these parts alone")->check(CLI::IsMember(all));
    app.add_option("--most", limits.most, "No copies of more bytes (default 268435456)")
        ->check(CLI::Range(int64_t{least_bytes}, int64_t{256} << 20));
    app.add_option("--seconds", limits.seconds, "For the samples of each length (default 0.1)")
        ->check(CLI::Range(0.001, 10.0));
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    const int gpus = count_gpus();
    say_machine(gpus);
    limits.most = fitting(gpus, limits.most);

    const std::pair<const char *, std::function<void()>> parts[] = {
        {"host", [&] { measure_host(gpus, limits); }},
        {"pairs", [&] { measure_pairs(gpus, limits); }},
        {"gaps", [&] { measure_gaps(gpus, limits); }},
        {"calls", [] { measure_calls(); }},
        {"graphs", [&] { measure_graphs(limits); }},
    };
    size_t number = 0;
    for (const auto &[name, measure] : parts)
        if (std::find(only.begin(), only.end(), name) != only.end()) {
            std::fprintf(stderr, "[%zu/%zu] %s\n", ++number, only.size(), name);
            measure();
        }
    return said_error() ? 2 : 0;
}

} // namespace
} // namespace bench

int main(int argc, char **argv)
{
    try {
        return bench::run(argc, argv);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "copies: %s\n", error.what());
        return 2;
    }
}
