// SPDX-License-Identifier: BSD-3-Clause
// The backend of ../backend.hpp on CUDA's runtime and driver interfaces.
#pragma once

#include "gpu/core/backend.hpp"
#include "gpu/cuda/host/device.hpp"
#include "gpu/cuda/host/dispatch.hpp"
#include "gpu/cuda/host/imports.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

namespace heddle::gpu::cuda {

inline CudaDone *as_cuda(Done *done) { return static_cast<CudaDone *>(done); }
inline cudaStream_t as_cuda(Stream stream) { return static_cast<cudaStream_t>(stream); }

class CudaBackend final : public Backend {
public:
    // Creates no context. After an error the last device is the one that failed.
    Error open(int devices);

    const char *name() const override { return "cuda"; }
    int device_count() const override;
    std::string describe(int device) const override;
    Facts facts(int device) const override;

    Memory query(const void *ptr, bool range) const override;
    bool reaches(int device, int peer) const override;
    bool combines(heddle_op op, heddle_predefined basic) const override;
    Error allocate(int device, size_t bytes, void **ptr) override;
    Error free(int device, void *ptr) override;
    Error allocate_pinned(int device, size_t bytes, void **ptr) override;
    Error free_pinned(int device, void *ptr) override;

    Error stream_create(int device, bool gives_way, Stream *stream) override;
    Error stream_device(Stream stream, int *device) override;
    Error stream_synchronize(int device, Stream stream) override;

    Error launch(int device, Stream stream, std::span<Launch> launches, const Others &others,
                 Done *done) override;
    Error fold(int device, Stream stream, const Fold &fold, Done *done) override;
    Kernel kernel_for(int device, const Work &work, Kernel wanted) const override;
    int64_t launched() const override;
    Error copy(int device, Stream stream, const Layers &copy, Done *done) override;
    Error list_runs(int device, Stream stream, const Listing &listing) override;

    Error done_acquire(int device, Done **done) override;
    void done_release(Done *done) override;
    Error done_test(Done *done, bool *reached) override;
    Error done_wait(Done *done) override;
    Error done_after_all(int device, Done *done) override;

    Error export_memory(int device, void *ptr, unsigned char handle[handle_bytes]) override;
    Error import_memory(int device, const unsigned char handle[handle_bytes], void **ptr) override;
    Error close_memory(int device, void *ptr) override;
    Error pin(int device, void *ptr, size_t bytes) override;
    Error unpin(int device, void *ptr) override;

    bool has_profiler() const override;
    void range_begin(const char *name) override;
    void range_end() override;
    uint64_t span_begin(const char *name, int64_t bytes) override;
    void span_end(uint64_t span) override;

    int current_device() const override;
    DeviceId id(int device) const override;
    double link_rate(int device, int peer) const override;
    Locality locality(int device) const override;

private:
    bool is_device(int device) const;
    void find_closed(CUdeviceptr address, Memory &memory) const;
    Error enter(int device, Scope &scope, Device **found);
    Error ask(const CudaDone &done);
    template <class Put> Error finish(Stream stream, Done *done, bool writes, Put put);

    std::vector<std::unique_ptr<Device>> devices_;
    Imports imports_;
    // Which device may reach which other's memory by now: [device * devices + peer].
    std::unique_ptr<std::atomic<bool>[]> reached_;
};

} // namespace heddle::gpu::cuda
