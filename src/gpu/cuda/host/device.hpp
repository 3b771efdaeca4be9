// SPDX-License-Identifier: BSD-3-Clause
// One device: what is known of it without a context, and what comes into being with its first use.
#pragma once

#include "gpu/cuda/host/done.hpp"

#include <cuda.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>

namespace heddle::gpu::cuda {

// While it lives, the calling thread may do what CUDA forbids while any thread captures a stream
// into a graph: allocate, or ask for an event. Such a call would fail, and spoil the program's
// capture. Nothing that Heddle calls goes into a graph.
class BesideCaptures {
public:
    BesideCaptures() : exchanged_(cuThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS) {}
    BesideCaptures(const BesideCaptures &) = delete;
    BesideCaptures &operator=(const BesideCaptures &) = delete;
    ~BesideCaptures()
    {
        if (exchanged_)
            cuThreadExchangeStreamCaptureMode(&mode_);
    }

private:
    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED; // then what the thread had
    bool exchanged_;
};

// Makes a device's primary context the current one for as long as it lives. By the driver's
// interface: cudaSetDevice to go back would create a context on a device that the caller never
// used.
class Scope {
public:
    Scope() = default;
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;
    ~Scope()
    {
        if (changed_)
            cuCtxSetCurrent(before_);
    }
    Error enter(CUcontext context);

private:
    const BesideCaptures beside_captures_;
    CUcontext before_ = nullptr;
    bool changed_ = false;
};

class Device {
public:
    // Asks for attributes only; creates no context. Warns of a device that there are no kernels
    // for. Each use of it fails.
    Error open(int ordinal);

    // Retains the primary context at the first call and enters it.
    Error enter(Scope &scope);
    bool entered() const { return ready_.load(std::memory_order_acquire); }
    // Whether anyone in this process has a context on the device.
    bool in_use() const;

    std::string describe() const;
    const std::string &name() const { return name_; }
    const std::string &bus_id() const { return bus_id_; }
    const CUuuid &uuid() const { return uuid_; } // the same in all processes
    CUdevice handle() const { return handle_; }
    CUcontext context() const { return context_; } // once entered
    const Processors &processors() const { return processors_; }
    bool writes_in_order() const { return writes_in_order_; }
    // The priority of a stream. Numbers fall as priorities rise; a device may have only one.
    int priority(bool gives_way) const
    {
        return gives_way ? std::min(priority_ + 1, least_priority_) : priority_;
    }
    // Whether an event can stand for all that all streams were given so far, and that.
    bool has_event_of_all() const { return record_all_ != nullptr; }
    CUresult record_all(cudaEvent_t event) const { return record_all_(context_, event); }
    // A stream on which nothing runs for long, to ask whether the device failed.
    cudaStream_t service() const { return service_; }
    DonePool &dones() { return dones_; }
    Functions &functions() { return functions_; }

private:
    Error prepare();

    int ordinal_ = 0;
    CUdevice handle_ = 0;
    int major_ = 0, minor_ = 0; // the compute capability
    std::string refused_;       // why nothing runs there; empty: it is not refused
    Processors processors_;
    bool writes_in_order_ = false; // cuStreamWriteValue32
    std::string name_;
    std::string bus_id_;
    CUuuid uuid_{};

    std::mutex mutex_;
    std::atomic<bool> ready_{false};
    CUcontext context_ = nullptr;
    cudaStream_t service_ = nullptr;
    CUresult (*record_all_)(CUcontext, CUevent) = nullptr;
    int priority_ = 0, least_priority_ = 0;
    DonePool dones_;
    Functions functions_;
};

} // namespace heddle::gpu::cuda
