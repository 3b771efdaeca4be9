// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/protocol/buffer.hpp"

#include "engine/checked.hpp"
#include "gpu/core/devices.hpp"
#include "gpu/memory/pointer_cache.hpp"
#include "pipeline/peer_memory/exports.hpp"

#include <algorithm>
#include <cstring>

namespace heddle::pipeline {

using gpu::MemoryKind;

Extent extent_of(const heddle_side &side)
{
    heddle_type_info info{};
    info.bytes = sizeof info;
    if (side.count == 0 || heddle_type_get_info(side.type, &info) || info.size == 0)
        return {};
    const int64_t span = mul(side.count - 1, info.extent);
    return {add(info.true_lb, std::min(span, int64_t{0})),
            add(info.true_extent, span < 0 ? mul(span, -1) : span)};
}

Error Buffer::make(const heddle_side &side, int64_t bytes, Buffer &made)
{
    gpu::End end;
    made.side_ = side;
    made.bytes_ = bytes;
    const Error e = bytes < 0 ? HEDDLE_ERR_ARG : gpu::make_end(side, bytes, end);
    if (e || bytes == 0)
        return e;
    if (end.dense())
        made.first_ = end.address();
    if (gpu::Devices *const devices = gpu::Devices::open())
        made.find_memory(end, bytes, *devices);
    return HEDDLE_SUCCESS;
}

// What absolute addresses lead into depends on how many there are.
Buffer Buffer::first(int64_t bytes) const
{
    if (bytes == bytes_)
        return *this;
    if (bytes == 0 || (!side_.buf && !dense()))
        return Buffer(side_, bytes);
    Buffer part = *this;
    part.bytes_ = bytes;
    return part;
}

void Buffer::find_memory(const gpu::End &end, int64_t bytes, gpu::Devices &devices)
{
    gpu::MemoryMap map(&devices.backend());
    memory_ = map.at(end.base());
    const auto is_host = [](const gpu::Memory &m) {
        return m.kind == MemoryKind::host || m.kind == MemoryKind::pinned;
    };
    bool of_host = is_host(memory_);
    on_device_ = memory_.kind == MemoryKind::device;
    // Absolute addresses may lead into memory of several kinds.
    if (!side_.buf && !end.dense())
        gpu::visit_memory(end, bytes, map, [&](int64_t, const gpu::Memory &m) {
            of_host = of_host && is_host(m);
            on_device_ = on_device_ && m.kind == MemoryKind::device && m.device == memory_.device;
            if (!memory_.of_device() && m.of_device())
                memory_ = m;
            return of_host || on_device_;
        });
    if (!of_host)
        device_ = &devices.device(std::max(memory_.device, 0));
}

Data Buffer::data(int64_t at) const
{
    Data data{side_, &memory_};
    data.side.offset += at;
    return data;
}

Buffer::Span Buffer::span() const
{
    if (dense())
        return {first_, bytes_};
    const Extent extent = extent_of(side_);
    return {static_cast<char *>(side_.buf) + extent.first, extent.bytes};
}

std::optional<MemoryHandle> Buffer::export_own(int64_t least) const
{
    const Span its = span();
    return pipeline::export_own(*device_, memory_, its.first, its.bytes, least);
}

bool read_buffer(const heddle_buffer *from, Buffer &to)
{
    if (!from || from->size != sizeof *from)
        return false;
    std::memcpy(static_cast<void *>(&to), from->internal, sizeof to);
    return true;
}

Data packed(const void *at, int64_t bytes, const gpu::Memory *memory)
{
    return {{const_cast<void *>(at), bytes, heddle_type_predefined(HEDDLE_BYTE), 0}, memory};
}

} // namespace heddle::pipeline
