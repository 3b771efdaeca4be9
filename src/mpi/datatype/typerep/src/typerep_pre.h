/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the rest of MPICH must know of the datatype engine before anything else: the type of a
 * datatype's engine handle and of an engine request. Included nearly everywhere, so it names the
 * engine's types without including the engine's header.
 */
#ifndef TYPEREP_PRE_H_INCLUDED
#define TYPEREP_PRE_H_INCLUDED

/* The values of MPICH_DATATYPE_ENGINE, which configure sets. */
#define MPICH_DATATYPE_ENGINE_YAKSA 1
#define MPICH_DATATYPE_ENGINE_DATALOOP 2
#define MPICH_DATATYPE_ENGINE_HEDDLE 3

#if MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_HEDDLE
#define MPIR_TYPEREP_HANDLE_TYPE struct heddle_type *
#elif MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_DATALOOP
#define MPIR_TYPEREP_HANDLE_TYPE struct MPII_Dataloop *
#else
#error                                                                                             \
    "configure with --with-datatype-engine=heddle (or dataloop): Heddle's tree has no other engine"
#endif
#define MPIR_TYPEREP_HANDLE_NULL NULL

/* Messages take device buffers where UCX carries them; elsewhere MPI takes host memory only. */
#if defined(HAVE_CH4_NETMOD_UCX) && !defined(HAVE_CH4_NETMOD_OFI) &&                               \
    MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_HEDDLE
#define MPIR_TYPEREP_TAKES_DEVICES 1
#else
#define MPIR_TYPEREP_TAKES_DEVICES 0
#endif

/* No engine here moves data behind the caller's back yet: every request is complete when made. */
typedef int MPIR_Typerep_req;
#define MPIR_TYPEREP_REQ_NULL 0

#if MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_HEDDLE

/* For our hooks (maint/mpich-4.0.2.fork), where ENABLE_GPU holds. Whether a buffer's data is in
 * device or managed memory. */
int MPIR_Typerep_is_on_device(const void *buf, MPI_Datatype datatype);
/* What is known of a buffer's memory without asking the driver. */
enum MPIR_Typerep_memory {
    MPIR_TYPEREP_HOST,
    MPIR_TYPEREP_DEVICE, /* or of absolute addresses, that may lie there */
    MPIR_TYPEREP_UNKNOWN
};
enum MPIR_Typerep_memory MPIR_Typerep_memory(const void *buf, MPI_Datatype datatype);
/* The same of a buffer that is sent or received; what its datatype says of it (heddle_mpi.h) is
 * believed. */
enum MPIR_Typerep_memory MPIR_Typerep_message_memory(const void *buf, MPI_Datatype datatype);
/* MPIR_Localcopy and MPIR_Reduce_local for such buffers: 0 where they are not and nothing was done,
 * else the result is in `*mpi_errno`; what stands there of an earlier error stays. */
int MPIR_Typerep_localcopy(const void *inbuf, MPI_Aint incount, MPI_Datatype intype, void *outbuf,
                           MPI_Aint outcount, MPI_Datatype outtype, MPI_Aint bytes, int *mpi_errno);
int MPIR_Typerep_reduce_local(const void *inbuf, void *inoutbuf, MPI_Aint count,
                              MPI_Datatype datatype, MPI_Op op, int *mpi_errno);
/* Whether a collective should reduce a device's buffers where they lie. A matter of this process
 * alone: what travels is the same either way. */
int MPIR_Typerep_reduces_on_device(const void *sendbuf, const void *recvbuf, MPI_Aint count,
                                   MPI_Datatype datatype, MPI_Op op);
/* Whether devices combine dense elements of `datatype` by `op`; then these are the engine's names
 * of both. */
bool MPIR_Typerep_device_combines(MPI_Op op, MPI_Datatype datatype, int *engine_op, int *element);
/* Temporary memory of a collective, where its buffers are, for MPIR_Typerep_scratch_free; null
 * where there is none. */
void *MPIR_Typerep_scratch(MPI_Aint bytes, const void *sendbuf, const void *recvbuf,
                           MPI_Datatype datatype);
/* The same for `bytes` bytes that are in `buf`, or are to be, and are sent on meanwhile. */
void *MPIR_Typerep_scratch_to_send(MPI_Aint bytes, const void *buf, MPI_Datatype datatype);
void MPIR_Typerep_scratch_free(void *memory);
/* Most bytes of a message out of device memory, by value, that is sent packed as a whole. */
MPI_Aint MPIR_Typerep_most_whole(void);
/* target = target op origin, both of any layout of one and the same predefined type, in any memory.
 */
int MPIR_Typerep_accumulate(const void *origin, MPI_Aint origin_count, MPI_Datatype origin_type,
                            void *target, MPI_Aint target_count, MPI_Datatype target_type,
                            MPI_Op op);
/* MPIR_Compare_equal on any memory. */
int MPIR_Typerep_equal(const void *one, const void *other, MPI_Datatype datatype, int *mpi_errno);
/* The first bytes of a buffer in any memory, as they would be packed. */
int MPIR_Typerep_read(const void *buf, MPI_Aint count, MPI_Datatype datatype, void *to,
                      MPI_Aint bytes);
/* An error where an array of so many elements, `extent` bytes apart, takes more bytes than an
 * MPI_Aint counts. */
int MPIR_Typerep_check_array(int ndims, const MPI_Aint sizes[], MPI_Aint extent);
/* For callers of heddle.h: a datatype's engine type, committed, and an engine error as MPI's. */
struct heddle_type *MPIR_Typerep_committed(MPI_Datatype datatype);
int MPIR_Typerep_error(int error);

/* MPI_Type_indexed: makes `newtype`, with its contents, or gives its object back. */
struct MPIR_Datatype;
int MPIR_Typerep_create_indexed_int(int count, const int *array_of_blocklengths,
                                    const int *array_of_displacements, MPI_Datatype oldtype,
                                    struct MPIR_Datatype *newtype);

/* Whether the data of a buffer can be reached by the device alone. */
int MPIR_Typerep_is_device_only(const void *buf);

/* Counting: elements in the bytes of a status, and back. */
#define MPIR_TYPEREP_COUNTS 1
int MPIR_Typerep_get_elements(MPI_Count *bytes, MPI_Datatype datatype, MPI_Count *elements);
int MPIR_Typerep_set_elements(MPI_Status *status, MPI_Datatype datatype, MPI_Count elements);
int MPIR_Typerep_external_size(const char *datarep, MPI_Aint count, MPI_Datatype datatype,
                               MPI_Aint *bytes);

/* Arguments that MPICH does not check: the error, if they are wrong. */
int MPIR_Typerep_check_subarray(int ndims, const MPI_Aint *sizes, const MPI_Aint *subsizes,
                                const MPI_Aint *starts);
int MPIR_Typerep_check_darray(int size, int ndims, const MPI_Aint *gsizes, const int *distributions,
                              const int *dargs, const int *psizes);
int MPIR_Typerep_check_pack(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                            const void *packed, MPI_Aint position, MPI_Aint size);
int MPIR_Typerep_check_external(const char *datarep, const void *buf, MPI_Aint count,
                                MPI_Datatype datatype, const void *packed, MPI_Aint position,
                                MPI_Aint size);
int MPIR_Typerep_check_op(MPI_Op op, MPI_Datatype origin, MPI_Datatype target);

/* What this thread's caller does with what it sends now. */
enum MPIR_Typerep_sender {
    MPIR_TYPEREP_SENDER_LEAVES,
    MPIR_TYPEREP_SENDER_WAITS,  /* it stays in MPI until that is over */
    MPIR_TYPEREP_SENDER_STARTS, /* it starts a persistent request */
    MPIR_TYPEREP_SENDER_GATHERS /* it sends several, and says when all have begun */
};
extern MPL_TLS enum MPIR_Typerep_sender MPIR_Typerep_sender ATTRIBUTE((visibility("hidden"),
                                                                       tls_model("initial-exec")));
#define MPIR_TYPEREP_SENDER(does) (MPIR_Typerep_sender = MPIR_TYPEREP_SENDER_##does)

/* Whether messages take device buffers wherever they go: through the netmod, with no shared memory
 * module beside it. */
#if defined(MPIDI_CH4_DIRECT_NETMOD) && MPIR_TYPEREP_TAKES_DEVICES
#define MPIR_TYPEREP_SENDS_DEVICE 1
#else
#define MPIR_TYPEREP_SENDS_DEVICE 0
#endif

/* A send of this buffer is a message whose data could not be read: an error at both ends. */
extern char MPIR_Typerep_no_data[] ATTRIBUTE((visibility("hidden")));
#if defined(MPIDI_CH4_DIRECT_NETMOD) && defined(HAVE_CH4_NETMOD_UCX)
#define MPIR_TYPEREP_IS_NO_DATA(buf) unlikely((buf) == (void *)MPIR_Typerep_no_data)
/* All have been started, or have begun (heddle_init.c): what moves begins together. */
void MPIDI_UCX_all_started(void);
#define MPIR_TYPEREP_ALL_STARTED() MPIDI_UCX_all_started()
#else
#define MPIR_TYPEREP_IS_NO_DATA(buf) 0
#define MPIR_TYPEREP_ALL_STARTED() (void)0
#endif
/* MPIR_Typerep_pack of a message, into `*to`; where it fails, `*to` is MPIR_Typerep_no_data, to be
 * sent in its place. */
int MPIR_Typerep_pack_message(const void *buf, MPI_Aint count, MPI_Datatype datatype, void **to,
                              MPI_Aint bytes, MPI_Aint *packed);
/* As MPIR_Typerep_pack_message, for a caller that returns the error. Where packing fails, this
 * sends that message. */
int MPIR_Typerep_pack_or_tell(const void *buf, MPI_Aint count, MPI_Datatype datatype, void *to,
                              MPI_Aint bytes, MPI_Aint *packed, int rank, int tag,
                              struct MPIR_Comm *comm);
/* At the end of MPI_Init: tells what was found wrong with the settings,
 * and opens what is asked below. */
void MPIR_Typerep_post_init(void);
/* Where MPI takes host memory only, device memory can be packed, and written to files; all else
 * refuses it: an error instead of a crash. */
extern bool MPIR_Typerep_device_is_near ATTRIBUTE((visibility("hidden")));
bool MPIR_Typerep_is_device_memory(const void *buf, MPI_Datatype datatype);

#else

#define MPIR_Typerep_post_init()
#define MPIR_Typerep_device_is_near false
#define MPIR_Typerep_is_device_memory(buf, datatype) false
#define MPIR_TYPEREP_SENDS_DEVICE 0
#define MPIR_TYPEREP_SENDER(does) (void)0
#define MPIR_TYPEREP_ALL_STARTED() (void)0
#define MPIR_Typerep_no_data NULL
#define MPIR_TYPEREP_IS_NO_DATA(buf) 0
#define MPIR_Typerep_pack_message(buf, count, datatype, to, bytes, packed)                         \
    MPIR_Typerep_pack(buf, count, datatype, 0, *(to), bytes, packed)
#define MPIR_Typerep_pack_or_tell(buf, count, datatype, to, bytes, packed, rank, tag, comm)        \
    MPIR_Typerep_pack(buf, count, datatype, 0, to, bytes, packed)
#define MPIR_Typerep_is_on_device(buf, datatype) 0
#define MPIR_Typerep_localcopy(inbuf, incount, intype, outbuf, outcount, outtype, bytes,           \
                               mpi_errno)                                                          \
    0
#define MPIR_Typerep_reduce_local(inbuf, inoutbuf, count, datatype, op, mpi_errno) 0
#define MPIR_Typerep_reduces_on_device(sendbuf, recvbuf, count, datatype, op) 0
#define MPIR_Typerep_scratch(bytes, sendbuf, recvbuf, datatype) MPL_malloc(bytes, MPL_MEM_BUFFER)
#define MPIR_Typerep_scratch_to_send(bytes, buf, datatype) MPL_malloc(bytes, MPL_MEM_BUFFER)
#define MPIR_Typerep_scratch_free(memory) MPL_free(memory)
#define MPIR_Typerep_is_device_only(buf) 0
#define MPIR_TYPEREP_COUNTS 0
#define MPIR_Typerep_get_elements(bytes, datatype, elements) MPI_SUCCESS
#define MPIR_Typerep_set_elements(status, datatype, elements) MPI_SUCCESS
#define MPIR_Typerep_external_size(datarep, count, datatype, bytes)                                \
    (*(bytes) = (count)*MPIR_Typerep_size_external32(datatype), MPI_SUCCESS)
#define MPIR_Typerep_check_subarray(ndims, sizes, subsizes, starts) MPI_SUCCESS
#define MPIR_Typerep_check_darray(size, ndims, gsizes, distributions, dargs, psizes) MPI_SUCCESS
#define MPIR_Typerep_check_pack(buf, count, datatype, packed, position, size) MPI_SUCCESS
#define MPIR_Typerep_check_external(datarep, buf, count, datatype, packed, position, size)         \
    MPI_SUCCESS
#define MPIR_Typerep_check_op(op, origin, target) MPI_SUCCESS
#define MPIR_Typerep_equal(one, other, datatype, mpi_errno) MPIR_Compare_equal(one, other, datatype)

#endif

#if MPIR_TYPEREP_TAKES_DEVICES
#define MPIR_TYPEREP_ERRTEST_HOST(buf, count, datatype, err)
#define MPIR_TYPEREP_IS_PACKED_FROM(buf, datatype) 0
#else
/* A device's buffer, which MPI_Pack and MPI_Unpack take nevertheless. */
#define MPIR_TYPEREP_IS_PACKED_FROM(buf, datatype)                                                 \
    (unlikely(MPIR_Typerep_device_is_near) && MPIR_Typerep_is_device_memory(buf, datatype))
#define MPIR_TYPEREP_ERRTEST_HOST(buf, count, datatype, err)                                       \
    if (unlikely(MPIR_Typerep_device_is_near) && (count) > 0 &&                                    \
        MPIR_Typerep_is_device_memory(buf, datatype)) {                                            \
        err = MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,          \
                                   MPI_ERR_BUFFER, "**heddlehost", 0);                             \
        goto fn_fail;                                                                              \
    }
#endif

#include "typerep_kinds.h"
/* A datatype that is to an array section what `count` of `oldtype` are to its elements one after
 * the other (for libmpifort). */
int MPIR_Typerep_section(int rank, const MPI_Aint *extents, const MPI_Aint *strides,
                         MPI_Aint element, MPI_Aint count, MPI_Datatype oldtype,
                         MPI_Datatype *newtype) MPICH_API_PUBLIC;

#include "typerep_scratch.h"

#endif
