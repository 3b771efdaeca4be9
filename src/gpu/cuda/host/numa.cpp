// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/cuda/host/numa.hpp"

#include <hwloc.h>

#include <memory>
#include <new>

namespace heddle::gpu::cuda {
namespace {

struct FreeBitmap {
    void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

// Loading takes milliseconds, so once, when the first memory is pinned. It lives as long as the
// process.
hwloc_topology_t topology()
{
    static const hwloc_topology_t loaded = [] {
        hwloc_topology_t t = nullptr;
        if (hwloc_topology_init(&t) != 0)
            return hwloc_topology_t{nullptr};
        if (hwloc_topology_set_io_types_filter(t, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) != 0 ||
            hwloc_topology_load(t) != 0) {
            hwloc_topology_destroy(t);
            t = nullptr;
        }
        return t;
    }();
    return loaded;
}

} // namespace

struct NearDevice::Before {
    Bitmap nodes;
    hwloc_membind_policy_t policy;
};

NearDevice::NearDevice(const std::string &bus_id)
{
    const hwloc_topology_t t = topology();
    if (!t || hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE) < 2)
        return;
    const hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(t, bus_id.c_str());
    if (!device)
        return;
    const hwloc_obj_t place = hwloc_get_non_io_ancestor_obj(t, device);
    if (!place || !place->nodeset)
        return;

    Bitmap nodes(hwloc_bitmap_alloc());
    hwloc_membind_policy_t policy;
    if (!nodes || hwloc_get_membind(t, nodes.get(), &policy,
                                    HWLOC_MEMBIND_THREAD | HWLOC_MEMBIND_BYNODESET) != 0)
        return;
    std::unique_ptr<Before> before(new (std::nothrow) Before{std::move(nodes), policy});
    if (!before)
        return;
    if (hwloc_set_membind(t, place->nodeset, HWLOC_MEMBIND_BIND,
                          HWLOC_MEMBIND_THREAD | HWLOC_MEMBIND_BYNODESET) == 0)
        before_ = std::move(before);
}

NearDevice::~NearDevice()
{
    if (!before_)
        return;
    hwloc_set_membind(topology(), before_->nodes.get(), before_->policy,
                      HWLOC_MEMBIND_THREAD | HWLOC_MEMBIND_BYNODESET);
}

} // namespace heddle::gpu::cuda
