/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where pinned memory is asked for: on the NUMA node that hwloc says a device hangs on. And whether
 * a process is bound near it. The machine is one of hwloc's XML files, written here, and the calls
 * that bind memory or tell of bindings are this program's own.
 */
#include "named.hpp"

#include "gpu/cuda/host/numa.hpp"

#include <hwloc.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sys/wait.h>
#include <unistd.h>

namespace {

struct Bound {
    unsigned long nodes; /* a bit each */
    hwloc_membind_policy_t policy;
    int flags;
};
std::vector<Bound> bound;
constexpr unsigned long nodes_before = 3;
bool refuses = false;
unsigned long processors = 0; /* that the process is bound to, a bit each; 0: nobody knows */

} // namespace

/* In the place of hwloc's own. */
extern "C" int hwloc_get_membind(hwloc_topology_t, hwloc_bitmap_t set,
                                 hwloc_membind_policy_t *policy, int)
{
    hwloc_bitmap_from_ulong(set, nodes_before);
    *policy = HWLOC_MEMBIND_FIRSTTOUCH;
    return 0;
}

extern "C" int hwloc_set_membind(hwloc_topology_t, hwloc_const_bitmap_t set,
                                 hwloc_membind_policy_t policy, int flags)
{
    if (refuses)
        return -1;
    bound.push_back({hwloc_bitmap_to_ulong(set), policy, flags});
    return 0;
}

extern "C" int hwloc_get_cpubind(hwloc_topology_t, hwloc_bitmap_t set, int flags)
{
    hwloc_bitmap_from_ulong(set, processors);
    return processors && flags == HWLOC_CPUBIND_PROCESS ? 0 : -1;
}

namespace gpu {
namespace {

using heddle::gpu::Locality;
using heddle::gpu::cuda::locality_of;
using heddle::gpu::cuda::NearDevice;

/* `nodes` packages of a core, a NUMA node, and a GPU at PCI bus 0x01, 0x11 and so on. The job may
 * use the first `allowed` of them. */
std::string machine(int nodes, int allowed)
{
    int id = 1;
    const auto sets = [&](unsigned long bits) {
        const std::string set = text('"', bits, '"');
        return text(" cpuset=", set, " complete_cpuset=", set, " nodeset=", set,
                    " complete_nodeset=", set, " gp_index=\"", id++, '"');
    };
    const unsigned long all = (1ul << nodes) - 1, own = (1ul << allowed) - 1;
    std::string xml =
        text("<topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\" allowed_cpuset=\"",
             own, "\" allowed_nodeset=\"", own, '"', sets(all), '>');
    for (int i = 0; i < nodes; ++i) {
        const unsigned long own = 1ul << i;
        const auto object = [&](const char *type) {
            return text("<object type=\"", type, "\" os_index=\"", i, '"', sets(own), '>');
        };
        xml += object("Package") + object("NUMANode") + "</object>" + object("Core") +
               object("PU") + "</object></object>";
        xml += text("<object type=\"Bridge\" gp_index=\"", id,
                    "\" bridge_type=\"0-1\" depth=\"0\" bridge_pci=\"0000:[", i, "0-", i,
                    "f]\"><object type=\"PCIDev\" gp_index=\"", id + 1, "\" pci_busid=\"0000:", i,
                    "1:00.0\" pci_type=\"0302 [10de:2330] [10de:16c1] a1\" "
                    "pci_link_speed=\"0.0\"/></object></object>");
        id += 2;
    }
    return xml + "</object></topology>";
}

/* In a process of its own, for a topology is loaded once. */
void on_machine(int nodes, void (*test)(), int allowed = 0)
{
    char name[] = "/tmp/heddle-numa-XXXXXX";
    const int file = mkstemp(name);
    const std::string xml = machine(nodes, allowed ? allowed : nodes);
    if (file < 0 || write(file, xml.data(), xml.size()) != static_cast<ssize_t>(xml.size()))
        fail("no file for the machine");
    close(file);
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        setenv("HWLOC_XMLFILE", name, 1);
        try {
            test();
        } catch (const std::exception &e) {
            std::fprintf(stderr, "%s\n", e.what());
            _exit(1);
        }
        _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    unlink(name);
    same(status, 0, "status of the process on a machine of ", nodes, " nodes");
}

void is_bound(unsigned long nodes, hwloc_membind_policy_t policy, const Bound &found)
{
    same(found.nodes, nodes, "nodes");
    same(static_cast<int>(found.policy), static_cast<int>(policy), "policy");
    same(found.flags, HWLOC_MEMBIND_THREAD | HWLOC_MEMBIND_BYNODESET, "flags");
}

void each_device_has_its_node()
{
    on_machine(2, [] {
        for (const int node : {1, 0}) {
            bound.clear();
            {
                const NearDevice near(text("0000:", node, "1:00.0"));
                same(bound.size(), size_t{1}, "bindings for device ", node);
                is_bound(1ul << node, HWLOC_MEMBIND_BIND, bound[0]);
            }
            same(bound.size(), size_t{2}, "bindings after it");
            is_bound(nodes_before, HWLOC_MEMBIND_FIRSTTOUCH, bound[1]);
        }
    });
}

void nothing_is_bound_otherwise()
{
    on_machine(1, [] {
        {
            const NearDevice near("0000:01:00.0");
        }
        same(bound.size(), size_t{0}, "bindings on a machine of one node");
    });
    on_machine(2, [] {
        for (const char *unknown : {"0000:55:00.0", "nonsense", ""}) {
            const NearDevice near(unknown);
        }
        same(bound.size(), size_t{0}, "bindings for devices that are not there");
        refuses = true;
        {
            const NearDevice near("0000:11:00.0");
        }
        refuses = false;
        same(bound.size(), size_t{0}, "bindings undone that were refused");
    });
}

void is_at(int node, const char *cpus, bool far, unsigned long bound_to)
{
    processors = bound_to;
    const Locality found = locality_of(text("0000:", node, "1:00.0"));
    same(found.node, node, "node");
    same(found.device_cpus, std::string(cpus), "processors near device ", node);
    same(found.is_far, far, "far from device ", node, ", bound to ", bound_to);
}

void processes_are_near_or_far()
{
    on_machine(2, [] {
        is_at(1, "1", true, 1); /* bound to the other node */
        is_at(0, "0", false, 1);
        is_at(1, "1", false, 3); /* not bound */
        is_at(1, "1", false, 2);
        is_at(1, "1", false, 0); /* nobody knows */
        processors = 1;
        same(locality_of("0000:01:00.0").own_cpus, std::string("0"), "bound to");
        for (const char *unknown : {"0000:55:00.0", "nonsense", ""}) {
            same(locality_of(unknown).node, -1, "a device that is not there");
            same(locality_of(unknown).is_far, false, "a device that is not there");
        }
    });
    on_machine(1, [] { is_at(0, "0", false, 1); });
    /* The scheduler has given the job the other node. */
    on_machine(
        2, [] { is_at(1, "1", true, 1); }, 1);
}

const AddTests tests{{"processes are near or far", processes_are_near_or_far},
                     {"each device has its node", each_device_has_its_node},
                     {"nothing is bound otherwise", nothing_is_bound_otherwise}};

} // namespace
} // namespace gpu
