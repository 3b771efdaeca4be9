// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/sim/access.hpp"

#include <cinttypes>
#include <cstdio>

namespace heddle::gpu::sim {

std::byte *Access::look_up(uintptr_t address, size_t bytes, size_t alignment)
{
    const auto found = memories_.find(address);
    const char *why = nullptr;
    if (!found && limits_.pageable)
        return reinterpret_cast<std::byte *>(address);
    if (!found)
        why = "pageable host memory, freed memory, or beyond an allocation";
    else if (!found->holds(address, bytes))
        why = "beyond the end of an allocation";
    else if (address % alignment != 0)
        why = "misaligned address";
    else if (found->kind == MemoryKind::device && !limits_.peers &&
             !memories_.reaches(device_, found->device))
        why = "memory of another device, without peer access";
    else if (found->closed && found->device != device_)
        why = "memory of another device's pool";
    else if (limits_.own && (found->kind != MemoryKind::device || found->device != device_))
        why = "other memory than the device's own, which the launch did not speak of";
    if (why)
        return static_cast<std::byte *>(refuse(address, bytes, why));
    range_ = *found;
    return range_.at(address);
}

void *Access::refuse(uintptr_t address, size_t bytes, const char *why)
{
    if (!error_) {
        char text[200];
        snprintf(text, sizeof text, "sim: device %d: %s: %zu bytes at 0x%" PRIxPTR ": %s", device_,
                 what_.c_str(), bytes, address, why);
        error_ = device_fault(text);
    }
    return nullptr;
}

} // namespace heddle::gpu::sim
