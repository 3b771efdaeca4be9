// SPDX-License-Identifier: BSD-3-Clause
// What calls of CUDA's cost the processor, made by several threads at once, each on a stream of its
// own.
#include "parts.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <thread>

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int rounds = 30, unmeasured = 5, most_threads = 8;
constexpr size_t copied = 1 << 10, allocated = 1 << 20;

struct Parameters {
    char bytes[4000];
};
__global__ void short_kernel(int) {}
__global__ void long_kernel(Parameters) {}

// What a thread has for its calls.
struct Hands {
    Stream stream;
    Event event;
    Device device{copied};
    Pinned pinned{copied};
};

struct ACall {
    const char *name;
    int in_a_round; // so many that a round is long beside the clock's steps, and a stream holds
                    // them
    void (*make)(Hands &);
};

const ACall calls[] = {
    {"cudaMemcpyAsync, 1 KiB to the GPU", 100,
     [](Hands &hands) {
         BENCH_CUDA(cudaMemcpyAsync(hands.device.get(), hands.pinned.get(), copied,
                                    cudaMemcpyHostToDevice, hands.stream));
     }},
    {"kernel launch, 4 bytes of parameters", 100,
     [](Hands &hands) {
         short_kernel<<<1, 1, 0, hands.stream>>>(0);
         BENCH_CUDA(cudaGetLastError());
     }},
    {"kernel launch, 4000 bytes", 100,
     [](Hands &hands) {
         static const Parameters parameters{};
         long_kernel<<<1, 1, 0, hands.stream>>>(parameters);
         BENCH_CUDA(cudaGetLastError());
     }},
    {"cudaEventRecord", 100,
     [](Hands &hands) { BENCH_CUDA(cudaEventRecord(hands.event, hands.stream)); }},
    {"cudaStreamSynchronize, idle", 100, [](Hands &hands) { hands.stream.wait(); }},
    {"cudaMalloc and cudaFree, 1 MiB", 10, [](Hands &) { const Device memory(allocated); }},
    {"cudaPointerGetAttributes", 1000,
     [](Hands &hands) {
         cudaPointerAttributes attributes{};
         BENCH_CUDA(cudaPointerGetAttributes(&attributes, hands.device.get()));
     }},
};

// Threads wait here for each other, awake: to be woken would take longer than the calls.
class Gate {
public:
    explicit Gate(int threads) : threads_(threads) {}
    void pass()
    {
        const int turn = turn_;
        if (++here_ == threads_) {
            here_ = 0;
            ++turn_;
            return;
        }
        while (turn_ == turn)
            std::this_thread::yield();
    }

private:
    const int threads_;
    std::atomic<int> here_ = 0, turn_ = 0;
};

struct Round {
    Clock::time_point begin, end;
};

// A thread's rounds. A call that fails is told at the end, for the others wait at the gate.
void run_rounds(const ACall &call, Gate &gate, std::vector<Round> &found,
                std::exception_ptr &failed)
{
    std::unique_ptr<Hands> hands;
    const auto safely = [&](const auto &work) {
        try {
            if (!failed)
                work();
        } catch (const std::exception &) {
            failed = std::current_exception();
        }
    };
    safely([&] {
        BENCH_CUDA(cudaSetDevice(0));
        hands = std::make_unique<Hands>();
    });
    for (Round &round : found) {
        gate.pass();
        round.begin = Clock::now();
        safely([&] {
            for (int i = 0; i < call.in_a_round; ++i)
                call.make(*hands);
        });
        round.end = Clock::now();
        gate.pass();
        safely([&] { hands->stream.wait(); });
    }
    gate.pass();
}

// How long a call takes while so many threads make it: a round lasts until the last has made all of
// its calls.
Time time_of_call(const ACall &call, int threads)
{
    std::vector<std::vector<Round>> found(threads, std::vector<Round>(rounds + unmeasured));
    std::vector<std::exception_ptr> failed(threads);
    Gate gate(threads);
    {
        std::vector<std::jthread> running;
        for (int i = 0; i < threads; ++i)
            running.emplace_back([&, i] { run_rounds(call, gate, found[i], failed[i]); });
    }
    for (const std::exception_ptr &each : failed)
        if (each)
            std::rethrow_exception(each);
    std::vector<double> samples;
    for (int round = unmeasured; round < rounds + unmeasured; ++round) {
        Round whole = found[0][round];
        for (const std::vector<Round> &thread : found) {
            whole.begin = std::min(whole.begin, thread[round].begin);
            whole.end = std::max(whole.end, thread[round].end);
        }
        samples.push_back(std::chrono::duration<double>(whole.end - whole.begin).count() /
                          call.in_a_round);
    }
    return time_of(std::move(samples));
}

} // namespace

void measure_calls()
{
    for (const ACall &call : calls)
        for (int threads = 1; threads <= most_threads; threads *= 2)
            try {
                const Time time = time_of_call(call, threads);
                say_call(call.name, threads, time);
                std::fprintf(stderr, "  %s, %d %s: %.2f us\n", call.name, threads,
                             threads == 1 ? "thread" : "threads", 1e6 * time.median);
            } catch (const std::exception &error) {
                cudaGetLastError();
                say_error(std::string(call.name) + ", " + std::to_string(threads) +
                          " threads: " + error.what());
            }
}

} // namespace bench
