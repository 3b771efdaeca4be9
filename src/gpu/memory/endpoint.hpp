// SPDX-License-Identifier: BSD-3-Clause
// One end of a transfer, checked: packed bytes of instances of a committed type, and the memory
// they lie in.
#pragma once

#include "engine/guard.hpp"
#include "gpu/core/handle.hpp"
#include "gpu/memory/location.hpp"

#include <utility>

namespace heddle::gpu {

struct ReleaseType {
    void operator()(heddle_type *type) const { heddle_type_release(type); }
};

// Keeps a type alive.
class TypeRef : public Owned<heddle_type *, ReleaseType> {
public:
    explicit TypeRef(const heddle_type *type) : Owned(const_cast<heddle_type *>(type))
    {
        heddle_type_retain(value_);
    }
    const heddle_type *get() const { return value_; }
};

struct End {
    const heddle_type *type = nullptr;
    const Plan *plan = nullptr;
    char *buf = nullptr;
    int64_t count = 0;
    int64_t offset = 0; // the packed byte at which the transfer begins
    Place memory;       // that it lies in

    bool dense() const { return plan->contiguous; }
    // `displ` bytes from the buffer; by way of an integer, null being a valid one.
    char *displaced(int64_t displ) const
    {
        return reinterpret_cast<char *>(reinterpret_cast<uintptr_t>(buf) +
                                        static_cast<uintptr_t>(displ));
    }
    // The address of packed byte 0, and that of packed byte `x`.
    char *base() const { return displaced(plan->displ); }
    char *address(int64_t x) const;
    // The address of the first byte moved.
    char *address() const { return address(offset); }
    // The same end, `bytes` packed bytes further on.
    End after(int64_t bytes) const;
    // Whether a null buffer is a mistake, and no absolute addresses were meant. Then the data lie
    // in the first pages, or as in an array that begins there (a subarray).
    bool is_missing() const;
};

// `bytes` packed bytes as an end.
End packed_end(void *at, int64_t bytes, const Place &memory);

// Checks a side of a transfer of `bytes` bytes. Errors: as heddle_transfer.
inline Error make_end(const heddle_side &side, int64_t bytes, End &end)
{
    Message m;
    if (const Error e = m.set(side.count, side.type))
        return e;
    if (const Error e = m.check_offset(side.offset))
        return e;
    if (bytes > m.bytes - side.offset)
        return HEDDLE_ERR_RANGE;
    end.type = side.type;
    end.plan = m.plan;
    end.buf = static_cast<char *>(side.buf);
    end.count = side.count;
    end.offset = side.offset;
    if (bytes > 0 && (!end.base() || (!end.buf && end.is_missing())))
        return HEDDLE_ERR_BUFFER;
    return HEDDLE_SUCCESS;
}

// Carries out what lies in host memory at both ends. `op` is defined for `basic`.
void host_move(const End &from, const End &to, int64_t bytes, heddle_op op,
               heddle_predefined basic);

} // namespace heddle::gpu
