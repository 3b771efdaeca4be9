// SPDX-License-Identifier: BSD-3-Clause
#include "buffer.hpp"

#include "../../gpu/devices.hpp"

#include <algorithm>

namespace heddle::pipeline {

using gpu::MemoryKind;

int Buffer::check(const heddle_side &side, int64_t bytes)
{
    gpu::End end;
    return bytes < 0 ? int{HEDDLE_ERR_ARG} : gpu::make_end(side, bytes, end);
}

Buffer::Buffer(const heddle_side &side, int64_t bytes) : side_(side), type_(side.type)
{
    gpu::End end;
    if (bytes == 0 || gpu::make_end(side, bytes, end) != HEDDLE_SUCCESS)
        return;
    gpu::Devices *const devices = gpu::Devices::open();
    if (devices)
        memory_ = devices->backend().query(end.base(), true);
    if (end.dense())
        first_ = end.address();
    // Absolute addresses may lead into memory of several kinds.
    const bool one_kind = side.buf || end.dense();
    of_host_ =
        !devices || (one_kind && (memory_.kind == MemoryKind::host || memory_.kind == MemoryKind::pinned));
    direct_ = of_host_ && end.dense();
    if (of_host_)
        return;
    device_ = &devices->device(std::max(memory_.device, 0));
    on_device_ = one_kind && memory_.kind == MemoryKind::device;
}

heddle_side Buffer::after(int64_t at) const
{
    heddle_side side = side_;
    side.offset += at;
    return side;
}

heddle_side packed_side(const void *at, int64_t bytes)
{
    return {const_cast<void *>(at), bytes, heddle_type_predefined(HEDDLE_BYTE), 0};
}

} // namespace heddle::pipeline
