// SPDX-License-Identifier: BSD-3-Clause
// All that the plug-in exports: the opening, and what tests ask of it.
#include "gpu/sim/sim.h"

#include "gpu/sim/machine.hpp"

#include <cstring>
#include <string>

using heddle::gpu::Backend;
using heddle::gpu::Host;
using heddle::gpu::MemoryKind;
using namespace heddle::gpu::sim;

namespace {

// Made on demand: a test may allocate before libheddle opens the device.
Machine *machine()
{
    Machine *made = Machine::get();
    std::string reason;
    return made ? made : Machine::open(reason);
}

int allocate(MemoryKind kind, int device, size_t bytes, void **ptr)
{
    Machine *const m = machine();
    if (!m || !ptr)
        return HEDDLE_ERR_ARG;
    if (const int64_t most = m->switches().program_memory();
        most >= 0 && bytes > static_cast<size_t>(most))
        return HEDDLE_ERR_NO_MEMORY;
    return m->memories().allocate(kind, device, bytes, Origin::program, -1, ptr).error.code();
}

} // namespace

extern "C" HEDDLE_SIM_API Backend *heddle_open_backend_7(const Host &host, std::string &reason)
{
    Machine *const m = Machine::open(reason);
    if (m)
        m->set_host(host);
    return m;
}

int heddle_sim_configure(const char *switches)
{
    Machine *const m = machine();
    if (!m || !switches)
        return HEDDLE_ERR_ARG;
    if (const Fault error = Switches::check(switches))
        return error.error.code();
    if (Switches::asks_for_reset(switches))
        m->queues().mend();
    return m->switches().configure(switches).error.code();
}

int64_t heddle_sim_count(const char *name)
{
    Machine *const m = machine();
    return m && name ? m->switches().count(name) : -1;
}

int heddle_sim_malloc(int device, size_t bytes, void **ptr)
{
    return allocate(MemoryKind::device, device, bytes, ptr);
}

int heddle_sim_malloc_managed(int device, size_t bytes, void **ptr)
{
    return allocate(MemoryKind::managed, device, bytes, ptr);
}

int heddle_sim_malloc_host(size_t bytes, void **ptr)
{
    return allocate(MemoryKind::pinned, 0, bytes, ptr);
}

int heddle_sim_free(void *ptr)
{
    Machine *const m = machine();
    return m ? m->memories().free(ptr, Origin::program).error.code() : int{HEDDLE_ERR_ARG};
}

int heddle_sim_host_register(void *ptr, size_t bytes)
{
    Machine *const m = machine();
    return m ? m->memories().add_registered(0, ptr, bytes).error.code() : int{HEDDLE_ERR_ARG};
}

int heddle_sim_host_unregister(void *ptr)
{
    Machine *const m = machine();
    return m ? m->memories().free(ptr, Origin::registered).error.code() : int{HEDDLE_ERR_ARG};
}

int heddle_sim_memcpy(void *to, const void *from, size_t bytes)
{
    Machine *const m = machine();
    if (!m)
        return HEDDLE_ERR_ARG;
    std::byte *const target = m->memories().look(to, bytes);
    const std::byte *const source = m->memories().look(from, bytes);
    if (!target || !source)
        return HEDDLE_ERR_ARG;
    std::memcpy(target, source, bytes);
    return HEDDLE_SUCCESS;
}

void *heddle_sim_look(const void *ptr)
{
    Machine *const m = machine();
    const auto range = m ? m->memories().find(reinterpret_cast<uintptr_t>(ptr)) : std::nullopt;
    return range && range->kind == MemoryKind::device ? range->at(reinterpret_cast<uintptr_t>(ptr))
                                                      : nullptr;
}

int heddle_sim_set_device(int device)
{
    Machine *const m = machine();
    if (!m || device < 0 || device >= m->device_count())
        return HEDDLE_ERR_ARG;
    Machine::current_device_of_thread() = device;
    return HEDDLE_SUCCESS;
}

int heddle_sim_stream_create(int device, void **stream)
{
    Machine *const m = machine();
    return m && stream ? m->queues().create(device, stream).error.code() : int{HEDDLE_ERR_ARG};
}

int heddle_sim_stream_destroy(void *stream)
{
    Machine *const m = machine();
    const int device = m ? m->queues().device_of(stream) : -1;
    return device < 0 ? int{HEDDLE_ERR_ARG} : m->queues().destroy(device, stream).error.code();
}

int heddle_sim_stream_synchronize(void *stream)
{
    Machine *const m = machine();
    const int device =
        m ? (stream ? m->queues().device_of(stream) : Machine::current_device_of_thread()) : -1;
    return device < 0 ? int{HEDDLE_ERR_ARG} : m->queues().synchronize(device, stream).error.code();
}

int heddle_sim_synchronize(void)
{
    Machine *const m = machine();
    if (!m)
        return HEDDLE_ERR_ARG;
    m->queues().synchronize_all();
    return HEDDLE_SUCCESS;
}
