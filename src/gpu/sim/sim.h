/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A simulated device, for machines without a GPU: what tests may ask of libheddle-sim.so beside the
 * device interface itself. HEDDLE_DEVICE=/path/to/libheddle-sim.so makes libheddle open it; a test
 * takes these functions from the same file with dlopen and dlsym.
 *
 * Device memory has an address that the program cannot dereference: reading or writing it faults,
 * as on a GPU. The simulated device works on the same pages through another mapping, in threads of
 * its own. Pinned and managed memory is ordinary memory that the device knows of.
 *
 * Whatever a kernel or a copy touches is looked up first. It fails, later, as on a GPU, if it
 * touches pageable memory, freed memory, another device's memory without peer access, or misaligned
 * words. From then on all calls on that device fail ("sticky"). It also fails if it touches memory
 * that is not the device's own and the launch does not say so (Work::remote, Work::far): a GPU
 * would miss a fence there.
 *
 * Environment, read when the plug-in opens:
 *   HEDDLE_SIM_DEVICES  number of devices, 0 to 8; default 2. With 0 the plug-in does not open.
 *   HEDDLE_SIM_PEER     which memory of other devices a kernel reaches:
 *                       0  none
 *                       1  all, once Backend::reaches has said so (default)
 *                       2  only that of the devices numbered one lower or higher
 *                       3  as 1, but only kernels and copies of its own device reach every second
 *                          allocation of heddle_sim_malloc
 *                       Links to what is not reached are slower (Backend::link_rate).
 *   HEDDLE_SIM_NODES    a digit for each device: its NUMA node. The process is bound to the four
 *                       processors of node 0. Of devices without a digit no node is known.
 *   HEDDLE_SIM_NAME     what the plug-in calls itself; default "sim". With "cuda", MPI answers
 *                       queries of CUDA support as for CUDA.
 *   HEDDLE_SIM          switches, as for heddle_sim_configure
 */
#ifndef HEDDLE_SIM_H_INCLUDED
#define HEDDLE_SIM_H_INCLUDED

#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define HEDDLE_SIM_API __attribute__((visibility("default")))

/* Sets switches, `name=value` with blanks between; a switch that is not named stays. Returns 0, or
 * HEDDLE_ERR_ARG where the text makes no sense, and then changes nothing.
 *
 *   reset              all switches as at the start without HEDDLE_SIM, counts at zero, and failed
 *                      devices work again. What was queued before is done first.
 *   delay_us=N         each kernel and copy begins N microseconds late (default 0)
 *   reorder=0|1        0: first come, first served (default). 1: which of several streams goes on
 *                      is random, as is each delay, up to delay_us; a stream keeps its order.
 *   seed=N             of all that is random
 *   launch_ns=N        a kernel takes N nanoseconds to begin. This and the next eight make
 *                      the device as slow as they say, by the clock: what runs ends no sooner.
 *                      0: as fast as the processor carries it out (default).
 *   copy_ns=N          a copy takes N nanoseconds to begin
 *   link_mb=N          MB/s (10^6 bytes) each way between a device and all memory that is not its
 *                      own. Kernels and copies that go the same way share it.
 *   memory_mb=N        MB/s of a device's memory, bytes read and written
 *   row_ns=N           a copy takes N nanoseconds more for each of its rows, if it has several; of
 *                      packed rows that it reads over the link, for each line of 64 bytes that
 *                      they touch
 *   block_ns=N         a kernel takes N nanoseconds more for each block or run of a layout
 *   peer_mb=N          MB/s each way between devices, also to what is imported; 0: as link_mb
 *   peer_ns=N          a kernel or copy takes N nanoseconds more to begin there
 *   import_ns=N        Backend::import_memory takes N nanoseconds
 *   device_memory=N    most bytes that Backend::allocate has given out at any time, on each device;
 *                      beyond that HEDDLE_ERR_NO_MEMORY. -1: no limit (default).
 *                      heddle_sim_malloc does not count.
 *   pinned_memory=N    the same for Backend::allocate_pinned, on all devices together, and for
 *                      what Backend::pin has pinned at a time
 *   program_memory=N   most bytes of one heddle_sim_malloc and its like; beyond that
 *                      HEDDLE_ERR_NO_MEMORY. -1: no limit (default).
 *   peer_copy=0|1      0: copies between devices that do not reach each other fail like kernels
 *                      1: they work, as CUDA sends them through the host (default)
 *   pageable_copy=0|1  0: copies from and to pageable memory fail like kernels
 *                      1: they work, as CUDA's do (default)
 *   dones=0|1          0: there is no memory for completion objects (Backend::done_acquire)
 *                      1: there is (default)
 *   fail=CALL:N        the N-th CALL from now fails, once
 *   fail=CALL:N+       the N-th and all after it
 *   fail=CALL:P%       each with a probability of P percent
 *   exhaust=CALL:...   as fail, but by HEDDLE_ERR_NO_MEMORY
 *
 * fail and exhaust may be given several times. CALL is one of these:
 *
 *   a function of Backend  allocate, free, allocate_pinned, free_pinned, stream_create,
 *                          stream_device, stream_synchronize, launch, copy, copy_2d, copy_3d,
 *                          done_acquire, done_test, done_wait, done_after_all, export_memory,
 *                          import_memory, close_memory, pin, unpin
 *   any                    each of these
 *   execute                a kernel or copy fails on the device, later
 *
 * The error is sticky for execute, done_test, done_wait and stream_synchronize.
 */
HEDDLE_SIM_API int heddle_sim_configure(const char *switches);

/* How often something happened since the start or the last reset. `name` is that of a function of
 * Backend (calls; query, span_begin and span_end, too), `execute` (kernels and copies that ran), or
 * `kernel:NAME` with the name of a kernel (kernel_name in work.hpp). -1: no such name. */
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
/* Where the program can see the bytes of device memory, to look at them in a debugger or to compare
 * many. Null where `ptr` is no device memory. */
HEDDLE_SIM_API void *heddle_sim_look(const void *ptr);

/* The device whose default stream is meant by a null stream in the calling thread; 0 at first. */
HEDDLE_SIM_API int heddle_sim_set_device(int device);
HEDDLE_SIM_API int heddle_sim_stream_create(int device, void **stream);
HEDDLE_SIM_API int heddle_sim_stream_destroy(void *stream);
HEDDLE_SIM_API int heddle_sim_stream_synchronize(void *stream);
/* Waits until all streams of all devices are empty. */
HEDDLE_SIM_API int heddle_sim_synchronize(void);

/* A program may define this one, as test/tools/simulated_clock.cpp does, and have a CLOCK_MONOTONIC
 * of its own. What runs on a slow device ends at once then. It asks that the clock says at least
 * `ns` nanoseconds from now on. */
void heddle_sim_clock_reach(int64_t ns);

#if defined(__cplusplus)
}
#endif

#endif
