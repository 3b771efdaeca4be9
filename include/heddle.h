/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Heddle: a datatype engine. This header is the whole public C API; it needs neither MPI nor a GPU.
 *
 * A *type* describes where the elements of a message lie in memory, in the order in which they are
 * packed (an MPI typemap; MPI 4.0, chapter 5). Types are immutable and reference counted: a
 * constructor returns one reference to a new type and keeps nothing that belongs to the caller.
 * Committing a type makes what moves its data; every call that moves data needs a committed type.
 *
 * Units: sizes, extents, displacements named `h...`, offsets and lengths are in bytes, counts in
 * instances of the type beside them. All are int64_t; nothing is truncated at 2^31.
 *
 * Errors: every function that can fail returns an `int`, HEDDLE_SUCCESS (0) or one of the codes of
 * `enum heddle_error`, and writes its outputs only on success unless its comment says otherwise.
 *
 * Threads: every function may be called from any thread at any time, but for those on one port
 * ("messages"), which must come one after the other; the memory that a call reads or writes is the
 * caller's to guard. A type must not be used after its last reference went.
 */
#ifndef HEDDLE_H_INCLUDED
#define HEDDLE_H_INCLUDED

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#if defined(__cplusplus)
extern "C" {
#endif

#if defined(__GNUC__)
#define HEDDLE_API __attribute__((visibility("default")))
#else
#define HEDDLE_API
#endif

/* In C++, any int may be given where an enumerator is asked for; one that names nothing is answered
 * as invalid. In C that is so anyway. */
#if defined(__cplusplus)
#define HEDDLE_ENUM_BASE : int
#else
#define HEDDLE_ENUM_BASE
#endif

/* ---- errors ---------------------------------------------------------------------------------- */

enum heddle_error {
    HEDDLE_SUCCESS = 0,
    HEDDLE_ERR_ARG,           /* a null pointer or a value outside its range */
    HEDDLE_ERR_COUNT,         /* a negative count or block length */
    HEDDLE_ERR_TYPE,          /* a null type, or a predefined type that does not exist */
    HEDDLE_ERR_NOT_COMMITTED, /* the type is not committed */
    HEDDLE_ERR_OVERFLOW,      /* a size, extent or displacement beyond 63 bits */
    HEDDLE_ERR_RANGE,         /* an offset outside the data that it counts into */
    HEDDLE_ERR_TRUNCATE,      /* the destination is too small for the data */
    HEDDLE_ERR_NO_MEMORY,     /* out of memory */
    HEDDLE_ERR_OP,            /* the operator is not defined for the type */
    HEDDLE_ERR_FORMAT,    /* bytes from elsewhere that describe no valid type, envelope or header */
    HEDDLE_ERR_VERSION,   /* bytes from elsewhere of another version of Heddle's format */
    HEDDLE_ERR_DEPTH,     /* a layout nested deeper than HEDDLE_MAX_DEPTH after simplification */
    HEDDLE_ERR_BUFFER,    /* a null buffer, or one that no device of the transfer can reach */
    HEDDLE_ERR_STREAM,    /* a stream that is not of the device whose memory is moved */
    HEDDLE_ERR_NO_DEVICE, /* a device is needed and none is open; heddle_info says why */
    HEDDLE_ERR_DEVICE,    /* a device call failed; heddle_error_detail names the error */
    HEDDLE_ERR_PEER,      /* a message: its other end failed, or cannot be reached any more */
    HEDDLE_ERR_FREED, /* a type or request that was freed before, unless its place is another's by
                       * now: for that at least 64 more of its kind have to be freed */
    HEDDLE_ERR_LOST   /* a message: the process at its other end has ended */
};

/* Deepest nesting that a canonical layout may have. Nestings that simplify do not count. */
#define HEDDLE_MAX_DEPTH 1024

/* A sentence for `error`, in MPI's terms. Static storage; never null. */
HEDDLE_API const char *heddle_strerror(int error);

/* What the device's own library said about the last error that a call of this thread returned, such
 * as "cudaMemcpyAsync: cudaErrorInvalidValue (invalid argument)"; empty where it said nothing.
 * Lives until the thread's next call. Never null. */
HEDDLE_API const char *heddle_error_detail(void);

/* The library's version, as "MAJOR.MINOR.PATCH". Static storage. */
HEDDLE_API const char *heddle_version(void);

/* ---- types ----------------------------------------------------------------------------------- */

typedef struct heddle_type heddle_type;

/* The predefined types, by what they hold on this machine. `EXT` is the size in MPI's external32
 * representation (MPI 4.0, section 14.5.2). The pair types are those of MINLOC and MAXLOC, with the
 * C layout of `struct { value; int; }`. */
typedef enum heddle_predefined HEDDLE_ENUM_BASE {
    HEDDLE_BYTE,           /* uninterpreted; EXT 1 */
    HEDDLE_CHAR,           /* text: no reductions; EXT 1 */
    HEDDLE_WCHAR,          /* wchar_t; EXT 2 */
    HEDDLE_INT8,           /* EXT 1 */
    HEDDLE_UINT8,          /* EXT 1 */
    HEDDLE_INT16,          /* EXT 2 */
    HEDDLE_UINT16,         /* EXT 2 */
    HEDDLE_INT32,          /* EXT 4 */
    HEDDLE_UINT32,         /* EXT 4 */
    HEDDLE_INT64,          /* EXT 8 */
    HEDDLE_UINT64,         /* EXT 8 */
    HEDDLE_LONG,           /* C long; EXT 4 */
    HEDDLE_ULONG,          /* C unsigned long; EXT 4 */
    HEDDLE_INT128,         /* 16-byte integer; EXT 16 */
    HEDDLE_BOOL,           /* C bool, 1 byte; EXT 1 */
    HEDDLE_LOGICAL,        /* Fortran LOGICAL of 4 bytes; EXT 4 */
    HEDDLE_FLOAT16,        /* IEEE binary16; EXT 2. Reductions where the compiler of the library has
                              _Float16 */
    HEDDLE_FLOAT,          /* EXT 4 */
    HEDDLE_DOUBLE,         /* EXT 8 */
    HEDDLE_LONG_DOUBLE,    /* EXT 16 */
    HEDDLE_FLOAT128,       /* IEEE binary128; EXT 16 */
    HEDDLE_COMPLEX_FLOAT,  /* EXT 8 */
    HEDDLE_COMPLEX_DOUBLE, /* EXT 16 */
    HEDDLE_COMPLEX_LONG_DOUBLE, /* EXT 32 */
    HEDDLE_COMPLEX_FLOAT128,    /* EXT 32 */
    HEDDLE_2INT32,              /* pairs from here on; EXT: the sum of the two */
    HEDDLE_2INT64,
    HEDDLE_2FLOAT,
    HEDDLE_2DOUBLE,
    HEDDLE_FLOAT_INT,
    HEDDLE_DOUBLE_INT,
    HEDDLE_LONG_INT,
    HEDDLE_SHORT_INT,
    HEDDLE_LONG_DOUBLE_INT,
    HEDDLE_PREDEFINED_COUNT,
    HEDDLE_MIXED = HEDDLE_PREDEFINED_COUNT /* as an answer: more than one predefined type, or none
                                            */
} heddle_predefined;

/* A predefined type, committed. It lives as long as the process: retain and release do nothing to
 * it. Null where `which` names none. */
HEDDLE_API heddle_type *heddle_type_predefined(heddle_predefined which);

/* The constructors: MPI 4.0, section 5.1. `*newtype` receives one reference, to give back with
 * heddle_type_release. Arrays are read during the call only and may be null where `count` is zero.
 * Zero counts, zero-length blocks, overlapping blocks and negative displacements are valid.
 * Errors: ARG (a null array or output), COUNT, TYPE, FREED, OVERFLOW, DEPTH, NO_MEMORY. */
HEDDLE_API int heddle_type_contiguous(int64_t count, heddle_type *oldtype, heddle_type **newtype);
/* `stride` in extents of oldtype. */
HEDDLE_API int heddle_type_vector(int64_t count, int64_t blocklength, int64_t stride,
                                  heddle_type *oldtype, heddle_type **newtype);
/* `hstride` in bytes. */
HEDDLE_API int heddle_type_hvector(int64_t count, int64_t blocklength, int64_t hstride,
                                   heddle_type *oldtype, heddle_type **newtype);
/* `displacements[count]` in extents of oldtype, `blocklengths[count]` in instances of it. */
HEDDLE_API int heddle_type_indexed(int64_t count, const int64_t *blocklengths,
                                   const int64_t *displacements, heddle_type *oldtype,
                                   heddle_type **newtype);
/* `hdisplacements[count]` in bytes. */
HEDDLE_API int heddle_type_hindexed(int64_t count, const int64_t *blocklengths,
                                    const int64_t *hdisplacements, heddle_type *oldtype,
                                    heddle_type **newtype);
HEDDLE_API int heddle_type_indexed_block(int64_t count, int64_t blocklength,
                                         const int64_t *displacements, heddle_type *oldtype,
                                         heddle_type **newtype);
HEDDLE_API int heddle_type_hindexed_block(int64_t count, int64_t blocklength,
                                          const int64_t *hdisplacements, heddle_type *oldtype,
                                          heddle_type **newtype);
/* The upper bound is padded so that the extent is a multiple of the strictest member's alignment
 * (MPI 4.0, section 5.1, equation 5.1), except where all members are of one and the same type: that
 * is heddle_type_hindexed, whose extent follows its type's, resized or not. Members with a zero
 * block length count for nothing. */
HEDDLE_API int heddle_type_struct(int64_t count, const int64_t *blocklengths,
                                  const int64_t *hdisplacements, heddle_type *const *oldtypes,
                                  heddle_type **newtype);
HEDDLE_API int heddle_type_resized(heddle_type *oldtype, int64_t lb, int64_t extent,
                                   heddle_type **newtype);
/* Another reference to the same immutable type, committed or not as that is. */
HEDDLE_API int heddle_type_dup(heddle_type *oldtype, heddle_type **newtype);

enum heddle_order { HEDDLE_ORDER_C, HEDDLE_ORDER_FORTRAN };
/* `sizes`, `subsizes`, `starts`: [ndims], in elements of oldtype; ndims at least 1.
 * ARG also where a subarray does not lie inside its array. */
HEDDLE_API int heddle_type_subarray(int ndims, const int64_t *sizes, const int64_t *subsizes,
                                    const int64_t *starts, int order, heddle_type *oldtype,
                                    heddle_type **newtype);

/* Makes the type ready to move data. May be called again, and by several threads at once. */
HEDDLE_API int heddle_type_commit(heddle_type *type);

/* Reference counting. Null is ignored, and what was freed. */
HEDDLE_API void heddle_type_retain(heddle_type *type);
HEDDLE_API void heddle_type_release(heddle_type *type);

/* What a committed type moves by. */
enum heddle_plan_kind {
    HEDDLE_PLAN_NONE,       /* not committed */
    HEDDLE_PLAN_CONTIGUOUS, /* one block (or nothing) */
    HEDDLE_PLAN_STRIDED,    /* a block repeated at strides, in any number of dimensions */
    HEDDLE_PLAN_GENERAL     /* anything else */
};

typedef struct heddle_type_info {
    int64_t size;                 /* bytes of data in one instance */
    int64_t lb, extent;           /* MPI_Type_get_extent */
    int64_t true_lb, true_extent; /* MPI_Type_get_true_extent; both 0 where size is 0 */
    int64_t alignment;            /* bytes; at least 1 */
    int64_t elements; /* predefined non-pair elements in one instance (a pair counts as two) */
    int64_t runs;   /* contiguous runs of memory in one instance, as heddle_iov lists them; 0 where
                       not committed */
    int64_t displ;  /* where the first packed byte lies, from the buffer's address */
    int64_t memory; /* bytes that this type holds, its plan included, types it was made from not */
    heddle_predefined basic; /* the one predefined type that it consists of, or HEDDLE_MIXED */
    int contiguous;          /* any number of instances form one run, of count * size bytes */
    int committed;
    int plan;       /* enum heddle_plan_kind */
    int dimensions; /* of a strided plan: number of strides; else 0 */
    int word;       /* widest power of two, at most 16, that divides every length and
                     * displacement of the layout; 0 where size is 0 */
} heddle_type_info;

/* Errors: ARG, TYPE, FREED. */
HEDDLE_API int heddle_type_get_info(const heddle_type *type, heddle_type_info *info);

/* Writes the canonical layout as text, as snprintf writes: at most `capacity` bytes with the final
 * zero, `*length` (without the zero) being what it takes whole. Two types have the same layout if
 * and only if their texts are equal; irregular data may have several layouts. The form:
 * `DISPL+NODE`, where NODE is one of `dense(BYTES)`, `stream(COUNT,STRIDE,NODE)`,
 * `gather([DISPL...],NODE)`, `runs([DISPL:COUNT...],STRIDE,NODE)`, `concat(DISPL+NODE,...)`.
 * Errors: ARG, TYPE; OVERFLOW where the text is longer than 64 MiB. */
HEDDLE_API int heddle_type_describe(const heddle_type *type, char *text, size_t capacity,
                                    size_t *length);

/* ---- moving data ----------------------------------------------------------------------------- */

/* Packs bytes [offset, offset + max_bytes) of the packed form of `count` instances at `inbuf` into
 * `outbuf`, or what there is of them. Ends on a boundary of predefined elements, unless not even
 * one element fits: then it packs the part that does. `*actual` is the number of bytes written.
 * `inbuf` may be null for types of absolute addresses. Buffers must not overlap.
 * Errors: ARG, COUNT, TYPE, FREED, NOT_COMMITTED, RANGE (offset negative or beyond the data),
 * OVERFLOW. */
HEDDLE_API int heddle_pack(const void *inbuf, int64_t count, const heddle_type *type,
                           int64_t offset, void *outbuf, int64_t max_bytes, int64_t *actual);

/* The inverse: `insize` packed bytes at `inbuf` go to bytes [offset, offset + insize) of the packed
 * form of `count` instances at `outbuf`; what would lie beyond its end is left. Any byte offset and
 * length is valid. `*actual` is the number of bytes read. Errors as heddle_pack. */
HEDDLE_API int heddle_unpack(const void *inbuf, int64_t insize, void *outbuf, int64_t count,
                             const heddle_type *type, int64_t offset, int64_t *actual);

/* Copies bytes [offset, offset + length) of the packed form of the source onto the same bytes of
 * the packed form of the destination, with no packed buffer of that size between. `*actual`: the
 * bytes copied, less than `length` where either side ends sooner. Errors as heddle_pack. */
HEDDLE_API int heddle_copy(const void *inbuf, int64_t incount, const heddle_type *intype,
                           void *outbuf, int64_t outcount, const heddle_type *outtype,
                           int64_t offset, int64_t length, int64_t *actual);

/* Where byte `offset` of the packed form of `count` instances lies: `*displ` bytes from the
 * buffer's address, with `*run` bytes (itself included) contiguous from there on, as heddle_iov
 * sees them. The point-based traversal of paper 001. Errors as heddle_pack; RANGE also at the very
 * end. */
HEDDLE_API int heddle_locate(int64_t count, const heddle_type *type, int64_t offset, int64_t *displ,
                             int64_t *run);

/* How many runs of memory the first `max_bytes` of the packed form take, and how many bytes those
 * are (`*bytes` may be null). */
HEDDLE_API int heddle_iov_len(int64_t count, const heddle_type *type, int64_t max_bytes,
                              int64_t *len, int64_t *bytes);

/* Lists runs [first, first + max_len) of the buffer, or what there is of them. */
HEDDLE_API int heddle_iov(const void *buf, int64_t count, const heddle_type *type, int64_t first,
                          struct iovec *iov, int64_t max_len, int64_t *actual_len);

/* Lists runs from byte `offset` of the packed form on, the first and the last cut to fit: at most
 * `max_len` of them, at most `max_bytes` in all. */
HEDDLE_API int heddle_iov_bytes(const void *buf, int64_t count, const heddle_type *type,
                                int64_t offset, struct iovec *iov, int64_t max_len,
                                int64_t max_bytes, int64_t *actual_len, int64_t *actual_bytes);

/* How many predefined elements lie whole in the first `bytes` packed bytes of any number of
 * instances, a pair being two;
 * `*used` (may be null) are the bytes that these take: fewer than `bytes` where an element is cut,
 * or the type has no data. Errors: ARG, TYPE, FREED, NOT_COMMITTED. */
HEDDLE_API int heddle_count_elements(const heddle_type *type, int64_t bytes, int64_t *elements,
                                     int64_t *used);
/* The inverse: the packed bytes that the first `elements` of them take. Errors: also RANGE (the
 * type has no data), OVERFLOW. */
HEDDLE_API int heddle_bytes_of_elements(const heddle_type *type, int64_t elements, int64_t *bytes);

/* ---- types as bytes -------------------------------------------------------------------------- */

/* A committed type as bytes for another process of the same architecture. The form has a version
 * and is checked whole when read: any bytes at all are safe to unflatten. */
HEDDLE_API int heddle_flatten_size(const heddle_type *type, size_t *size);
/* Errors: ARG, TYPE, FREED, NOT_COMMITTED, TRUNCATE (capacity below heddle_flatten_size). */
HEDDLE_API int heddle_flatten(const heddle_type *type, void *bytes, size_t capacity);
/* Returns a committed type. Errors: ARG, FORMAT, VERSION, NO_MEMORY. */
HEDDLE_API int heddle_unflatten(const void *bytes, size_t size, heddle_type **newtype);

/* ---- reductions ------------------------------------------------------------------------------ */

typedef enum heddle_op HEDDLE_ENUM_BASE {
    HEDDLE_OP_REPLACE,
    HEDDLE_OP_NO_OP,
    HEDDLE_OP_SUM,
    HEDDLE_OP_PROD,
    HEDDLE_OP_MAX,
    HEDDLE_OP_MIN,
    HEDDLE_OP_LAND,
    HEDDLE_OP_LOR,
    HEDDLE_OP_LXOR,
    HEDDLE_OP_BAND,
    HEDDLE_OP_BOR,
    HEDDLE_OP_BXOR,
    HEDDLE_OP_MAXLOC,
    HEDDLE_OP_MINLOC,
    HEDDLE_OP_COUNT
} heddle_op;

/* 1 where MPI allows `op` on elements of `basic` (MPI 4.0, section 6.9.2), else 0. What only moves
 * (REPLACE, NO_OP) may be of HEDDLE_MIXED. */
HEDDLE_API int heddle_op_is_defined(heddle_op op, heddle_predefined basic);

/* target = target op source, element by element in packed order: `outcount` instances of `outtype`
 * at `outbuf`, against as many elements of the source. `intype` null: the source is packed and
 * holds `incount` elements of outtype's predefined type. Both must consist of one and the same
 * predefined type (REPLACE and NO_OP: of any, of equal size in bytes).
 * Errors: as heddle_pack; OP; TRUNCATE where the source holds more than the target. */
HEDDLE_API int heddle_accumulate(const void *inbuf, int64_t incount, const heddle_type *intype,
                                 void *outbuf, int64_t outcount, const heddle_type *outtype,
                                 heddle_op op);

/* ---- devices --------------------------------------------------------------------------------- */

/* The calls above take host memory only. Those of this section take any: device, managed, pinned
 * and pageable host memory, on either side.
 *
 * A device plug-in is opened by the first of these calls, or by heddle_device_open. Which one, the
 * environment variable HEDDLE_DEVICE says: "auto" (the default: the CUDA plug-in, if it was built and a
 * driver answers), "none", or the path of a plug-in. Opening creates no context on any device;
 * memory for staging is made at the first transfer that needs it. */

/* Sets what the environment variable `name`, one of Heddle's (README.gpu), says otherwise. Errors:
 * ARG (no such variable, or null), RANGE (they were read already: call this before any other
 * function that concerns devices). */
HEDDLE_API int heddle_set(const char *name, const char *value);

/* What is wrong with the settings, or why a plug-in that HEDDLE_DEVICE names does not open, each
 * told once per process: one line of `text`, without its end, which lives during the call.
 * `warning` must not call Heddle. Null, the default: it is printed on the standard error output. To
 * be called before any other function that concerns devices. */
typedef void (*heddle_warning)(const char *text);
HEDDLE_API void heddle_on_warning(heddle_warning warning);

/* Opens the plug-in, once per process. Errors: NO_DEVICE, which is no reason to stop: host memory
 * works. */
HEDDLE_API int heddle_device_open(void);

/* What the plug-in that is open calls itself: "cuda", or "sim" (a simulated device, for tests).
 * Empty where none is. Opens it. Static storage; never null. */
HEDDLE_API const char *heddle_device_plugin(void);

/* What is open, or why nothing is; the devices; what the transfers so far were done by. Lines of
 * text, written as heddle_type_describe writes. */
HEDDLE_API int heddle_info(char *text, size_t capacity, size_t *length);

/* One of the numbers that heddle_info tells: of what was done since the process began, or of what
 * is held now. */
typedef struct heddle_counter {
    const char *name;        /* an identifier, like methods_kernel; static */
    const char *description; /* static */
    int64_t value;
    int is_level; /* it goes down, too */
} heddle_counter;
/* Reads counter `index`, which has the same name all the time; they are numbered from 0 on without
 * gaps. Opens no plug-in. Errors: ARG, RANGE: there are not so many. */
HEDDLE_API int heddle_counter_read(int64_t index, heddle_counter *counter);

enum heddle_memory_kind {
    HEDDLE_MEMORY_HOST,
    HEDDLE_MEMORY_PINNED,
    HEDDLE_MEMORY_DEVICE,
    HEDDLE_MEMORY_MANAGED
};
/* The kind of memory that `ptr` points into, and its device (-1: none). Never fails: memory that no
 * device knows is the host's. `device` may be null. */
HEDDLE_API int heddle_memory_kind(const void *ptr, int *device);

/* 1 where kernels combine elements of `basic` by `op`. 0 where no device is open, where `basic`
 * does not have that operator, where the host does it for the device (what has more than 64 bits of
 * floating point), and for those that combine nothing, REPLACE and NO_OP. */
HEDDLE_API int heddle_device_combines(heddle_op op, heddle_predefined basic);

/* One side of a transfer: the packed form of `count` instances of a committed type at `buf`, from
 * packed byte `offset` on. Packed data is `count` bytes of HEDDLE_BYTE. `buf` is null for types of
 * absolute addresses alone. */
typedef struct heddle_side {
    void *buf;
    int64_t count;
    const heddle_type *type;
    int64_t offset;
} heddle_side;

/* Moves `bytes` packed bytes, of which both sides must have so many from their offsets on: to =
 * from, or to = to op from. With an operator both sides must consist of one and the same predefined
 * type (or the source of HEDDLE_BYTE: packed elements) and `bytes` and the offsets must not cut an
 * element. Pack: `to` is dense; unpack: `from` is; neither need be. The source is not written to.
 * Source and target must not overlap; a target with overlapping blocks receives any of the values
 * meant for a byte. */
typedef struct heddle_move {
    heddle_side from;
    heddle_side to;
    int64_t bytes;
    heddle_op op; /* HEDDLE_OP_REPLACE (0): plain */
} heddle_move;

typedef struct heddle_request heddle_request;

/* Carries out `n` moves, in any order and some at once, and returns when they are done. What one
 * writes no other may read, write or combine with: sums that meet in one target, as faces do in an
 * edge, are calls of their own. Short moves among device and pinned memory of one device go out
 * together, as one kernel for strided ones in up to three dimensions (of up to 8 MiB each), one for
 * others of which one side is contiguous (512 KiB), and one for what is neither; those that combine
 * are a kernel each. Nothing is written where one of the moves is wrong; after DEVICE the targets'
 * content is undefined. Errors: ARG, COUNT, TYPE, FREED, NOT_COMMITTED, RANGE (offset or bytes
 * beyond a side's data), OVERFLOW, OP, BUFFER, NO_MEMORY, NO_DEVICE, DEVICE. */
HEDDLE_API int heddle_transfer(const heddle_move *moves, int64_t n);

/* Begins them and returns; at the first use of an irregular type on a device once its description
 * is there, which goes past whatever else was begun (heddle_type_device_memory). `*request` is to
 * be given to heddle_test until that says done, or to heddle_wait; until then the buffers must
 * stay, while the types may be released. Where all is done at once, `*request` is null, which both
 * take. Stages that go through the host move on in these calls. */
HEDDLE_API int heddle_transfer_begin(const heddle_move *moves, int64_t n, heddle_request **request);
/* `*done`: 1 and `*request` null where it has ended, successfully or with the error returned.
 * FREED: a copy of a request that has ended. */
HEDDLE_API int heddle_test(heddle_request **request, int *done);
HEDDLE_API int heddle_wait(heddle_request **request);

/* Puts them on a stream of the caller's (a cudaStream_t, of the device whose memory is moved):
 * ordered with what is there, without synchronization, but that the first use of an irregular type
 * waits for its description as above. The types may be released at once. Pageable memory is refused
 * with BUFFER, for it cannot be reached from a stream, and operators that no device has (those on
 * more than 64 bits of floating point) with OP. The stream must not be under capture. Errors: also
 * STREAM, and NO_MEMORY for an operator on a type whose description finds no room that the device
 * reaches. */
HEDDLE_API int heddle_transfer_on_stream(const heddle_move *moves, int64_t n, void *stream);

/* Bytes that the description of a committed type takes on each device that moves it: none for types
 * that are contiguous or strided, else mostly 24 for each of up to four million runs. It comes into
 * being with the type's first use there, in
 * memory of the device or, where that has run out, pinned memory, and ends with the type. One of up to 1 MiB is taken out of
 * HEDDLE_SLAB_LIMIT while there is room; others are not counted there. Where there is no memory for
 * the runs, the rest of it, a few hundred bytes mostly, serves alone, more slowly. Errors: ARG,
 * TYPE, FREED, NOT_COMMITTED, OVERFLOW, NO_MEMORY. */
HEDDLE_API int heddle_type_device_memory(const heddle_type *type, int64_t *bytes);

/* ---- staging memory -------------------------------------------------------------------------- */

/* Host memory for what is on its way to or from a device: `bytes` bytes, 64-byte aligned. `near`,
 * which may be null, points into what it will be moved from or to. It is pinned, out of a pool
 * (HEDDLE_SLAB_LIMIT), where `near` is a device's memory, or null and a device is in use already;
 * ordinary memory otherwise, and where the pool is dry. Errors: ARG, NO_MEMORY. */
HEDDLE_API int heddle_staging_alloc(int64_t bytes, const void *near, void **ptr);
/* Gives it back; null is ignored. Nothing may still move there. */
HEDDLE_API void heddle_staging_free(void *ptr);

/* Memory for what is computed beside the buffer that `near` points into (may be null): `bytes`
 * bytes, 64-byte aligned, uninitialized. Where `near` is device or managed memory it is of that
 * device, out of the pool of HEDDLE_SLAB_LIMIT or, beyond the limit, allocated for this time;
 * otherwise, and where the device has none left, ordinary host memory, on which everything works as
 * well, but slower. Errors: ARG, NO_MEMORY. */
HEDDLE_API int heddle_scratch_alloc(int64_t bytes, const void *near, void **ptr);
/* Gives it back; null is ignored. Nothing may still use it. */
HEDDLE_API void heddle_scratch_free(void *ptr);

/* ---- messages -------------------------------------------------------------------------------- */

/* Large messages from memory of any kind to memory of any kind, over a transport of the caller's
 * that moves host
 * memory. The sender sends an *envelope* by whatever does the matching; all else are *headers*, with a chunk of the
 * data behind some of them, which the transport brings to the other end's port. A chunk is packed
 * while the one before it travels, and unpacked while the one behind it does. Between processes of
 * one node whose devices reach each other, chunks need not travel: they are packed on the sender's
 * device and unpacked straight out of there.
 *
 * Staging memory is taken at a sender only once its message was matched (but for what is packed
 * early, see heddle_port_options), and at a receiver before anything is sent to it; both wait their
 * turn where it is scarce, and always get some in the end.
 *
 * The calls on one port must come one after the other; different ports may be used by different
 * threads at the same time. No call waits for a device or for the other end, but
 * heddle_message_deliver a moment for a ticket, and progress for a device that has failed. */
typedef struct heddle_port heddle_port;

enum { HEDDLE_ENVELOPE_BYTES = 64, HEDDLE_HEADER_BYTES = 192 /* at most */ };

/* What a transport must be able to do. `peer` is what the caller named the other end of a message
 * with. */
typedef struct heddle_transport {
    void *context;
    /* Sends `header`, which may go once it returns, and, if `bytes` is not 0, the host memory at
     * `data`, which stays. Returns HEDDLE_SUCCESS, with `*done` 1 where nothing of it is needed any
     * more; where `*done` is left at 0, heddle_port_sent is to be called with `token` once that is
     * so. Any other code: not sent, and `token` is void. Headers and envelopes from one port to one
     * peer must be met in the order in which they were sent, as far as they tell which envelopes
     * were matched (heddle_port_dropped needs that); chunks may overtake each other. Must not call
     * back into the port. */
    int (*send)(void *context, void *peer, const void *header, size_t header_bytes,
                const void *data, size_t bytes, void *token, int *done);
} heddle_transport;

/* Whether chunks travel by value, or stay with the sender on the same node: in host memory that
 * both map, or on its device. AUTO is the fastest that is possible, from the last to the first; so
 * is REFERENCE; SHARED is never on a device; VALUE is always possible. Of two ports, each may rule
 * something out. */
enum heddle_peer {
    HEDDLE_PEER_DEFAULT, /* HEDDLE_PEER says */
    HEDDLE_PEER_AUTO,
    HEDDLE_PEER_VALUE,
    HEDDLE_PEER_SHARED,
    HEDDLE_PEER_REFERENCE
};

/* Zeros, or a null pointer in place of the whole, stand for what the environment says. */
typedef struct heddle_port_options {
    int64_t chunk;  /* most bytes of a chunk, and a sixteenth of that of one that stays on a device:
                     * HEDDLE_MESSAGE_CHUNK, otherwise 1 MiB. A power of two, from 4096 to 2^30 */
    int64_t window; /* most chunks of a message on their way at a time: HEDDLE_MESSAGE_WINDOW,
                       otherwise 8 */
    int64_t staging; /* most bytes of staging memory, for what is received, and for what is sent in
                      * each of the ways: HEDDLE_MESSAGE_STAGING, otherwise half of
                      * HEDDLE_SLAB_LIMIT; half of it more for what is packed before it is known who
                      * takes it. Of slabs of one chunk there are always two, one for each, whatever
                      * this says */
    int peer;        /* enum heddle_peer; HEDDLE_PEER=auto|value|shared|reference, otherwise auto */
    uint32_t number; /* stands in this port's envelopes, for a transport that needs to know where to
                        answer; < 65536 */
    int64_t patience; /* microseconds for which heddle_message_offer waits for a receiver, counted
                       * from the first progress after it: HEDDLE_MESSAGE_PATIENCE, otherwise 30 */
} heddle_port_options;

/* The transport is copied. Errors: ARG, NO_MEMORY. */
HEDDLE_API int heddle_port_create(const heddle_transport *transport,
                                  const heddle_port_options *options, heddle_port **port);
/* Ends what still runs with PEER, here and, by headers that it sends, at the other ends that have
 * answered; waits for devices, and for a second at most for who writes to a receive's buffer
 * (heddle_ticket_give). What was sent of device memory and is not answered may be read even now: it
 * is for the caller to see that it was received, or is not any more. The transport must have let go
 * of all memory of this port and of the messages' buffers. Where it can send nothing any more,
 * heddle_port_lost says so. Null is ignored. */
HEDDLE_API void heddle_port_destroy(heddle_port *port);

/* Moves messages on, and calls the `ended` of those that have ended. `*events` (may be null): how
 * many steps were taken. The port itself never fails; messages do. Errors: ARG. */
HEDDLE_API int heddle_port_progress(heddle_port *port, int *events);
/* Whether heddle_port_progress has anything to do: where it points to 0, nothing. Lives as long as
 * the port. */
HEDDLE_API const int *heddle_port_active(const heddle_port *port);

/* What the transport reports. None of these calls an `ended`.
 * The send of `token` is over, with an error (HEDDLE_ERR_*, best PEER) or without. */
HEDDLE_API void heddle_port_sent(heddle_port *port, void *token, int error);
/* A header came, with its `bytes` bytes in host memory that is valid during the call.
 * Errors: FORMAT, VERSION: it is none of ours, and nothing happened, or it contradicts what its
 * message knows, which ends so. A header of a message that has ended meanwhile is no error. */
HEDDLE_API int heddle_port_arrived(heddle_port *port, const void *header, size_t header_bytes,
                                   const void *data, size_t bytes);
/* A header came, and its `bytes` bytes can be put anywhere in host memory: they belong at `*where`.
 * When they are there, or not to come, heddle_port_placed is to be called with `*token`; it may be
 * at once. `*where` is null where nobody wants them any more: they are to be dropped, and `*token`
 * is void. Errors: as heddle_port_arrived. */
HEDDLE_API int heddle_port_place(heddle_port *port, const void *header, size_t header_bytes,
                                 size_t bytes, void **where, void **token);
HEDDLE_API void heddle_port_placed(heddle_port *port, void *token, int error);
/* Headers go out to the senders whose messages are being received and who do not know it yet. To be
 * called before any of them is told that another message was dropped. Null is ignored. */
HEDDLE_API void heddle_port_confirm(heddle_port *port);
/* The oldest message to `peer` with `key` of which it is not known that it was matched (by an
 * answer, or heddle_message_probed) was matched by a receive that could not take its envelope in:
 * it ends, with success if `error` is 0 (the receive was too short), else with PEER (the envelope
 * could not be read). Errors: RANGE where there is none. */
HEDDLE_API int heddle_port_dropped(heddle_port *port, const void *peer, uint64_t key, int error);
/* `peer` is gone, or, if it is null, all peers are: their messages end with `error`, and nothing is
 * sent to them. LOST: their
 * processes have ended, and the transport has delivered all that they sent. Memory that it still has for them comes back then. */
HEDDLE_API void heddle_port_lost(heddle_port *port, const void *peer, int error);

/* A process, as others of its node know it. */
typedef struct heddle_process {
    uint64_t node; /* 0: not known */
    uint64_t name; /* no other process has the same */
} heddle_process;
/* The calling one. */
HEDDLE_API void heddle_process_self(heddle_process *self);
/* Whether a process of this node has ended, however that came; `*ended` is 0 where that cannot be
 * seen, and for all of other nodes. Takes a microsecond. The first call should come while it lives.
 * Memory of a process that has ended is closed. For heddle_port_lost. Errors: ARG, NO_MEMORY. */
HEDDLE_API int heddle_process_ended(const heddle_process *process, int *ended);

/* A message whose receiver has not answered. */
typedef struct heddle_unmatched {
    uint64_t message; /* for heddle_message_abandon */
    void *peer;
    uint64_t key; /* as it was sent */
    int64_t bytes;
} heddle_unmatched;
/* The oldest that its caller still waits for. Errors: ARG; RANGE where there is none. */
HEDDLE_API int heddle_port_unmatched(heddle_port *port, heddle_unmatched *oldest);

/* Called once for each message, by heddle_port_progress or heddle_port_destroy, when it has ended
 * and its buffer is the caller's again. `bytes`: how many were received, or sent for the receiver
 * to have. A receive that is shorter than the message ends with TRUNCATE after its bytes came.
 * heddle_error_detail tells more of DEVICE. It may begin other messages. */
typedef void (*heddle_message_ended)(void *argument, int error, int64_t bytes);

/* Makes the envelope of a message of `bytes` packed bytes of `from`, to be sent to `peer` by the
 * caller, and in the order of its other messages. `key` is for heddle_port_dropped. `message` (may
 * be null) is for heddle_message_abandon. `waits`: the caller makes progress until it has ended,
 * and so will after the next one; then its receiver may give tickets (below). The type may be
 * released at once, the buffer stays. Errors: as heddle_transfer_begin. */
HEDDLE_API int heddle_message_send(heddle_port *port, void *peer, const heddle_side *from,
                                   int64_t bytes, uint64_t key, int waits, void *envelope,
                                   heddle_message_ended ended, void *argument, uint64_t *message);
/* The same for a message that is not to wait for its receiver, as short ones of MPI's standard mode
 * should not: it can be read where it lies for a while; if nobody has done so then, it is copied
 * into the host's memory, sent from there, matched or not, and ends: its receiver asks nothing of
 * it then. Between two ports of one process its memory must stay until it was received. `within`:
 * its receiver is this same port. Else it must be dense in device memory that others of the node
 * can open (and at least as long as its envelope), and `peer` should be of this node.
 * `*offered` 0: it is none of these, it was not worth it lately, or another is on its way; nothing
 * has happened, and it is to be sent in another way. heddle_port_destroy drops what nobody has
 * received. */
HEDDLE_API int heddle_message_offer(heddle_port *port, void *peer, int within,
                                    const heddle_side *from, int64_t bytes, uint64_t key, int waits,
                                    void *envelope, heddle_message_ended ended, void *argument,
                                    uint64_t *message, int *offered);
/* The same for a message that its receiver has given a ticket for (heddle_ticket_give): it is
 * written straight to where it belongs, while its envelope is on its way. `after`: the message
 * before it, if that was the last that was sent to `peer` which a receive of this one could have
 * matched; otherwise this must not be called. Its receiver cannot have it before this port makes
 * progress: so it is for senders that stay until it has ended. `*delivers` 0: there is no ticket,
 * or none for so many bytes, or it does not lie dense on a device; nothing has happened, and it is
 * to be sent in another way. Waits for up to 2 us. */
HEDDLE_API int heddle_message_deliver(heddle_port *port, void *peer, uint64_t after,
                                      const heddle_side *from, int64_t bytes, uint64_t key,
                                      void *envelope, heddle_message_ended ended, void *argument,
                                      uint64_t *message, int *delivers);
/* Its envelope was not sent, or so the transport says: it ends with `error`, unless its caller was
 * told already. Who received the envelope nevertheless is told that it failed. Errors: RANGE where
 * it was answered, or has ended. */
HEDDLE_API int heddle_message_abandon(heddle_port *port, uint64_t message, int error);

/* Says to the sender of a message where it may write the next one itself. */
typedef struct heddle_ticket {
    uint64_t sender; /* its process; 0: it would not use one */
    uint64_t after;  /* that message, as its sender names it */
} heddle_ticket;

/* What an envelope says. Errors: ARG, FORMAT, VERSION. */
typedef struct heddle_envelope_info {
    int64_t bytes;      /* of the message */
    uint32_t number;    /* of the sender's port */
    heddle_ticket next; /* for the message that is sent after it */
} heddle_envelope_info;
HEDDLE_API int heddle_envelope_read(const void *envelope, heddle_envelope_info *info);

/* `ticket` is for `to`, the first `capacity` bytes of it. To be called for a receive that is the
 * only one posted which could match the message that its sender sends after that of the ticket,
 * once that was received; and where its sender never sends between the two what this receive could
 * match. `*given` 0: nothing has happened, for there is no use in it. Otherwise the buffer may be
 * written to until the ticket was withdrawn, or the message that this receive matched has ended; if
 * that fails because its sender is lost, its end waits for the sender for a second at most. Errors:
 * as heddle_transfer. */
HEDDLE_API int heddle_ticket_give(heddle_port *port, const heddle_ticket *ticket,
                                  const heddle_side *to, int64_t capacity, int *given);
/* For a receive that is not to match anything any more. `*claimed`: its message is on its way, and
 * the receive must stay. Errors: ARG. */
HEDDLE_API int heddle_ticket_withdraw(const heddle_ticket *ticket, int *claimed);
/* For a receive that has ended without an envelope that fits: its buffer is its owner's when this
 * returns. Where it is being written to it waits until that is over, for a sender that may be lost
 * a second at most. Errors: ARG. */
HEDDLE_API int heddle_ticket_end(const heddle_ticket *ticket);

/* The envelope's message, or the first `capacity` bytes of it, comes to `to`. `ticket`: which was
 * given for this receive; null: none; it is used up. Errors: also FORMAT, VERSION. With an error
 * nothing has begun, and the sender still waits (for heddle_message_refuse, if it is an envelope);
 * a ticket that was claimed stays so. */
HEDDLE_API int heddle_message_receive(heddle_port *port, void *peer, const void *envelope,
                                      const heddle_side *to, int64_t capacity,
                                      const heddle_ticket *ticket, heddle_message_ended ended,
                                      void *argument);
/* Counts a message of device memory that its caller packed or unpacked as a whole (`received`: 0 or
 * 1), for heddle_counter_read. */
HEDDLE_API void heddle_message_count_whole(int received, int64_t bytes);

/* The envelope's message was matched by a probe, and will be received later: its sender is told,
 * which asks for nothing else. To be called for all such messages of a key before their sender is
 * told that another one was dropped (heddle_port_dropped). Errors: ARG, FORMAT, VERSION, and the
 * transport's. */
HEDDLE_API int heddle_message_probed(heddle_port *port, void *peer, const void *envelope);
/* Nobody takes the envelope's message: at its sender it ends, with success if `error` is 0, else
 * with PEER. Errors: ARG, FORMAT, VERSION, and the transport's. */
HEDDLE_API int heddle_message_refuse(heddle_port *port, void *peer, const void *envelope,
                                     int error);

/* ---- external32 ------------------------------------------------------------------------------ */

/* MPI 4.0, section 5.2: big-endian, IEEE, sizes as EXT above. Structs of different members
 * included. Errors as heddle_pack; TRUNCATE where a packed buffer is too small. */
HEDDLE_API int heddle_external_size(int64_t count, const heddle_type *type, int64_t *size);
HEDDLE_API int heddle_pack_external(const void *inbuf, int64_t count, const heddle_type *type,
                                    void *outbuf, int64_t capacity, int64_t *actual);
HEDDLE_API int heddle_unpack_external(const void *inbuf, int64_t insize, void *outbuf,
                                      int64_t count, const heddle_type *type, int64_t *actual);
/* Unpacks the elements that the first `insize` bytes hold whole, if there are fewer than all: what
 * a file had. `*actual` is their size in memory. */
HEDDLE_API int heddle_unpack_external_part(const void *inbuf, int64_t insize, void *outbuf,
                                           int64_t count, const heddle_type *type, int64_t *actual);
/* The same from and to the packed form of `count` instances, which heddle_pack and heddle_transfer
 * make: `packed` and `external` hold all of it. */
HEDDLE_API int heddle_external_from_packed(const void *packed, int64_t count,
                                           const heddle_type *type, void *external);
HEDDLE_API int heddle_external_to_packed(const void *external, void *packed, int64_t count,
                                         const heddle_type *type);

#if defined(__cplusplus)
}
#endif

#endif
