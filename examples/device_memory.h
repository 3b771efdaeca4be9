/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A GPU's memory by CUDA's driver, found at run time: the program needs no toolkit to be built, and
 * no driver to start.
 */
#ifndef EXAMPLES_DEVICE_MEMORY_H
#define EXAMPLES_DEVICE_MEMORY_H

#include <dlfcn.h>
#include <stddef.h>

struct device_memory {
    int (*allocate)(unsigned long long *at, size_t bytes);
    int (*release)(unsigned long long at);
    int (*copy)(unsigned long long to, unsigned long long from, size_t bytes); /* any two */
};

/* The memory of one GPU: number `turn`, or as many further where there are fewer.
 * Null, or what is missing. */
static inline const char *device_memory_open(int turn, struct device_memory *memory)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    if (!cuda)
        return "there is no CUDA driver here (libcuda.so.1)";
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(cuda, "cuInit");
    int (*count)(int *) = (int (*)(int *))dlsym(cuda, "cuDeviceGetCount");
    int (*retain)(void **, int) = (int (*)(void **, int))dlsym(cuda, "cuDevicePrimaryCtxRetain");
    int (*use)(void *) = (int (*)(void *))dlsym(cuda, "cuCtxSetCurrent");
    memory->allocate = (int (*)(unsigned long long *, size_t))dlsym(cuda, "cuMemAlloc_v2");
    memory->release = (int (*)(unsigned long long))dlsym(cuda, "cuMemFree_v2");
    memory->copy = (int (*)(unsigned long long, unsigned long long, size_t))dlsym(cuda, "cuMemcpy");
    if (!init || !count || !retain || !use || !memory->allocate || !memory->release ||
        !memory->copy)
        return "the CUDA driver is too old";
    int devices = 0;
    void *context = NULL;
    if (init(0) || count(&devices) || devices < 1)
        return "the CUDA driver finds no GPU";
    if (retain(&context, turn % devices) || use(context))
        return "the GPU cannot be used";
    return NULL;
}

#endif
