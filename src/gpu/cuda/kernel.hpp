// SPDX-License-Identifier: BSD-3-Clause
// What stands between the plug-in's host code and its kernels: for each kernel of work.hpp whether
// it can take a Work, and how to start it. Each pair is implemented beside the kernel itself, in
// one .cu file.
#pragma once

#include "../work.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <mutex>
#include <span>

namespace heddle::gpu::cuda {

// A number that a kernel writes into host memory at its end: where it has few blocks each of them
// into a word of its own, so that none has to know of the others, otherwise the last one into the
// first word. `slot` null: nobody waits for it.
struct Signal {
    static constexpr int words = 8; // of a slot; with more, the counter is as fast

    uint32_t *slot = nullptr;    // in pinned host memory, at the same address for host and device
    uint32_t *counter = nullptr; // in device memory: blocks that have ended; 0 between kernels
    uint32_t value = 0;
    bool remote = true; // Work::remote of what the kernel does
};

// The kernels of one device as the driver knows them, which launches sooner than the runtime does.
class Functions {
public:
    // With the device's context current. Null: `error` says why.
    CUfunction find(const void *kernel, cudaError_t &error);
    // How many were started.
    int64_t launched() const { return launched_.load(std::memory_order_relaxed); }
    void count() { launched_.fetch_add(1, std::memory_order_relaxed); }

private:
    static constexpr int room_bits = 10;
    static constexpr size_t room = size_t{1} << room_bits; // there are fewer kernels
    struct Entry {
        std::atomic<const void *> kernel{nullptr}; // set after the other
        CUfunction function = nullptr;
    };

    CUfunction add(size_t i, const void *kernel, cudaError_t &error);

    std::array<Entry, room> entries_;
    std::mutex mutex_;
    size_t known_ = 0;
    std::atomic<int64_t> launched_{0};
};

// Starts kernels on a stream. The signal goes to the kernel itself where it has few blocks: a flag
// that the last of them writes is seen sooner than what a stream does next. In a large grid the
// fences would cost more than that, and `signalled` stays 0; where data cross a link, the blocks
// wait for that anyway.
class Launcher {
public:
    static constexpr int64_t few_blocks = 512, few_linked_blocks = 1024;

    // `overlaps`: kernels may be started before the last one on the stream is over, which they wait
    // for themselves. `linked`: data cross a link, of this kernel or of others that are waited for
    // with it.
    Launcher(Functions &functions, cudaStream_t stream, int processors, int shared_limit,
             bool overlaps, bool linked, Signal signal)
        : functions_(functions),
          stream_(stream),
          processors_(processors),
          shared_limit_(shared_limit),
          overlaps_(overlaps),
          few_(linked ? few_linked_blocks : few_blocks),
          signal_(signal)
    {
    }

    int processors() const { return processors_; }
    int shared_limit() const { return shared_limit_; }
    // The signal is a later launcher's.
    void keep_signal() { signal_ = {}; }
    // How many words of the signal's slot the last kernel writes.
    int signalled() const { return signalled_; }

    // Every kernel takes a Signal behind its own arguments.
    template <class... Parameters, class... Arguments>
    cudaError_t start(void (*kernel)(Parameters...), int64_t blocks, int threads, int64_t shared,
                      const Arguments &...arguments)
    {
        if (blocks > 0x7fffffff)
            return cudaErrorInvalidConfiguration;
        Signal signal = blocks <= few_ ? signal_ : Signal{};
        void *pointers[] = {const_cast<void *>(static_cast<const void *>(&arguments))..., &signal};
        const cudaError_t e =
            launch(reinterpret_cast<const void *>(kernel), static_cast<unsigned>(blocks),
                   static_cast<unsigned>(threads), static_cast<unsigned>(shared), pointers);
        signalled_ = e != cudaSuccess || !signal.slot ? 0
                     : blocks <= Signal::words        ? static_cast<int>(blocks)
                                                      : 1;
        return e;
    }

private:
    cudaError_t launch(const void *kernel, unsigned blocks, unsigned threads, unsigned shared,
                       void **pointers);

    Functions &functions_;
    cudaStream_t stream_;
    int processors_;
    int shared_limit_;
    bool overlaps_;
    int64_t few_;
    Signal signal_;
    int signalled_ = 0;
};

// Work::bytes is above 0 in all of these, and `run_` is only called for what `takes_` said yes to.
// What no other takes, `any` does; what it is asked to do with an operator, `reduce`.
bool takes_strided(const Work &work);
cudaError_t run_strided(Launcher &launcher, const Work &work);
bool takes_transpose(const Work &work);
cudaError_t run_transpose(Launcher &launcher, const Work &work);
bool takes_records(const Work &work);
cudaError_t run_records(Launcher &launcher, const Work &work);
bool takes_runs(const Work &work);
cudaError_t run_runs(Launcher &launcher, const Work &work);
cudaError_t run_any(Launcher &launcher, const Work &work);
bool takes_reduce(const Work &work); // the operator is defined for the type, and the type is one of
                                     // CUDA's
cudaError_t run_reduce(Launcher &launcher, const Work &work);

// Several, in any order: brings to the front those that go into one kernel with the first one, says
// how many they are, it included, and starts that kernel, unless it is the first one's alone. The
// signal stays for a later kernel if there are others.
cudaError_t run_batch(Launcher &launcher, std::span<const Work *> works, size_t &taken);

} // namespace heddle::gpu::cuda
