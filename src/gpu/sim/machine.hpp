// SPDX-License-Identifier: BSD-3-Clause
// The one simulated machine of a process, and the Backend on it.
#pragma once

#include "gpu/sim/memory.hpp"
#include "gpu/sim/pace.hpp"
#include "gpu/sim/queue.hpp"
#include "gpu/sim/switches.hpp"

namespace heddle::gpu::sim {

class Machine final : public Backend {
public:
    // Null, and why, where the environment asks for none. The first call makes it, and it stays.
    static Machine *open(std::string &reason);
    static Machine *get();

    Machine(int devices, Peers peers);
    void set_host(const Host &host) { host_ = host; }

    const char *name() const override;
    int device_count() const override { return memories_.devices(); }
    std::string describe(int device) const override;
    Facts facts(int) const override { return {.name = "simulated device"}; }
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
    int64_t launched() const override { return launched_; }
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

    // Stands for a profiler that listens to messages.
    bool has_profiler() const override { return true; }
    uint64_t span_begin(const char *, int64_t) override { return switches_.count_span_begin(); }
    void span_end(uint64_t) override { switches_.count_span_end(); }

    int current_device() const override { return Machine::current_device_of_thread(); }
    DeviceId id(int device) const override { return {static_cast<unsigned char>(device + 1)}; }
    double link_rate(int device, int peer) const override;
    Locality locality(int device) const override;

    Switches &switches() { return switches_; }
    Memories &memories() { return memories_; }
    Queues &queues() { return queues_; }
    static int &current_device_of_thread();

private:
    Error report(const Fault &error) const;
    // Every call on a device asks first: must it fail, is there such a device, does it still work?
    Fault enter(Call call, int device);
    Fault enter_end(Call call, int device);
    Where where(int device, const void *ptr) const;
    Ends ends_of(int device, const Work &work) const;
    Fault put_kernel(int device, Stream stream, Kernel kernel, std::vector<Work> works, Done *done);

    Host host_{};
    Switches switches_;
    Memories memories_;
    Queues queues_;
    std::array<Pace, 8> paces_; // of as many devices as there may be
    std::atomic<int64_t> launched_{0};
};

} // namespace heddle::gpu::sim
