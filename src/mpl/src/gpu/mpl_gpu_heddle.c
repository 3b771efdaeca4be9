/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPL's GPU interface on libheddle. MPICH asks it what memory a pointer points into, and for host
 * memory to stage data in. It never moves data by it: that is the datatype engine's and the
 * netmod's. What only the GPU modules that Heddle leaves out would call is an error.
 */
#include "mpl.h"

int MPL_gpu_opened = 0;

static const struct MPL_gpu_heddle *heddle = NULL;

void MPL_gpu_use_heddle(const struct MPL_gpu_heddle *functions) { heddle = functions; }

/* No device is no error: all memory is the host's then. */
int MPL_gpu_init(void)
{
    MPL_gpu_opened = heddle != NULL && heddle->device_open() == 0;
    return MPL_SUCCESS;
}

int MPL_gpu_is_by(const char *plugin)
{
    return MPL_gpu_opened && strcmp(heddle->device_plugin(), plugin) == 0;
}

/* The plug-in stays open: memory may be given back after MPI_Finalize. */
int MPL_gpu_finalize(void)
{
    MPL_gpu_opened = 0;
    return MPL_SUCCESS;
}

/* ---- memory ---------------------------------------------------------------------------------- */

int MPL_gpu_query_pointer_attr(const void *ptr, MPL_pointer_attr_t *attr)
{
    /* By heddle_memory_kind, whose order is MPL's but for the last two. */
    static const MPL_pointer_type_t type[] = {MPL_GPU_POINTER_UNREGISTERED_HOST,
                                              MPL_GPU_POINTER_REGISTERED_HOST, MPL_GPU_POINTER_DEV,
                                              MPL_GPU_POINTER_MANAGED};
    attr->device = MPL_GPU_DEVICE_INVALID;
    attr->type = MPL_gpu_opened ? type[heddle->memory_kind(ptr, &attr->device)] : type[0];
    return MPL_SUCCESS;
}

/* MPICH calls these two only while a plug-in is open (src/include/mpir_gpu.h), but for what lives
 * on past MPI_Finalize. */
int MPL_gpu_malloc_host(void **ptr, size_t size)
{
    if (heddle != NULL)
        return heddle->staging_alloc((int64_t)size, NULL, ptr) == 0 ? MPL_SUCCESS
                                                                    : MPL_ERR_GPU_NOMEM;
    *ptr = MPL_malloc(size, MPL_MEM_BUFFER);
    return *ptr != NULL || size == 0 ? MPL_SUCCESS : MPL_ERR_GPU_NOMEM;
}

int MPL_gpu_free_host(void *ptr)
{
    if (heddle != NULL)
        heddle->staging_free(ptr);
    else
        MPL_free(ptr);
    return MPL_SUCCESS;
}

int MPL_gpu_register_host(const void *ptr, size_t size)
{
    (void)ptr;
    (void)size;
    return MPL_SUCCESS;
}

int MPL_gpu_unregister_host(const void *ptr)
{
    (void)ptr;
    return MPL_SUCCESS;
}

int MPL_gpu_malloc(void **ptr, size_t size, MPL_gpu_device_handle_t device)
{
    (void)ptr;
    (void)size;
    (void)device;
    return MPL_ERR_GPU_INTERNAL;
}

int MPL_gpu_free(void *ptr)
{
    (void)ptr;
    return MPL_ERR_GPU_INTERNAL;
}

int MPL_gpu_get_buffer_bounds(const void *ptr, void **base, uintptr_t *length)
{
    (void)ptr;
    (void)base;
    (void)length;
    return MPL_ERR_GPU_INTERNAL;
}

/* Nothing of a device's is ever freed, so there is nothing to call the hook for. */
int MPL_gpu_free_hook_register(void (*free_hook)(void *dptr))
{
    (void)free_hook;
    return MPL_SUCCESS;
}

/* ---- devices --------------------------------------------------------------------------------- */

/* -1 tells MPICH to leave out its own module for device memory between processes of a node; 0 would
 * have it set up tables for none. */
int MPL_gpu_get_dev_count(int *count, int *max_id)
{
    *count = *max_id = -1;
    return MPL_SUCCESS;
}

int MPL_gpu_get_dev_id_from_attr(MPL_pointer_attr_t *attr)
{
    (void)attr;
    return MPL_GPU_DEVICE_INVALID;
}

int MPL_gpu_global_to_local_dev_id(int global_id)
{
    (void)global_id;
    return MPL_GPU_DEVICE_INVALID;
}

int MPL_gpu_local_to_global_dev_id(int local_id)
{
    (void)local_id;
    return MPL_GPU_DEVICE_INVALID;
}

/* ---- other processes' device memory ---------------------------------------------------------- */

int MPL_gpu_ipc_handle_create(const void *ptr, MPL_gpu_ipc_mem_handle_t *handle)
{
    (void)ptr;
    (void)handle;
    return MPL_ERR_GPU_INTERNAL;
}

int MPL_gpu_ipc_handle_map(MPL_gpu_ipc_mem_handle_t handle, int device, void **ptr)
{
    (void)handle;
    (void)device;
    (void)ptr;
    return MPL_ERR_GPU_INTERNAL;
}

int MPL_gpu_ipc_handle_unmap(void *ptr)
{
    (void)ptr;
    return MPL_ERR_GPU_INTERNAL;
}
