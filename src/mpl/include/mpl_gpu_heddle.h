/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPL's GPU backend of Heddle. It is always compiled in, links to no GPU library nor to libheddle
 * (hydra and ROMIO have copies of MPL), and answers "host" until a device plug-in has been opened.
 */
#ifndef MPL_GPU_HEDDLE_H_INCLUDED
#define MPL_GPU_HEDDLE_H_INCLUDED

#include <stdint.h>

typedef int MPL_gpu_ipc_mem_handle_t;
typedef int MPL_gpu_device_handle_t;
typedef int MPL_gpu_device_attr;
#define MPL_GPU_DEVICE_INVALID -1

/* MPICH compiles its GPU paths where this is defined. Only a running process can tell which kind of
 * GPU it is, if any, by MPL_gpu_query_support. */
#define MPL_HAVE_GPU MPL_GPU_TYPE_NONE

/* Hidden, so that the test below is one load relative to the program counter. */
#if defined(__GNUC__)
__attribute__((visibility("hidden")))
#endif
extern int MPL_gpu_opened;

/* Whether a device plug-in is open. MPICH's ENABLE_GPU expands to this call: all that its GPU paths
 * cost a process without one. */
static inline int MPL_gpu_is_open(void)
{
#if defined(__GNUC__)
    return __builtin_expect(MPL_gpu_opened, 0);
#else
    return MPL_gpu_opened;
#endif
}

/* Whether the plug-in of that name is open: "cuda", say. */
int MPL_gpu_is_by(const char *plugin);

/* What the backend asks of libheddle: functions of heddle.h, of the same names. */
struct MPL_gpu_heddle {
    int (*device_open)(void); /* 0: there is a device */
    const char *(*device_plugin)(void);
    int (*memory_kind)(const void *ptr, int *device);
    int (*staging_alloc)(int64_t bytes, const void *near, void **ptr);
    void (*staging_free)(void *ptr);
};

/* To be called before MPL_gpu_init. Without it there are no devices. */
void MPL_gpu_use_heddle(const struct MPL_gpu_heddle *functions);

#endif /* MPL_GPU_HEDDLE_H_INCLUDED */
