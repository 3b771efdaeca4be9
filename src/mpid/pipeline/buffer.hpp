// SPDX-License-Identifier: BSD-3-Clause
// One end's memory: where packed bytes of a message lie, and how they are reached.
#pragma once

#include "../../gpu/ends.hpp"
#include "wire.hpp"

namespace heddle::gpu {
class Device;
class Devices;
} // namespace heddle::gpu

namespace heddle::pipeline {

class Buffer {
public:
    // The first `bytes` packed bytes of `side` from its offset on. Errors: as heddle_transfer.
    static int check(const heddle_side &side, int64_t bytes);
    // Of what was checked. Keeps the type.
    Buffer(const heddle_side &side, int64_t bytes);

    // The host alone moves its bytes.
    bool of_host() const { return of_host_; }
    // The transport can read and write them where they lie.
    bool direct() const { return direct_; }
    // The device that moves them; null where the host does.
    gpu::Device *device() const { return device_; }
    // They lie on that device, all of them.
    bool on_device() const { return on_device_; }
    // Whether its chunks can stay where they are packed in that way: in host memory where a device
    // moves them, on a device where they all come from there or go there.
    bool can_stay(Mode mode) const
    {
        return mode == Mode::shared ? device_ != nullptr : on_device_;
    }
    // That its first byte lies in, or the first that a device has, with its range, for as long as
    // the message is on its way.
    const gpu::Memory &memory() const { return memory_; }

    // They are one run.
    bool dense() const { return first_ != nullptr; }
    // The address of byte `at`, of a dense one.
    char *address(int64_t at) const { return first_ + at; }
    // From byte `at` on.
    heddle_side after(int64_t at) const;

private:
    void find_memory(const gpu::End &end, int64_t bytes, gpu::Devices &devices);

    heddle_side side_;
    gpu::TypeRef type_;
    gpu::Memory memory_;
    char *first_ = nullptr;
    gpu::Device *device_ = nullptr;
    bool of_host_ = true;
    bool direct_ = false;
    bool on_device_ = false;
};

// `bytes` packed bytes.
heddle_side packed_side(const void *at, int64_t bytes);

} // namespace heddle::pipeline
