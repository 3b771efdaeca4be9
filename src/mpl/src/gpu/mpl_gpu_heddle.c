/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPL's GPU interface where no device plug-in is open: all memory is the host's, "registered" and
 * "pinned" memory is ordinary memory, there are no devices, and what only a device can do is an error.
 */
#include "mpl.h"

int MPL_gpu_opened = 0;

int MPL_gpu_init(void)
{
    return MPL_SUCCESS;
}

int MPL_gpu_finalize(void)
{
    return MPL_SUCCESS;
}

/* ---- memory ---------------------------------------------------------------------------------- */

int MPL_gpu_query_pointer_attr(const void *ptr, MPL_pointer_attr_t * attr)
{
    (void) ptr;
    attr->type = MPL_GPU_POINTER_UNREGISTERED_HOST;
    attr->device = MPL_GPU_DEVICE_INVALID;
    return MPL_SUCCESS;
}

int MPL_gpu_malloc_host(void **ptr, size_t size)
{
    *ptr = MPL_malloc(size, MPL_MEM_BUFFER);
    return *ptr != NULL || size == 0 ? MPL_SUCCESS : MPL_ERR_GPU_NOMEM;
}

int MPL_gpu_free_host(void *ptr)
{
    MPL_free(ptr);
    return MPL_SUCCESS;
}

int MPL_gpu_register_host(const void *ptr, size_t size)
{
    (void) ptr;
    (void) size;
    return MPL_SUCCESS;
}

int MPL_gpu_unregister_host(const void *ptr)
{
    (void) ptr;
    return MPL_SUCCESS;
}

int MPL_gpu_malloc(void **ptr, size_t size, MPL_gpu_device_handle_t device)
{
    (void) ptr;
    (void) size;
    (void) device;
    return MPL_ERR_GPU_INTERNAL;
}

int MPL_gpu_free(void *ptr)
{
    (void) ptr;
    return MPL_ERR_GPU_INTERNAL;
}

int MPL_gpu_get_buffer_bounds(const void *ptr, void **base, uintptr_t * length)
{
    (void) ptr;
    (void) base;
    (void) length;
    return MPL_ERR_GPU_INTERNAL;
}

/* Nothing of a device's is ever freed, so there is nothing to call the hook for. */
int MPL_gpu_free_hook_register(void (*free_hook) (void *dptr))
{
    (void) free_hook;
    return MPL_SUCCESS;
}

/* ---- devices --------------------------------------------------------------------------------- */

/* -1 tells MPICH to leave out its setup for devices; 0 would have it set up tables for none. */
int MPL_gpu_get_dev_count(int *count, int *max_id)
{
    *count = *max_id = -1;
    return MPL_SUCCESS;
}

int MPL_gpu_get_dev_id_from_attr(MPL_pointer_attr_t * attr)
{
    (void) attr;
    return MPL_GPU_DEVICE_INVALID;
}

int MPL_gpu_global_to_local_dev_id(int global_id)
{
    (void) global_id;
    return MPL_GPU_DEVICE_INVALID;
}

int MPL_gpu_local_to_global_dev_id(int local_id)
{
    (void) local_id;
    return MPL_GPU_DEVICE_INVALID;
}

/* ---- other processes' device memory ------------------------------------------------------------ */

int MPL_gpu_ipc_handle_create(const void *ptr, MPL_gpu_ipc_mem_handle_t * handle)
{
    (void) ptr;
    (void) handle;
    return MPL_ERR_GPU_INTERNAL;
}

int MPL_gpu_ipc_handle_map(MPL_gpu_ipc_mem_handle_t handle, int device, void **ptr)
{
    (void) handle;
    (void) device;
    (void) ptr;
    return MPL_ERR_GPU_INTERNAL;
}

int MPL_gpu_ipc_handle_unmap(void *ptr)
{
    (void) ptr;
    return MPL_ERR_GPU_INTERNAL;
}
