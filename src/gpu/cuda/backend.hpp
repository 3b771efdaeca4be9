// SPDX-License-Identifier: BSD-3-Clause
// The backend of ../backend.hpp on CUDA's runtime and driver interfaces.
#pragma once

#include "../backend.hpp"
#include "device.hpp"
#include "dispatch.hpp"
#include "imports.hpp"

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
    int open(int devices);

    const char *name() const override { return "cuda"; }
    int device_count() const override;
    std::string describe(int device) const override;

    Memory query(const void *ptr, bool range) const override;
    bool reaches(int device, int peer) const override;
    bool combines(heddle_op op, heddle_predefined basic) const override;
    int allocate(int device, size_t bytes, void **ptr) override;
    int free(int device, void *ptr) override;
    int allocate_pinned(int device, size_t bytes, void **ptr) override;
    int free_pinned(int device, void *ptr) override;

    int stream_create(int device, bool gives_way, Stream *stream) override;
    int stream_device(Stream stream, int *device) override;
    int stream_synchronize(int device, Stream stream) override;

    int launch(int device, Stream stream, std::span<const Launch> launches, Done *done) override;
    int64_t launched() const override;
    int copy(int device, Stream stream, void *to, const void *from, size_t bytes,
             Done *done) override;
    int copy_2d(int device, Stream stream, void *to, size_t to_pitch, const void *from,
                size_t from_pitch, size_t width, size_t rows, Done *done) override;
    int copy_3d(int device, Stream stream, const Layers &layers, Done *done) override;

    int done_acquire(int device, Done **done) override;
    void done_release(Done *done) override;
    int done_test(Done *done, bool *reached) override;
    int done_wait(Done *done) override;
    int done_after_all(int device, Done *done) override;

    int export_memory(int device, void *ptr, unsigned char handle[handle_bytes]) override;
    int import_memory(int device, const unsigned char handle[handle_bytes], void **ptr) override;
    int close_memory(int device, void *ptr) override;
    int pin(int device, void *ptr, size_t bytes) override;
    int unpin(int device, void *ptr) override;

private:
    bool is_device(int device) const;
    void find_closed(CUdeviceptr address, Memory &memory) const;
    int enter(int device, Scope &scope, Device **found);
    int ask(const CudaDone &done);
    template <class Put> int finish(Stream stream, Done *done, bool writes, Put put);

    std::vector<std::unique_ptr<Device>> devices_;
    Imports imports_;
    // Which device may reach which other's memory by now: [device * devices + peer].
    std::unique_ptr<std::atomic<bool>[]> reached_;
};

} // namespace heddle::gpu::cuda
