// SPDX-License-Identifier: BSD-3-Clause
#include "nodes.hpp"

#include <hwloc.h>

#include <memory>

namespace bench {
namespace {

struct FreeBitmap {
    void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

struct DestroyTopology {
    void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};

hwloc_topology_t topology()
{
    static const auto loaded = [] {
        hwloc_topology_t made = nullptr;
        if (hwloc_topology_init(&made) != 0)
            return std::unique_ptr<hwloc_topology, DestroyTopology>();
        std::unique_ptr<hwloc_topology, DestroyTopology> owned(made);
        if (hwloc_topology_set_io_types_filter(made, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) != 0 ||
            hwloc_topology_load(made) != 0)
            owned.reset();
        return owned;
    }();
    return loaded.get();
}

hwloc_obj_t node_object(int node)
{
    return topology() ? hwloc_get_numanode_obj_by_os_index(topology(), static_cast<unsigned>(node))
                      : nullptr;
}

} // namespace

std::vector<int> memory_nodes()
{
    std::vector<int> nodes;
    if (!topology())
        return nodes;
    for (hwloc_obj_t node = nullptr;
         (node = hwloc_get_next_obj_by_type(topology(), HWLOC_OBJ_NUMANODE, node));)
        if (node->attr->numanode.local_memory > 0)
            nodes.push_back(static_cast<int>(node->os_index));
    return nodes;
}

std::optional<int> node_of_device(const std::string &bus_id)
{
    if (!topology())
        return std::nullopt;
    const hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(topology(), bus_id.c_str());
    const hwloc_obj_t place = device ? hwloc_get_non_io_ancestor_obj(topology(), device) : nullptr;
    // A device that hangs on several nodes alike is near to none of them.
    if (!place || !place->nodeset || hwloc_bitmap_weight(place->nodeset) != 1)
        return std::nullopt;
    return hwloc_bitmap_first(place->nodeset);
}

OnNode::OnNode(int node)
{
    const hwloc_obj_t object = node_object(node);
    bound_ = object &&
             hwloc_set_membind(topology(), object->nodeset, HWLOC_MEMBIND_BIND,
                               HWLOC_MEMBIND_THREAD | HWLOC_MEMBIND_STRICT |
                                   HWLOC_MEMBIND_BYNODESET) == 0 &&
             hwloc_set_cpubind(topology(), object->cpuset, HWLOC_CPUBIND_THREAD) == 0;
}

OnNode::~OnNode()
{
    if (!topology())
        return;
    hwloc_set_membind(topology(), hwloc_topology_get_topology_nodeset(topology()),
                      HWLOC_MEMBIND_DEFAULT, HWLOC_MEMBIND_THREAD | HWLOC_MEMBIND_BYNODESET);
    hwloc_set_cpubind(topology(), hwloc_topology_get_topology_cpuset(topology()),
                      HWLOC_CPUBIND_THREAD);
}

std::optional<bool> lies_on(const void *at, size_t bytes, int node)
{
    const Bitmap found(hwloc_bitmap_alloc());
    if (!topology() || !found ||
        hwloc_get_area_memlocation(topology(), at, bytes, found.get(), HWLOC_MEMBIND_BYNODESET) !=
            0)
        return std::nullopt;
    return hwloc_bitmap_weight(found.get()) == 1 &&
           hwloc_bitmap_isset(found.get(), static_cast<unsigned>(node));
}

} // namespace bench
