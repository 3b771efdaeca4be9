// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/memory/location.hpp"

namespace heddle::gpu {

bool Place::touches(int ordinal) const
{
    return any_device([&](int d) { return d == ordinal; });
}

bool Place::is_reached_by(int ordinal, const Backend &backend) const
{
    if (kind == MemoryKind::host)
        return false;
    return is_open_to(ordinal) &&
           !any_device([&](int d) { return d != ordinal && !backend.reaches(ordinal, d); });
}

bool Place::add(const Memory &memory, const Backend &backend)
{
    if ((kind == MemoryKind::host) != (memory.kind == MemoryKind::host))
        return false;
    const bool is_another = !base || memory.base != base;
    if (kind != MemoryKind::device || memory.kind != MemoryKind::device) {
        mixed = mixed || memory.kind != kind;
        several = several || is_another;
        if (memory.kind == MemoryKind::device)
            static_cast<Memory &>(*this) = memory;
        return true;
    }
    const bool is_new = !touches(memory.device);
    if (is_new && static_cast<size_t>(memory.device) >= also.size())
        return false;
    if (!memory.is_open_to(device) || !backend.reaches(device, memory.device))
        return false;
    if (is_new)
        also.set(static_cast<size_t>(memory.device));
    mixed = mixed || is_new || memory.imported != imported;
    several = several || is_another;
    imported = imported || memory.imported;
    closed |= memory.closed;
    return true;
}

} // namespace heddle::gpu
