// SPDX-License-Identifier: BSD-3-Clause
// Host memory for callers of the C API, which know it by its address alone: what it came
// from stands in front of it.
#include "engine/pool.hpp"
#include "gpu/api/transfer.hpp"
#include "gpu/core/devices.hpp"
#include "gpu/core/error_detail.hpp"

#include <cstdlib>
#include <new>

using namespace heddle;
using namespace heddle::gpu;

namespace {

constexpr size_t alignment = 64;

struct alignas(alignment) Header {
    Slab slab;       // empty: ordinary memory
    int device = -1; // whose slab it is
    PoolBlock block; // the ordinary memory
};

// The device whose pool serves memory near `near`; null where none does.
Device *device_near(Devices &devices, const void *near)
{
    return near ? devices.device_of(near) : devices.first_in_use();
}

// Malloc takes long over what is long: 10 us for 50 MB, which it maps and unmaps each time.
PoolBlock ordinary_memory(size_t bytes)
{
    if (bytes >= least_pooled)
        return take_block(bytes, PoolUse::staging);
    const size_t whole = (bytes + alignment - 1) / alignment * alignment;
    return {static_cast<char *>(std::aligned_alloc(alignment, whole)), whole};
}

} // namespace

Error heddle::gpu::allocate_staging(int64_t bytes, Device *device, void **ptr)
{
    const size_t whole = static_cast<size_t>(bytes) + sizeof(Header);
    Slab slab;
    if (device && device->pinned.take(whole, slab))
        slab = Slab();
    PoolBlock block;
    if (!slab)
        block = ordinary_memory(whole);
    char *const at = slab ? slab.at() : block.at;
    if (!at)
        return HEDDLE_ERR_NO_MEMORY;
    const int ordinal = slab ? device->ordinal() : -1;
    *ptr = new (at) Header{std::move(slab), ordinal, block} + 1;
    return HEDDLE_SUCCESS;
}

Memory heddle::gpu::staging_memory(void *ptr, int64_t bytes)
{
    const Header &header = static_cast<Header *>(ptr)[-1];
    Memory memory;
    memory.kind = header.slab ? MemoryKind::pinned : MemoryKind::host;
    memory.device = header.device;
    memory.base = static_cast<char *>(ptr);
    memory.size = static_cast<size_t>(bytes);
    return memory;
}

int heddle_staging_alloc(int64_t bytes, const void *near, void **ptr)
{
    if (bytes < 0 || !ptr)
        return HEDDLE_ERR_ARG;
    return answer([&] {
        Devices *const devices = Devices::open();
        return allocate_staging(bytes, devices ? device_near(*devices, near) : nullptr, ptr);
    });
}

void heddle_staging_free(void *ptr)
{
    if (!ptr)
        return;
    Header *const header = static_cast<Header *>(ptr) - 1;
    const Slab slab = std::move(header->slab); // goes back to its pool behind the header's end
    const PoolBlock block = header->block;
    header->~Header();
    if (!slab)
        give_block(block, PoolUse::staging);
}
