// SPDX-License-Identifier: BSD-3-Clause
// What stands between the plug-in's host code and its kernels: for each kernel of work.hpp whether it can
// take a Work, and how to start it. Each pair is implemented beside the kernel itself, in one .cu file.
#pragma once

#include "../work.hpp"

#include <cuda_runtime_api.h>

#include <span>

namespace heddle::gpu::cuda {

// A number that a kernel's last block writes into host memory. `slot` null: nobody waits for it.
struct Signal {
    uint32_t *slot = nullptr;    // in pinned host memory, at the same address for host and device
    uint32_t *counter = nullptr; // in device memory: blocks that have ended; 0 between kernels
    uint32_t value = 0;
    bool remote = true;          // Work::remote of what the kernel does
};

// Starts kernels on a stream. The signal goes to the kernel itself where it has few blocks: a flag that the
// last of them writes is seen sooner than what a stream does next. In a large grid the fences would cost
// more than that, and `signalled` stays false.
class Launcher {
public:
    static constexpr int64_t few_blocks = 1024;

    Launcher(cudaStream_t stream, int processors, int shared_limit, Signal signal)
        : stream_(stream), processors_(processors), shared_limit_(shared_limit), signal_(signal)
    {
    }

    int processors() const { return processors_; }
    int shared_limit() const { return shared_limit_; }
    bool signalled() const { return signalled_; }

    // Every kernel takes a Signal behind its own arguments.
    template <class... Parameters, class... Arguments>
    cudaError_t start(void (*kernel)(Parameters...), int64_t blocks, int threads, int64_t shared,
                      const Arguments &...arguments)
    {
        if (blocks > 0x7fffffff)
            return cudaErrorInvalidConfiguration;
        cudaLaunchConfig_t config{};
        config.gridDim = dim3(static_cast<unsigned>(blocks));
        config.blockDim = dim3(static_cast<unsigned>(threads));
        config.dynamicSmemBytes = static_cast<size_t>(shared);
        config.stream = stream_;
        Signal signal = blocks <= few_blocks ? signal_ : Signal{};
        void *pointers[] = {const_cast<void *>(static_cast<const void *>(&arguments))..., &signal};
        const cudaError_t e =
            cudaLaunchKernelExC(&config, reinterpret_cast<const void *>(kernel), pointers);
        signalled_ = e == cudaSuccess && signal.slot;
        return e;
    }

private:
    cudaStream_t stream_;
    int processors_;
    int shared_limit_;
    Signal signal_;
    bool signalled_ = false;
};

// Work::bytes is above 0 in all of these, and `run_` is only called for what `takes_` said yes to. What no
// other takes, `any` does; what it is asked to do with an operator, `reduce`.
bool takes_strided(const Work &work);
cudaError_t run_strided(Launcher &launcher, const Work &work);
bool takes_transpose(const Work &work);
cudaError_t run_transpose(Launcher &launcher, const Work &work);
bool takes_records(const Work &work);
cudaError_t run_records(Launcher &launcher, const Work &work);
bool takes_runs(const Work &work);
cudaError_t run_runs(Launcher &launcher, const Work &work);
cudaError_t run_any(Launcher &launcher, const Work &work);
bool takes_reduce(const Work &work); // the operator is defined for the type, and the type is one of CUDA's
cudaError_t run_reduce(Launcher &launcher, const Work &work);

// Several at once: how many of the first ones go into one kernel (at least 1), and that kernel.
size_t batch_of(std::span<const Work *const> works);
cudaError_t run_batch(Launcher &launcher, std::span<const Work *const> works);

} // namespace heddle::gpu::cuda
