/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether the messages of a device go by a NIC near it: on its NUMA node. A process looks once, at
 * its first message with device data to or from another node, and warns if it could do better.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include "heddle_internal.h"

#include <stdio.h>
#include <string.h>
#ifdef HAVE_HWLOC
#include "hwloc.h"
hwloc_topology_t MPIR_hwtopo_topology(void);
#endif

MPL_atomic_int_t MPIDI_UCX_nic_seen = MPL_ATOMIC_INT_T_INITIALIZER(0);

#ifdef HAVE_HWLOC

/* What an endpoint uses, as UCX prints it: "tcp/eth0.0" and "rc_mlx5/mlx5_0:1.0" amid other words.
 * (UCX 1.13 and older have no query for that.) To be freed; null: no memory. */
static char *lanes_of(ucp_ep_h ep)
{
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    if (stream == NULL)
        return NULL;
    ucp_ep_print_info(ep, stream);
    fclose(stream);
    return text;
}

/* What follows a NIC's name where these lanes use it: its port and more, as in ":1.0". Null: they
 * do not. */
static const char *find_port(const char *lanes, const char *nic)
{
    const size_t length = strlen(nic);
    for (const char *at = strchr(lanes, '/'); at != NULL; at = strchr(at, '/')) {
        at++;
        if (strncmp(at, nic, length) == 0 && (at[length] == ':' || at[length] == '.'))
            return at + length;
    }
    return NULL;
}

/* The NUMA nodes that it hangs on; null if that is not known. A device of which the system does not
 * tell hangs on the whole machine. */
static hwloc_const_nodeset_t nodes_of(hwloc_topology_t topology, hwloc_obj_t nic)
{
    const hwloc_obj_t place = hwloc_get_non_io_ancestor_obj(topology, nic);
    return place != NULL && place->parent != NULL ? place->nodeset : NULL;
}

/* The next NIC of that kind after `nic`; the first after null. */
static hwloc_obj_t next_nic(hwloc_topology_t topology, hwloc_obj_osdev_type_t kind, hwloc_obj_t nic)
{
    do
        nic = hwloc_get_next_osdev(topology, nic);
    while (nic != NULL && (nic->attr->osdev.type != kind || nic->name == NULL));
    return nic;
}

static bool is_near(hwloc_topology_t topology, hwloc_obj_t nic, int node)
{
    const hwloc_const_nodeset_t nodes = nodes_of(topology, nic);
    return nodes != NULL && hwloc_bitmap_isset(nodes, node);
}

/* Whether its link is known to be down: a card without a cable is of no use. */
static bool is_down(hwloc_obj_t nic)
{
    char path[128], state[32] = "";
    if (nic->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS) {
        const char *port = hwloc_obj_get_info_by_name(nic, "Port1State");
        return port != NULL && strcmp(port, "4") != 0; /* 4: active */
    }
    snprintf(path, sizeof(path), "/sys/class/net/%s/operstate", nic->name);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    const bool is_read = fgets(state, sizeof(state), file) != NULL;
    fclose(file);
    return is_read && (strstr(state, "down") != NULL || strstr(state, "notpresent") != NULL);
}

/* All NICs of that kind near the node that may be used, each with the port of the one that is. To
 * be freed; null: no memory. */
static char *list_near(hwloc_topology_t topology, hwloc_obj_osdev_type_t kind, int node,
                       const char *port)
{
    char *list = NULL;
    const char *comma = "";
    size_t bytes;
    FILE *stream = open_memstream(&list, &bytes);
    if (stream == NULL)
        return NULL;
    for (hwloc_obj_t nic = NULL; (nic = next_nic(topology, kind, nic)) != NULL;) {
        if (!is_near(topology, nic, node) || is_down(nic))
            continue;
        fprintf(stream, "%s%s%s", comma, nic->name, port);
        comma = ",";
    }
    fclose(stream);
    return list;
}

/* Whether the endpoint uses NICs of that kind. If none of them is near, but others are, warns of
 * the first. */
static bool look_at_kind(hwloc_topology_t topology, hwloc_obj_osdev_type_t kind, const char *lanes,
                         int device, int node)
{
    hwloc_obj_t used = NULL;
    char port[16] = "", name[64];
    for (hwloc_obj_t nic = NULL; (nic = next_nic(topology, kind, nic)) != NULL;) {
        const char *found = find_port(lanes, nic->name);
        if (found == NULL)
            continue;
        if (is_near(topology, nic, node) || nodes_of(topology, nic) == NULL)
            return true;
        if (used == NULL) {
            used = nic;
            snprintf(port, sizeof(port), "%.*s", (int)strcspn(found, "."), found);
        }
    }
    if (used == NULL)
        return false;
    char *near_ones = list_near(topology, kind, node, port);
    if (near_ones != NULL && *near_ones != '\0') {
        snprintf(name, sizeof(name), "%s%s", used->name, port);
        heddle_affinity_far_nic(device, name, hwloc_bitmap_first(nodes_of(topology, used)),
                                near_ones);
    }
    MPL_external_free(near_ones);
    return true;
}

static void look(ucp_ep_h ep, int device, int node)
{
    hwloc_topology_t topology = MPIR_hwtopo_topology();
    char *lanes = lanes_of(ep);
    /* Beside InfiniBand UCX may use Ethernet, but moves little over it. */
    if (lanes != NULL && !look_at_kind(topology, HWLOC_OBJ_OSDEV_OPENFABRICS, lanes, device, node))
        (void)look_at_kind(topology, HWLOC_OBJ_OSDEV_NETWORK, lanes, device, node);
    MPL_external_free(lanes);
}

#endif

void MPIDI_UCX_look_at_nic(const MPIDI_av_entry_t *addr, int device)
{
    if (device < 0 || MPL_atomic_swap_int(&MPIDI_UCX_nic_seen, 1))
        return;
#ifdef HAVE_HWLOC
    const int node = MPIR_hwtopo_is_initialized() ? heddle_affinity_node(device) : -1;
    /* With several VNIs another thread may be at work on the endpoints of this one. */
    if (node >= 0 && MPIDI_UCX_global.num_vnis == 1)
        look(MPIDI_UCX_AV_TO_EP(addr, 0, 0), device, node);
#else
    (void)addr;
#endif
}
