/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Device memory for Fortran programs (device_memory of calls.F90).
 */
#include "../../gpu/device_memory.hpp"

extern "C" {

void *device_allocate(size_t bytes)
{
    return gpu::Machine::get().allocate({gpu::Kind::device, 0}, bytes);
}

void device_release(void *memory, size_t bytes)
{
    gpu::Machine::get().release({gpu::Kind::device, 0}, memory, bytes);
}

void device_copy(void *to, const void *from, size_t bytes)
{
    gpu::Machine::get().copy(to, from, bytes);
}
}
