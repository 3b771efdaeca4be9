// SPDX-License-Identifier: BSD-3-Clause
// A chain of empty kernels: as a graph, and as so many launches.
#include "parts.hpp"

#include <cstdio>

namespace bench {
namespace {

constexpr int most_samples = 200;

struct DestroyGraph {
    void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
};
using Graph = std::unique_ptr<CUgraph_st, DestroyGraph>;

struct DestroyRunnable {
    void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
};
using Runnable = std::unique_ptr<CUgraphExec_st, DestroyRunnable>;

void launch_all(int kernels, cudaStream_t on)
{
    for (int i = 0; i < kernels; ++i)
        launch_empty(on);
}

Graph recorded(int kernels, const Stream &on)
{
    cudaGraph_t graph = nullptr;
    BENCH_CUDA(cudaStreamBeginCapture(on, cudaStreamCaptureModeThreadLocal));
    launch_all(kernels, on);
    BENCH_CUDA(cudaStreamEndCapture(on, &graph));
    return Graph(graph);
}

Runnable instantiated(const Graph &graph)
{
    cudaGraphExec_t runnable = nullptr;
    BENCH_CUDA(cudaGraphInstantiate(&runnable, graph.get(), 0));
    return Runnable(runnable);
}

void measure_chain(int kernels, const Limits &limits)
{
    const Stream stream;
    const Graph graph = recorded(kernels, stream);
    const Runnable runnable = instantiated(graph);
    Runnable made;
    const auto launch = [&] { BENCH_CUDA(cudaGraphLaunch(runnable.get(), stream)); };
    const std::pair<const char *, Call> who[] = {
        {"instantiate", [&](int) { made = instantiated(graph); }},
        {"graph launch", [&](int) { launch(); }},
        {"graph launch and wait",
         [&](int) {
             launch();
             stream.wait();
         }},
        {"launches", [&](int) { launch_all(kernels, stream); }},
        {"launches and wait",
         [&](int) {
             launch_all(kernels, stream);
             stream.wait();
         }},
    };
    std::vector<Call> calls;
    for (const auto &[name, call] : who)
        calls.push_back(call);
    // The stream is idle before each, and no graph is destroyed within.
    const std::vector<Time> times = wall_times(calls, most_samples, 5 * limits.seconds, [&](int) {
                                        made.reset();
                                        stream.wait();
                                    }).calls;
    for (size_t i = 0; i < times.size(); ++i)
        say_graph(who[i].first, kernels, times[i]);
    std::fprintf(stderr, "  %d kernels: launched in %.1f us, as a graph in %.1f us\n", kernels,
                 1e6 * times[3].median, 1e6 * times[1].median);
}

} // namespace

void measure_graphs(const Limits &limits)
{
    for (const int kernels : {1, 2, 5, 10, 20, 50, 100})
        try {
            measure_chain(kernels, limits);
        } catch (const std::exception &error) {
            cudaGetLastError();
            say_error("graph of " + std::to_string(kernels) + " kernels: " + error.what());
        }
}

} // namespace bench
