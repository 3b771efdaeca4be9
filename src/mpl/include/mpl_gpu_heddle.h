/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPL's GPU backend of Heddle. It is always compiled in, links to no GPU library, and answers "host"
 * until a device plug-in has been opened. This version has no plug-in: nothing sets MPL_gpu_opened.
 */
#ifndef MPL_GPU_HEDDLE_H_INCLUDED
#define MPL_GPU_HEDDLE_H_INCLUDED

typedef int MPL_gpu_ipc_mem_handle_t;
typedef int MPL_gpu_device_handle_t;
typedef int MPL_gpu_device_attr;
#define MPL_GPU_DEVICE_INVALID -1

/* MPICH compiles its GPU paths where this is defined. Which kind of GPU it is, if any, only a running
 * process can tell, by MPL_gpu_query_support. */
#define MPL_HAVE_GPU MPL_GPU_TYPE_NONE

/* Hidden, so that the test below is one load relative to the program counter. */
#if defined(__GNUC__)
__attribute__((visibility("hidden")))
#endif
extern int MPL_gpu_opened;

/* Whether a device plug-in is open. MPICH's ENABLE_GPU expands to this call: all that its GPU paths cost
 * a process without one. */
static inline int MPL_gpu_is_open(void)
{
#if defined(__GNUC__)
    return __builtin_expect(MPL_gpu_opened, 0);
#else
    return MPL_gpu_opened;
#endif
}

#endif /* MPL_GPU_HEDDLE_H_INCLUDED */
