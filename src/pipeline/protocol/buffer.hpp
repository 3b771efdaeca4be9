// SPDX-License-Identifier: BSD-3-Clause
// One end's memory: where packed bytes of a message lie, and how they are reached.
#pragma once

#include "gpu/memory/endpoint.hpp"
#include "pipeline/wire.hpp"

#include <optional>
#include <type_traits>

namespace heddle::gpu {
class Device;
class Devices;
} // namespace heddle::gpu

namespace heddle::pipeline {

// Packed bytes, as one end of a move, and what they lie in, where that is known.
struct Data {
    heddle_side side;
    const gpu::Memory *memory = nullptr;
};
Data packed(const void *at, int64_t bytes, const gpu::Memory *memory = nullptr);

// Where the bytes of a typed side lie, from its address on. Errors: OVERFLOW.
struct Extent {
    int64_t first = 0;
    int64_t bytes = 0;
};
Extent extent_of(const heddle_side &side);

// A plain value: made once for each call, and copied from there on. The type is kept by others.
class Buffer {
public:
    Buffer() = default;
    // The first `bytes` packed bytes of `side` from its offset on. Asks the driver whose memory it
    // is. Errors: as heddle_transfer.
    static Error make(const heddle_side &side, int64_t bytes, Buffer &made);
    // The same of what is known to be valid.
    Buffer(const heddle_side &side, int64_t bytes) { (void)make(side, bytes, *this); }
    // Its first `bytes` bytes.
    Buffer first(int64_t bytes) const;

    int64_t bytes() const { return bytes_; }
    const heddle_side &side() const { return side_; }
    const heddle_type *type() const { return side_.type; }

    // The host alone moves its bytes.
    bool of_host() const { return device_ == nullptr; }
    // The transport can read and write them where they lie.
    bool direct() const { return of_host() && dense(); }
    // The device that moves them; null where the host does.
    gpu::Device *device() const { return device_; }
    // They lie on that device, all of them.
    bool on_device() const { return on_device_; }
    // Whether its chunks can stay where they are packed in that way: in host memory where a device
    // moves them, on a device where they all come from there or go there.
    bool can_stay(Mode mode) const { return mode == Mode::shared ? !of_host() : on_device_; }
    // That its first byte lies in, or the first that a device has, with its range, for as long as
    // the message is on its way.
    const gpu::Memory &memory() const { return memory_; }

    // They are one run.
    bool dense() const { return first_ != nullptr; }
    // The address of byte `at`, of a dense one.
    char *address(int64_t at) const { return first_ + at; }
    // From byte `at` on.
    Data data(int64_t at) const;
    // The addresses that its bytes lie between. Requires one that is dense, or that has an address.
    // Errors: OVERFLOW.
    struct Span {
        char *first = nullptr;
        int64_t bytes = 0;
    };
    Span span() const;
    // How others reach that, of one on a device (exports.hpp).
    std::optional<MemoryHandle> export_own(int64_t least) const;

private:
    void find_memory(const gpu::End &end, int64_t bytes, gpu::Devices &devices);

    heddle_side side_{};
    int64_t bytes_ = 0;
    gpu::Memory memory_;
    char *first_ = nullptr;
    gpu::Device *device_ = nullptr;
    bool on_device_ = false;
};
static_assert(std::is_trivially_copyable_v<Buffer>);
static_assert(sizeof(Buffer) <= sizeof(heddle_buffer::internal));

// What a caller of the C API holds. False where that is none.
bool read_buffer(const heddle_buffer *from, Buffer &to);

} // namespace heddle::pipeline
