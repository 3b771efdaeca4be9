// SPDX-License-Identifier: BSD-3-Clause
#include "place.hpp"

namespace heddle::gpu {

bool Place::touches(int ordinal) const
{
    return any_device([&](int d) { return d == ordinal; });
}

bool Place::is_reached_by(int ordinal, const Backend &backend) const
{
    if (kind == MemoryKind::host)
        return false;
    // What another process lent is sure to be reached by the device that opened it alone.
    return !any_device([&](int d) { return d != ordinal && (imported || !backend.reaches(ordinal, d)); });
}

bool Place::add(const Memory &memory, const Backend &backend)
{
    if ((kind == MemoryKind::host) != (memory.kind == MemoryKind::host))
        return false;
    const bool is_new = memory.kind == MemoryKind::device && !touches(memory.device);
    if (is_new && kind == MemoryKind::device) {
        if (static_cast<size_t>(memory.device) >= also.size() || imported || memory.imported || !backend.reaches(device, memory.device))
            return false;
        also.set(static_cast<size_t>(memory.device));
        mixed = true;
        return true;
    }
    mixed = mixed || memory.kind != kind || memory.imported != imported;
    if (is_new)
        static_cast<Memory &>(*this) = memory;
    imported = imported || memory.imported;
    return true;
}

} // namespace heddle::gpu
