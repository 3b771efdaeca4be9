// SPDX-License-Identifier: BSD-3-Clause
// Owners of CUDA's memory, streams and events. Errors are exceptions: a benchmark that
// throws one is reported as failed.
#pragma once

#include <cuda_runtime.h>
#include <heddle.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

inline void check(cudaError_t error, const char *call)
{
    if (error != cudaSuccess)
        throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(error));
}
#define BENCH_CUDA(call) ::bench::check((call), #call)

inline void check_heddle(int status, const char *call)
{
    if (status != HEDDLE_SUCCESS)
        throw std::runtime_error(std::string(call) + ": " + heddle_strerror(status) + " " +
                                 heddle_error_detail());
}
#define BENCH_HEDDLE(call) ::bench::check_heddle((call), #call)

// Memory of the current device, pinned memory of the host, or managed memory.
enum class MemoryKind { device, pinned, managed };
template <MemoryKind kind> class Memory {
public:
    Memory() = default;
    explicit Memory(int64_t bytes) : bytes_(bytes)
    {
        const auto size = static_cast<size_t>(bytes > 0 ? bytes : 1);
        if constexpr (kind == MemoryKind::pinned)
            BENCH_CUDA(cudaMallocHost(&at_, size));
        else if constexpr (kind == MemoryKind::managed)
            BENCH_CUDA(cudaMallocManaged(&at_, size));
        else
            BENCH_CUDA(cudaMalloc(&at_, size));
    }
    Memory(Memory &&other) noexcept : at_(std::exchange(other.at_, nullptr)), bytes_(other.bytes_)
    {
    }
    Memory &operator=(Memory &&other) noexcept
    {
        std::swap(at_, other.at_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~Memory()
    {
        if constexpr (kind == MemoryKind::pinned)
            cudaFreeHost(at_);
        else
            cudaFree(at_);
    }
    char *get() const { return static_cast<char *>(at_); }
    int64_t bytes() const { return bytes_; }
    explicit operator bool() const { return at_ != nullptr; }

private:
    void *at_ = nullptr;
    int64_t bytes_ = 0;
};
using Device = Memory<MemoryKind::device>;
using Pinned = Memory<MemoryKind::pinned>;
using Managed = Memory<MemoryKind::managed>;

// A copy of `values` on the device.
template <class T> Device on_device(const std::vector<T> &values)
{
    const auto bytes = static_cast<int64_t>(values.size() * sizeof(T));
    Device memory(bytes);
    BENCH_CUDA(cudaMemcpy(memory.get(), values.data(), static_cast<size_t>(bytes),
                          cudaMemcpyHostToDevice));
    return memory;
}

// Copies device memory to the host.
template <class T = char> std::vector<T> on_host(const Device &memory)
{
    std::vector<T> values(static_cast<size_t>(memory.bytes()) / sizeof(T));
    BENCH_CUDA(
        cudaMemcpy(values.data(), memory.get(), values.size() * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
}

class Stream {
public:
    Stream() { BENCH_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
    Stream(const Stream &) = delete;
    ~Stream() { cudaStreamDestroy(stream_); }
    operator cudaStream_t() const { return stream_; }
    void wait() const { BENCH_CUDA(cudaStreamSynchronize(stream_)); }

private:
    cudaStream_t stream_ = nullptr;
};

class Event {
public:
    Event() { BENCH_CUDA(cudaEventCreate(&event_)); }
    Event(const Event &) = delete;
    ~Event() { cudaEventDestroy(event_); }
    operator cudaEvent_t() const { return event_; }

private:
    cudaEvent_t event_ = nullptr;
};

} // namespace bench
