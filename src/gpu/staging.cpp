// SPDX-License-Identifier: BSD-3-Clause
// Host memory on loan to callers of the C API, which know it by its address alone: what it came
// from stands in front of it.
#include "devices.hpp"
#include "error_detail.hpp"

#include <cstdlib>
#include <new>

using namespace heddle;
using namespace heddle::gpu;

namespace {

constexpr size_t alignment = 64;

struct alignas(alignment) Header {
    Slab slab; // empty: ordinary memory
};

// The device whose pool serves memory near `near`; null where none does.
Device *device_near(Devices &devices, const void *near)
{
    if (near)
        return devices.device_of(near);
    for (int i = 0; i < devices.count(); ++i)
        if (devices.device(i).in_use())
            return &devices.device(i);
    return nullptr;
}

} // namespace

int heddle_staging_alloc(int64_t bytes, const void *near, void **ptr)
{
    if (bytes < 0 || !ptr)
        return HEDDLE_ERR_ARG;
    return answer([&] {
        const size_t whole = static_cast<size_t>(bytes) + sizeof(Header);
        Slab slab;
        if (Devices *const devices = Devices::open())
            if (Device *const device = device_near(*devices, near))
                if (device->pinned.take(whole, slab))
                    slab = Slab();
        void *at =
            slab ? slab.at()
                 : std::aligned_alloc(alignment, (whole + alignment - 1) / alignment * alignment);
        if (!at)
            return int{HEDDLE_ERR_NO_MEMORY};
        *ptr = new (at) Header{std::move(slab)} + 1;
        return int{HEDDLE_SUCCESS};
    });
}

void heddle_staging_free(void *ptr)
{
    if (!ptr)
        return;
    Header *const header = static_cast<Header *>(ptr) - 1;
    const Slab slab = std::move(header->slab); // goes back to its pool behind the header's end
    header->~Header();
    if (!slab)
        std::free(header);
}
