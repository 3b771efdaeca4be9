// SPDX-License-Identifier: BSD-3-Clause
// Between every ordered pair of GPUs: explicit copies without and with peer access, kernels that
// reach into the other's memory, managed memory. And a copy on each GPU.
#include "managed.hpp"
#include "parts.hpp"

namespace bench {
namespace {

struct Pair {
    int from, to;
};

// As many bytes on each GPU, and as many again for the way back.
struct Buffers {
    explicit Buffers(int gpus, int64_t bytes)
    {
        for (int i = 0; i < gpus; ++i) {
            const OnGpu current(i);
            data.emplace_back(bytes);
            back.emplace_back(bytes);
        }
    }
    std::vector<Device> data, back;
};

using Enqueue = BothWays::Enqueue;

Enqueue peer_copy(char *to, int to_gpu, const char *from, int from_gpu)
{
    return [=](int64_t bytes, cudaStream_t on) {
        BENCH_CUDA(cudaMemcpyPeerAsync(to, to_gpu, from, from_gpu, static_cast<size_t>(bytes), on));
    };
}

Enqueue kernel(char *to, const char *from)
{
    return [=](int64_t bytes, cudaStream_t on) { copy_by_kernel(to, from, bytes, on); };
}

// One way and, of the pair whose first GPU has the lower number, both ways. `first` moves data from
// `from` to `to` and runs on `gpu`; `second` moves them back and runs on the other GPU.
void measure_ways(const std::string &name, const Pair &pair, const Buffers &buffers, int gpu,
                  const Enqueue &first, const Enqueue &second, const Limits &limits)
{
    const OnGpu current(gpu);
    const auto [from, to] = pair;
    const std::vector<Ends> ends{{buffers.data[from].get(), buffers.data[to].get()},
                                 {buffers.back[to].get(), buffers.back[from].get()}};
    measure({{name, gpu_name(from), gpu_name(to), 1}, {ends[0]}, first}, limits);
    if (from > to)
        return;
    const BothWays ways(first, second, gpu == from ? to : from);
    measure({{name, gpu_name(from), gpu_name(to), 2},
             ends,
             [&](int64_t bytes, cudaStream_t on) { ways.enqueue(bytes, on); }},
            limits);
}

void measure_copies(const std::string &name, const Pair &pair, const Buffers &buffers,
                    const Limits &limits)
{
    const auto [from, to] = pair;
    measure_ways(name, pair, buffers, from,
                 peer_copy(buffers.data[to].get(), to, buffers.data[from].get(), from),
                 peer_copy(buffers.back[from].get(), from, buffers.back[to].get(), to), limits);
}

void measure_kernels(const Pair &pair, const Buffers &buffers, const Limits &limits)
{
    const auto [from, to] = pair;
    const Enqueue there = kernel(buffers.data[to].get(), buffers.data[from].get()),
                  back = kernel(buffers.back[from].get(), buffers.back[to].get());
    measure_ways("zero-copy, read", pair, buffers, to, there, back, limits);
    measure_ways("zero-copy, write", pair, buffers, from, there, back, limits);
}

std::vector<Pair> all_pairs(int gpus)
{
    std::vector<Pair> pairs;
    for (int from = 0; from < gpus; ++from)
        for (int to = 0; to < gpus; ++to)
            if (from != to)
                pairs.push_back({from, to});
    return pairs;
}

bool allows_access(const Pair &pair)
{
    int there = 0, back = 0;
    BENCH_CUDA(cudaDeviceCanAccessPeer(&there, pair.from, pair.to));
    BENCH_CUDA(cudaDeviceCanAccessPeer(&back, pair.to, pair.from));
    return there && back;
}

// GPU `from` may reach into the memory of GPU `to` from now on.
void let_reach(int from, int to)
{
    const OnGpu current(from);
    const cudaError_t error = cudaDeviceEnablePeerAccess(to, 0);
    if (error != cudaErrorPeerAccessAlreadyEnabled)
        BENCH_CUDA(error);
    cudaGetLastError(); // which remembers that it was there already
}

} // namespace

bool let_access(int one, int other)
{
    if (!allows_access({one, other}))
        return false;
    let_reach(one, other);
    let_reach(other, one);
    return true;
}

void measure_pairs(int gpus, const Limits &limits)
{
    const Buffers buffers(gpus, limits.most);
    const std::vector<Pair> pairs = all_pairs(gpus);
    if (pairs.empty())
        say_note("There is one GPU, so no pair of them.");
    for (int i = 0; i < gpus; ++i) {
        const OnGpu current(i);
        char *const to = buffers.data[i].get(), *const from = buffers.back[i].get();
        measure({{"explicit", gpu_name(i), gpu_name(i), 1},
                 {{from, to}},
                 [=](int64_t bytes, cudaStream_t on) {
                     BENCH_CUDA(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes),
                                                cudaMemcpyDeviceToDevice, on));
                 }},
                limits);
    }
    for (const Pair &pair : pairs)
        measure_copies("explicit, no peer access", pair, buffers, limits);
    for (const Pair &pair : pairs) {
        if (!allows_access(pair)) {
            say_note(gpu_name(pair.from) + " and " + gpu_name(pair.to) +
                     " have no access to each other's memory.");
            continue;
        }
        let_reach(pair.from, pair.to);
    }
    for (const Pair &pair : pairs)
        if (allows_access(pair)) {
            measure_copies("explicit, peer access", pair, buffers, limits);
            measure_kernels(pair, buffers, limits);
        }
    for (const auto &[from, to] : pairs)
        if (shares_managed(from) && shares_managed(to)) {
            const Managed memory(limits.most);
            measure_managed(memory, {gpu_name(from), from, std::nullopt},
                            {gpu_name(to), to, std::nullopt}, &buffers.data[to], limits);
        }
}

} // namespace bench
