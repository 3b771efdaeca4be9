// SPDX-License-Identifier: BSD-3-Clause
// What stands between the plug-in's host code and its kernels: how to start each kernel of
// work.hpp. Each function is implemented beside its kernel, in one .cu file; host/select_kernel.hpp
// says which kernel is taken.
#pragma once

#include "gpu/core/work.hpp"
#include "gpu/cuda/kernels/tuning.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <mutex>
#include <span>

namespace heddle::gpu::cuda {

// A number that a kernel writes into host memory at its end. With few blocks, each writes a word of
// its own, and none has to know of the others. Otherwise the last block writes the first word.
// `slot` null: nobody waits for it.
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

// What kernels on a device are started with.
struct Processors {
    int count = 0;         // multiprocessors
    bool overlaps = false; // a kernel may be started before the last one on its stream is over,
                           // which it waits for itself
    Tuning tuning;
};

// Starts kernels on a stream. The signal goes to the kernel itself where it has few blocks
// (Tuning::signal_most_blocks); otherwise `signalled` stays 0.
class Launcher {
public:
    // `linked`: data cross a link, of this kernel or of others that are waited for with it.
    Launcher(Functions &functions, cudaStream_t stream, const Processors &processors, bool linked,
             Signal signal)
        : functions_(functions),
          stream_(stream),
          processors_(processors),
          few_(linked ? processors.tuning.signal_most_linked_blocks
                      : processors.tuning.signal_most_blocks),
          signal_(signal)
    {
    }

    int processors() const { return processors_.count; }
    const Tuning &tuning() const { return processors_.tuning; }
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
    const Processors &processors_;
    int64_t few_;
    Signal signal_;
    int signalled_ = 0;
};

// Work::bytes is above 0 in all of these, and the kernel can do the work. `form`: strided or
// sparse, and runs, even_runs, short_runs or few_runs.
cudaError_t run_strided(Launcher &launcher, const Work &work, Kernel form);
cudaError_t run_transpose(Launcher &launcher, const Work &work);
cudaError_t run_records(Launcher &launcher, const Work &work);
cudaError_t run_runs(Launcher &launcher, const Work &work, Kernel form);
cudaError_t run_any(Launcher &launcher, const Work &work);
bool takes_reduce(const Work &work); // the operator is defined for the type, which CUDA has
cudaError_t run_reduce(Launcher &launcher, const Work &work);

// Makes a list of runs.
cudaError_t run_list(Launcher &launcher, const Listing &listing);
cudaError_t run_fold(Launcher &launcher, const Fold &fold); // its operator is defined

// At most batch_room() works of one kind of batch, in one kernel.
size_t batch_room(Kernel batch);
cudaError_t run_batch(Launcher &launcher, Kernel batch, std::span<const Work *const> works);

} // namespace heddle::gpu::cuda
