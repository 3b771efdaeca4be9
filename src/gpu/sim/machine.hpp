// SPDX-License-Identifier: BSD-3-Clause
// The one simulated machine of a process, and the Backend on it.
#pragma once

#include "memory.hpp"
#include "queue.hpp"
#include "switches.hpp"

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
    int64_t launched() const override { return switches_.count("launch"); }
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

    Switches &switches() { return switches_; }
    Memories &memories() { return memories_; }
    Queues &queues() { return queues_; }
    static int &current_device();

private:
    int report(const Error &error) const;
    // What every call on a device asks first: is it asked to fail, is there such a device, does it
    // still work?
    Error enter(Call call, int device);
    Error enter_end(Call call, int device);
    Error put_copy(int device, Stream stream, const Layers &copy, Done *done);

    Host host_{};
    Switches switches_;
    Memories memories_;
    Queues queues_;
};

} // namespace heddle::gpu::sim
