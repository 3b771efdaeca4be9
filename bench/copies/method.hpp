// SPDX-License-Identifier: BSD-3-Clause
// A method of moving data: how it is checked, timed and told.
#pragma once

#include "lines.hpp"

#include <memory>

namespace bench {

struct Limits {
    int64_t most = 256 << 20; // bytes
    double seconds = 0.1;     // for the samples of one length
};
constexpr int64_t least_bytes = 1 << 10, step = 4; // 1 KiB, and four times as much each time

// Makes a GPU the current one until its end.
class OnGpu {
public:
    explicit OnGpu(int gpu)
    {
        BENCH_CUDA(cudaGetDevice(&before_));
        BENCH_CUDA(cudaSetDevice(gpu));
    }
    OnGpu(const OnGpu &) = delete;
    ~OnGpu() { cudaSetDevice(before_); }

private:
    int before_ = 0;
};

std::string gpu_name(int gpu);

// Equal ends where data change their place alone (managed memory).
struct Ends {
    char *from, *to;
};

// Either `enqueue` or `call`. What is put on a stream is timed on the GPU, by events; what returns
// when the data are there, by the clock.
struct Method {
    Series series;
    std::vector<Ends> ends; // one for each way
    std::function<void(int64_t bytes, cudaStream_t)> enqueue = nullptr;
    std::function<void(int64_t bytes)> call = nullptr;
    // Puts the data where they come from; not timed.
    std::function<void(int64_t bytes)> before = nullptr;
};

// Each length's data are checked before it is timed. What fails is told, and the next method may
// come. The current GPU is the one that streams are made on.
void measure(const Method &method, const Limits &limits);

// Both ways at once, between two events: the second one on a stream of its own.
class BothWays {
public:
    using Enqueue = std::function<void(int64_t bytes, cudaStream_t)>;
    // `first` is put on streams of the GPU that is the current one now.
    BothWays(Enqueue first, Enqueue second, int second_gpu);
    void enqueue(int64_t bytes, cudaStream_t on) const;

private:
    struct Side {
        Stream stream;
        Event ended;
    };
    Enqueue first_, second_;
    int second_gpu_;
    Event begun_;
    std::unique_ptr<Side> other_;
};

// A kernel of the current GPU that copies words of 16 bytes.
void copy_by_kernel(char *to, const char *from, int64_t bytes, cudaStream_t on);

} // namespace bench
