// SPDX-License-Identifier: BSD-3-Clause
// The buffers of a call: which of them the engine moves, and the host memory that stands for them.
#pragma once

#include "interpose/shape.hpp"

#include <heddle.h>

#include <optional>
#include <vector>

namespace heddle::interpose {

// Whether a device plug-in is open. Asked once.
bool device_is_open();

// Whether `address` points into device or managed memory.
bool is_device_memory(const void *address);

// `count` instances of a type at `buffer`, which are not in host memory alone.
struct Data {
    void *buffer;
    int64_t count;
    ShapePtr shape;

    int64_t bytes() const { return count * shape->info().size; }
    heddle_side side(int64_t offset = 0) const { return {buffer, count, shape->type(), offset}; }
    // What staging memory for it should be near to.
    const void *near() const;
    // The offsets from `buffer` between which it lies.
    int64_t low() const;
    int64_t high() const;
    // The first byte. Only of dense data.
    void *first() const { return static_cast<std::byte *>(buffer) + shape->info().true_lb; }
    bool is_dense() const;
    // They are dense, in memory that MPI takes.
    bool mpi_may_have_it() const;
};

// Nothing where MPI may have the buffer as it is: it is the host's, holds no data, or is dense
// device memory for an MPI that takes such. Also nothing where the type cannot be rebuilt.
std::optional<Data> device_data(const void *buffer, int64_t count, MPI_Datatype type);
// The same, where MPI does not take what it gets as it is: packed data, a reduction.
std::optional<Data> device_data_of_any_form(const void *buffer, int64_t count, MPI_Datatype type);

// The same of a buffer in any memory.
std::optional<Data> any_data(const void *buffer, int64_t count, MPI_Datatype type);

// Where data are packed for MPI: in pinned host memory (one-shot), or on the device, for an MPI
// that takes device memory.
enum class Method : uint8_t { one_shot, device };

// What is to be taken for `bytes` bytes near `near`.
Method method_for(int64_t bytes, const void *near);

// Memory for packed data.
class Staging {
public:
    Staging() = default;
    Staging(int64_t bytes, const void *near, Method method = Method::one_shot);
    Staging(Staging &&other) noexcept;
    Staging &operator=(Staging &&other) noexcept;
    ~Staging();

    std::byte *at() const { return static_cast<std::byte *>(at_); }
    // No memory was left.
    bool failed() const { return failed_; }
    bool is_on_device() const { return method_ == Method::device; }

private:
    void *at_ = nullptr;
    Method method_ = Method::one_shot;
    bool failed_ = false;
};

// Packed bytes.
heddle_side packed_side(void *at, int64_t bytes);

// All of `data` to and from packed bytes at `at`, or the first `bytes` of them.
heddle_move pack_move(const Data &data, void *at);
heddle_move unpack_move(const Data &data, void *at, int64_t bytes);

// Carries them out. Returns an error class of MPI's.
int transfer(const std::vector<heddle_move> &moves);

// Count and datatype for packed bytes of any number.
class Packed {
public:
    explicit Packed(int64_t bytes);
    Packed(const Packed &) = delete;
    Packed &operator=(const Packed &) = delete;
    ~Packed();

    int count() const { return count_; }
    MPI_Datatype type() const { return type_; }

private:
    int count_;
    MPI_Datatype type_ = MPI_PACKED;
};

// The bytes that a message had.
int64_t bytes_of(const MPI_Status &status);

} // namespace heddle::interpose
