/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A simulated device, for machines without a GPU: what tests may ask of libheddle-sim.so beside the
 * device interface itself. HEDDLE_DEVICE=/path/to/libheddle-sim.so makes libheddle open it; a test
 * takes these functions from the same file with dlopen and dlsym.
 *
 * Device memory has an address that the program cannot dereference: reading or writing it faults,
 * as on a GPU. The simulated device works on the same pages through another mapping, in threads of
 * its own. Pinned and managed memory is ordinary memory that the device knows of. Whatever a kernel
 * or a copy touches is looked up first: pageable memory, freed memory, another device's memory
 * without peer access, and misaligned words fail as they do on a GPU, later, and from then on all
 * calls on that device fail ("sticky"). So does memory that is not the device's own where a launch
 * does not speak of it (Work::remote, Work::far); a GPU would miss a fence there.
 *
 * Environment, read when the plug-in opens:
 *   HEDDLE_SIM_DEVICES  number of devices, 0 to 8; default 2. With 0 the plug-in does not open.
 *   HEDDLE_SIM_PEER     1 (default): kernels reach the other devices' memory, once Backend::reaches
 * has said so; 0: they
 *                       do not; 2: only that of the devices numbered one lower or higher; 3: as 1, but for every second
 *                       allocation of heddle_sim_malloc, which kernels and copies of its own device alone reach.
 *   HEDDLE_SIM_NAME     what the plug-in calls itself; default "sim". With "cuda", MPI says of
 * itself what it says with CUDA's.
 *   HEDDLE_SIM          switches, as for heddle_sim_configure.
 */
#ifndef HEDDLE_SIM_H_INCLUDED
#define HEDDLE_SIM_H_INCLUDED

#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define HEDDLE_SIM_API __attribute__((visibility("default")))

/* Sets switches, `name=value` with blanks between; what is not named stays. Returns 0, or
 * HEDDLE_ERR_ARG and changes nothing where the text makes no sense.
 *
 *   reset              all switches as at the start without HEDDLE_SIM, counts at zero, and failed
 * devices work
 *                      again. What was queued before is done first.
 *   delay_us=N         each kernel and copy begins N microseconds late (default 0)
 *   reorder=0|1        1: which of several streams goes on is random, as is each delay, up to
 * delay_us; within a
 *                      stream the order stays. 0: first come, first served.
 *   seed=N             of all that is random
 *   device_memory=N    most bytes that Backend::allocate has given out at any time, on each device;
 * beyond
 *                      that HEDDLE_ERR_NO_MEMORY. -1 (default): no limit. heddle_sim_malloc counts for nothing.
 *   pinned_memory=N    the same for Backend::allocate_pinned, on all devices together; of
 * Backend::pin, most at a time
 *   peer_copy=0|1      0: copies between devices that do not reach each other fail like kernels;
 * default 1: they
 *                      work, as CUDA sends them through the host
 *   pageable_copy=0|1  0: copies from and to pageable memory fail like kernels; default 1: they
 *                      work, as CUDA's do
 *   dones=0|1          0: there is no memory for completion objects (Backend::done_acquire);
 * default 1
 *   fail=CALL:N        the N-th CALL from now fails, once
 *   fail=CALL:N+       the N-th and all after it
 *   fail=CALL:P%       each with a probability of P percent
 *   exhaust=CALL:...   the same, by HEDDLE_ERR_NO_MEMORY
 *                      CALL is a function of Backend (allocate, free, allocate_pinned, free_pinned,
 *                      stream_create, stream_device, stream_synchronize, launch, copy, copy_2d, copy_3d, done_acquire,
 *                      done_test, done_wait, done_after_all, export_memory, import_memory, close_memory, pin, unpin), or `execute`: a kernel or copy fails on the
 *                      device, later, and the error is sticky, as it is where done_test, done_wait or
 *                      stream_synchronize fails; or `any`: all but execute. May be given several times.
 */
HEDDLE_SIM_API int heddle_sim_configure(const char *switches);

/* How often the Backend's function of that name was called since the start or the last reset;
 * `execute`, or `kernel:NAME` with the name of a kernel (kernel_name in work.hpp): how often that
 * ran. -1: no such name. */
HEDDLE_SIM_API int64_t heddle_sim_count(const char *name);

/* Device, managed and pinned memory of a program's own, 256 bytes aligned. `heddle_sim_free` takes
 * all three. HEDDLE_SUCCESS, HEDDLE_ERR_ARG or HEDDLE_ERR_NO_MEMORY. */
HEDDLE_SIM_API int heddle_sim_malloc(int device, size_t bytes, void **ptr);
HEDDLE_SIM_API int heddle_sim_malloc_managed(int device, size_t bytes, void **ptr);
HEDDLE_SIM_API int heddle_sim_malloc_host(size_t bytes, void **ptr);
HEDDLE_SIM_API int heddle_sim_free(void *ptr);
/* Memory that the program already has becomes pinned, and pageable again. */
HEDDLE_SIM_API int heddle_sim_host_register(void *ptr, size_t bytes);
HEDDLE_SIM_API int heddle_sim_host_unregister(void *ptr);

/* Copies at once, in the calling thread, between any two kinds of memory. Waits for nothing on the
 * device. HEDDLE_ERR_ARG where a range of device memory is not all of one allocation. */
HEDDLE_SIM_API int heddle_sim_memcpy(void *to, const void *from, size_t bytes);
/* Where the bytes of device memory can be seen by the program, for looking at them in a debugger or
 * comparing much of it; null where `ptr` is no device memory. */
HEDDLE_SIM_API void *heddle_sim_look(const void *ptr);

/* The device whose default stream is meant by a null stream in the calling thread; 0 at first. */
HEDDLE_SIM_API int heddle_sim_set_device(int device);
HEDDLE_SIM_API int heddle_sim_stream_create(int device, void **stream);
HEDDLE_SIM_API int heddle_sim_stream_destroy(void *stream);
HEDDLE_SIM_API int heddle_sim_stream_synchronize(void *stream);
/* Waits until all streams of all devices are empty. */
HEDDLE_SIM_API int heddle_sim_synchronize(void);

#if defined(__cplusplus)
}
#endif

#endif
