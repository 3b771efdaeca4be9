// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/cuda/host/numa.hpp"

#include <hwloc.h>

#include <cstdlib>
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
        // Without what a job's cpuset does not allow, a device there would hang on nothing.
        constexpr unsigned long include_disallowed = 1; // named anew in hwloc 2.1
        if (hwloc_topology_set_flags(t, include_disallowed) != 0 ||
            hwloc_topology_set_io_types_filter(t, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) != 0 ||
            hwloc_topology_load(t) != 0) {
            hwloc_topology_destroy(t);
            t = nullptr;
        }
        return t;
    }();
    return loaded;
}

// What a PCI device hangs on; null where that is not known.
hwloc_obj_t place_of(hwloc_topology_t t, const std::string &bus_id)
{
    const hwloc_obj_t device = t ? hwloc_get_pcidev_by_busidstring(t, bus_id.c_str()) : nullptr;
    const hwloc_obj_t place = device ? hwloc_get_non_io_ancestor_obj(t, device) : nullptr;
    return place && place->nodeset ? place : nullptr;
}

std::string list_of(hwloc_const_bitmap_t set)
{
    char *text = nullptr;
    if (hwloc_bitmap_list_asprintf(&text, set) < 0)
        return {};
    const std::unique_ptr<char, void (*)(void *)> owned(text, std::free);
    return text;
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
    const hwloc_obj_t place = place_of(t, bus_id);
    if (!place)
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

Locality locality_of(const std::string &bus_id)
{
    const hwloc_topology_t t = topology();
    const hwloc_obj_t place = place_of(t, bus_id);
    const bool is_everywhere =
        place && !place->parent && hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE) > 1;
    if (!place || is_everywhere || !place->cpuset || hwloc_bitmap_iszero(place->cpuset))
        return {};
    Locality found;
    found.node = hwloc_bitmap_first(place->nodeset);
    found.device_cpus = list_of(place->cpuset);
    const Bitmap own(hwloc_bitmap_alloc());
    if (!own || hwloc_get_cpubind(t, own.get(), HWLOC_CPUBIND_PROCESS) != 0 ||
        hwloc_bitmap_iszero(own.get()))
        return found;
    found.own_cpus = list_of(own.get());
    found.is_far = !hwloc_bitmap_intersects(own.get(), place->cpuset);
    return found;
}

} // namespace heddle::gpu::cuda
