// SPDX-License-Identifier: BSD-3-Clause
#include "buffer.hpp"

#include "../../gpu/devices.hpp"
#include "../../gpu/memory_map.hpp"

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
    if (end.dense())
        first_ = end.address();
    gpu::Devices *const devices = gpu::Devices::open();
    if (devices)
        find_memory(end, bytes, *devices);
    direct_ = of_host_ && end.dense();
}

void Buffer::find_memory(const gpu::End &end, int64_t bytes, gpu::Devices &devices)
{
    gpu::MemoryMap map(&devices.backend(), true);
    memory_ = map.at(end.base());
    const auto is_host = [](const gpu::Memory &m) {
        return m.kind == MemoryKind::host || m.kind == MemoryKind::pinned;
    };
    of_host_ = is_host(memory_);
    on_device_ = memory_.kind == MemoryKind::device;
    // Absolute addresses may lead into memory of several kinds.
    if (!side_.buf && !end.dense())
        gpu::visit_memory(end, bytes, map, [&](int64_t, const gpu::Memory &m) {
            of_host_ = of_host_ && is_host(m);
            on_device_ = on_device_ && m.kind == MemoryKind::device && m.device == memory_.device;
            if (!memory_.of_device() && m.of_device())
                memory_ = m;
            return of_host_ || on_device_;
        });
    if (!of_host_)
        device_ = &devices.device(std::max(memory_.device, 0));
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
