// SPDX-License-Identifier: BSD-3-Clause
// Between the host's memory and each GPU: explicit copies, kernels that reach over the link, and
// managed memory. With several NUMA nodes the host's memory is that of each in turn.
#include "managed.hpp"
#include "nodes.hpp"
#include "parts.hpp"

namespace bench {
namespace {

// Whether memory can be asked of a node, tried with pinned memory; says so where it cannot.
bool gives_memory(int node)
{
    const std::string name = "node " + std::to_string(node);
    const OnNode here(node);
    if (!here.bound()) {
        say_note("The system refuses to bind memory to " + name + ".");
        return false;
    }
    const Pinned memory(1 << 20);
    if (lies_on(memory.get(), static_cast<size_t>(memory.bytes()), node).value_or(true))
        return true;
    say_note("Pinned memory that was bound to " + name + " lies elsewhere.");
    return false;
}

std::vector<Place> host_places()
{
    const std::vector<int> nodes = memory_nodes();
    std::vector<Place> places;
    if (nodes.size() < 2)
        say_note("The host has one NUMA node as far as this system says, so no memory is far.");
    else
        for (const int node : nodes)
            if (gives_memory(node))
                places.push_back({"node " + std::to_string(node), std::nullopt, node});
    if (places.empty())
        places.push_back({"host", std::nullopt, std::nullopt});
    return places;
}

size_t size(int64_t bytes) { return static_cast<size_t>(bytes); }

void measure_explicit(const Place &host, const Place &gpu, const Limits &limits)
{
    const Device data(limits.most), other(limits.most);
    const Pinned pinned(limits.most), other_pinned(limits.most);
    std::vector<char> pageable(size(limits.most)); // touched here, on this node
    const Stream stream;
    const auto copies = [](char *to, const char *from) {
        return [=](int64_t bytes, cudaStream_t on) {
            BENCH_CUDA(cudaMemcpyAsync(to, from, size(bytes), cudaMemcpyDefault, on));
        };
    };
    const auto kernels = [](char *to, const char *from) {
        return [=](int64_t bytes, cudaStream_t on) { copy_by_kernel(to, from, bytes, on); };
    };
    const auto blocking = [&](char *to, const char *from) {
        return [=, &stream](int64_t bytes) {
            BENCH_CUDA(cudaMemcpyAsync(to, from, size(bytes), cudaMemcpyDefault, stream));
            stream.wait();
        };
    };
    char *const device = data.get(), *const memory = pinned.get(), *const pages = pageable.data();
    measure(
        {{"explicit, pinned", host.name, gpu.name, 1}, {{memory, device}}, copies(device, memory)},
        limits);
    measure(
        {{"explicit, pinned", gpu.name, host.name, 1}, {{device, memory}}, copies(memory, device)},
        limits);
    measure({{"explicit, pageable", host.name, gpu.name, 1},
             {{pages, device}},
             nullptr,
             blocking(device, pages)},
            limits);
    measure({{"explicit, pageable", gpu.name, host.name, 1},
             {{device, pages}},
             nullptr,
             blocking(pages, device)},
            limits);
    measure({{"zero-copy", host.name, gpu.name, 1}, {{memory, device}}, kernels(device, memory)},
            limits);
    measure({{"zero-copy", gpu.name, host.name, 1}, {{device, memory}}, kernels(memory, device)},
            limits);

    char *const back = other.get(), *const memory_back = other_pinned.get();
    const auto both = [&](const char *name, const BothWays &ways) {
        measure({{name, host.name, gpu.name, 2},
                 {{memory, device}, {back, memory_back}},
                 [&](int64_t bytes, cudaStream_t on) { ways.enqueue(bytes, on); }},
                limits);
    };
    both("explicit, pinned", {copies(device, memory), copies(memory_back, back), *gpu.gpu});
    both("zero-copy", {kernels(device, memory), kernels(memory_back, back), *gpu.gpu});
}

} // namespace

void measure_host(int gpus, const Limits &limits)
{
    for (const Place &host : host_places()) {
        std::optional<OnNode> here;
        if (host.node)
            here.emplace(*host.node);
        for (int i = 0; i < gpus; ++i) {
            const OnGpu current(i);
            const Place gpu{gpu_name(i), i, std::nullopt};
            measure_explicit(host, gpu, limits);
            if (!shares_managed(i))
                continue;
            const Managed memory(limits.most);
            const Device target(limits.most);
            measure_managed(memory, host, gpu, &target, limits);
            measure_managed(memory, gpu, host, nullptr, limits);
        }
    }
}

} // namespace bench
