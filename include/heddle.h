/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Heddle: a datatype engine. This header is the stable public C API; it needs neither MPI nor a
 * GPU. heddle_message.h adds messages between processes, and is not stable yet.
 *
 * A *type* describes where the elements of a message lie in memory, in the order in which they are
 * packed (an MPI typemap; MPI 4.0, chapter 5). Types are immutable and reference counted: a
 * constructor returns one reference to a new type and keeps nothing that belongs to the caller.
 * Committing a type makes what moves its data; every call that moves data needs a committed type.
 *
 * Units: sizes, extents, displacements named `h...`, offsets and lengths are in bytes, counts in
 * instances of the type beside them. All are int64_t; nothing is truncated at 2^31.
 *
 * Structs that may grow begin with `bytes`: a caller in C sets it to the struct's size, so that the
 * library knows the caller's version of it. A library that is newer writes the members that the
 * caller's has; one that is older writes zeros where it knows nothing. The structs of arrays
 * (heddle_side, heddle_move) do not grow.
 *
 * Errors: every function that can fail returns an `int`, HEDDLE_SUCCESS (0) or one of the codes of
 * `enum heddle_error`, and writes its outputs only on success unless its comment says otherwise.
 *
 * Threads: every function may be called from any thread at any time, except that calls on one port
 * (heddle_message.h) must come one after the other. The caller guards the memory that a call reads
 * or writes. A type must not be used after its last reference went.
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

/* The size of a struct that may grow. In C++ it is there by itself. */
#if defined(__cplusplus)
#define HEDDLE_STRUCT_BYTES(type) size_t bytes = sizeof(type)
#else
#define HEDDLE_STRUCT_BYTES(type) size_t bytes
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
    HEDDLE_FLOAT16,        /* binary16; EXT 2. Reductions if the library's compiler has _Float16 */
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
    HEDDLE_MIXED = HEDDLE_PREDEFINED_COUNT /* as an answer: several predefined types, or none */
} heddle_predefined;

/* A predefined type, committed. It lives as long as the process: retain and release do nothing to
 * it. Null where `which` names none. */
HEDDLE_API heddle_type *heddle_type_predefined(heddle_predefined which);

/* The constructors: MPI 4.0, section 5.1. What is said here holds for each of them.
 *
 * Units: `count` in blocks or members, block lengths in instances of oldtype, what begins with h in
 * bytes; each comment says the rest. Zero counts, blocks of length zero, overlapping blocks and
 * negative displacements are valid.
 *
 * Ownership: `*newtype` receives one reference, to give back with heddle_type_release. Oldtypes
 * stay the caller's; the new type keeps what it needs of them. Arrays are read during the call
 * only, and may be null where `count` is zero.
 *
 * Cost: linear in the arguments; types below are not walked again. The layout is made canonical by
 * dense folding and stream elision (Pearson et al., "TEMPI", HPDC 2021, section 3.2), and by
 * further rules for irregular data (docs/design.md). The order of the elements is kept.
 *
 * Errors: ARG (a null array or output), COUNT (a negative count or length), TYPE, FREED, OVERFLOW,
 * DEPTH, NO_MEMORY. */

/* `count` instances of oldtype, its extent apart. */
HEDDLE_API int heddle_type_contiguous(int64_t count, heddle_type *oldtype, heddle_type **newtype);
/* `count` blocks of `blocklength` instances; from one block's begin to the next, `stride` extents
 * of oldtype. */
HEDDLE_API int heddle_type_vector(int64_t count, int64_t blocklength, int64_t stride,
                                  heddle_type *oldtype, heddle_type **newtype);
/* The same; from one block's begin to the next, `hstride` bytes. */
HEDDLE_API int heddle_type_hvector(int64_t count, int64_t blocklength, int64_t hstride,
                                   heddle_type *oldtype, heddle_type **newtype);
/* Block i holds `blocklengths[i]` instances, from `displacements[i]` extents of oldtype on. */
HEDDLE_API int heddle_type_indexed(int64_t count, const int64_t *blocklengths,
                                   const int64_t *displacements, heddle_type *oldtype,
                                   heddle_type **newtype);
/* The same with arrays of int, as MPI_Type_indexed has them. */
HEDDLE_API int heddle_type_indexed_int(int64_t count, const int *blocklengths,
                                       const int *displacements, heddle_type *oldtype,
                                       heddle_type **newtype);
/* Block i holds `blocklengths[i]` instances, from `hdisplacements[i]` bytes on. */
HEDDLE_API int heddle_type_hindexed(int64_t count, const int64_t *blocklengths,
                                    const int64_t *hdisplacements, heddle_type *oldtype,
                                    heddle_type **newtype);
/* heddle_type_indexed with blocks of one length. */
HEDDLE_API int heddle_type_indexed_block(int64_t count, int64_t blocklength,
                                         const int64_t *displacements, heddle_type *oldtype,
                                         heddle_type **newtype);
/* heddle_type_hindexed with blocks of one length. */
HEDDLE_API int heddle_type_hindexed_block(int64_t count, int64_t blocklength,
                                          const int64_t *hdisplacements, heddle_type *oldtype,
                                          heddle_type **newtype);
/* Member i is `blocklengths[i]` instances of `oldtypes[i]`, from `hdisplacements[i]` bytes on.
 * Members with a zero block length count for nothing. The upper bound is padded so that the extent
 * is a multiple of the strictest member's alignment (MPI 4.0, section 5.1, equation 5.1). Where all
 * members are of one and the same type there is no padding: that is heddle_type_hindexed, whose
 * extent follows its type's, resized or not. */
HEDDLE_API int heddle_type_struct(int64_t count, const int64_t *blocklengths,
                                  const int64_t *hdisplacements, heddle_type *const *oldtypes,
                                  heddle_type **newtype);
/* The same data with these bounds, in bytes: lower bound `lb`, upper bound `lb + extent`. The
 * extent may be negative. */
HEDDLE_API int heddle_type_resized(heddle_type *oldtype, int64_t lb, int64_t extent,
                                   heddle_type **newtype);
/* Another reference to the same immutable type, committed or not as that is.
 * Errors: ARG, TYPE, FREED. */
HEDDLE_API int heddle_type_dup(heddle_type *oldtype, heddle_type **newtype);

enum heddle_order { HEDDLE_ORDER_C, HEDDLE_ORDER_FORTRAN };
/* A block of an array of `ndims` dimensions, at least 1. `sizes` (of the array), `subsizes` (of the
 * block) and `starts` (its first index) hold `ndims` numbers each, in instances of oldtype. `order`
 * (enum heddle_order) says which dimension varies fastest: the last (C) or the first (Fortran). The
 * extent is the whole array's (MPI 4.0, section 5.1.3). Errors: ARG also where the block does not
 * lie inside its array. */
HEDDLE_API int heddle_type_subarray(int ndims, const int64_t *sizes, const int64_t *subsizes,
                                    const int64_t *starts, int order, heddle_type *oldtype,
                                    heddle_type **newtype);

/* Makes the type ready to move data, in time linear in its layout. The layout is written as an
 * image (Jenkins et al., "Processing MPI Derived Datatypes on Noncontiguous GPU-Resident Data",
 * section 3.1). May be called again, and by several threads at once. Errors: TYPE, FREED, OVERFLOW,
 * DEPTH, NO_MEMORY. */
HEDDLE_API int heddle_type_commit(heddle_type *type);

/* Adds a reference. Null is ignored, as are predefined types and what was freed. */
HEDDLE_API void heddle_type_retain(heddle_type *type);
/* Gives back a reference; the last frees the type. Ignores what heddle_type_retain ignores. Types
 * made of this one are not concerned. */
HEDDLE_API void heddle_type_release(heddle_type *type);

/* What a committed type moves by. */
enum heddle_plan_kind {
    HEDDLE_PLAN_NONE,       /* not committed */
    HEDDLE_PLAN_CONTIGUOUS, /* one block (or nothing) */
    HEDDLE_PLAN_STRIDED,    /* a block repeated at strides, in any number of dimensions */
    HEDDLE_PLAN_GENERAL     /* anything else */
};

typedef struct heddle_type_info {
    HEDDLE_STRUCT_BYTES(heddle_type_info);
    int64_t size;                 /* bytes of data in one instance */
    int64_t lb, extent;           /* MPI_Type_get_extent */
    int64_t true_lb, true_extent; /* MPI_Type_get_true_extent; both 0 where size is 0 */
    int64_t alignment;            /* bytes; at least 1 */
    int64_t elements; /* predefined non-pair elements in one instance (a pair counts as two) */
    int64_t runs;   /* contiguous runs of memory in one instance, as heddle_iov lists them; 0 where
                       not committed */
    int64_t displ;  /* where the first packed byte lies, from the buffer's address */
    int64_t memory; /* bytes that this type holds, its plan included; not what it shares with types
                     * that were there before it */
    heddle_predefined basic; /* the one predefined type that it consists of, or HEDDLE_MIXED */
    int contiguous;          /* any number of instances form one run, of count * size bytes */
    int committed;
    int plan;       /* enum heddle_plan_kind */
    int dimensions; /* of a strided plan: number of strides; else 0 */
    int word;       /* widest power of two, at most 16, that divides every length and
                     * displacement of the layout; 0 where size is 0 */
} heddle_type_info;

/* Writes what is known about `type` to `*info`, whose `bytes` the caller has set. Errors: ARG,
 * TYPE, FREED. */
HEDDLE_API int heddle_type_get_info(const heddle_type *type, heddle_type_info *info);

/* Writes the canonical layout of the type's bytes as text, as snprintf writes: at most `capacity`
 * bytes at `text` with the final zero. `*length` receives the whole length without the zero. `text`
 * may be null where `capacity` is 0. Equal texts mean equal sequences of bytes. Equal sequences of
 * bytes have equal texts where they are strided (dense blocks at constant strides, in any number of
 * dimensions); irregular data may have several layouts. The form: `DISPL+NODE`, where NODE is one
 * of `dense(BYTES)`, `stream(COUNT,STRIDE,NODE)`, `gather([DISPL...],NODE)`,
 * `runs([DISPL:COUNT...],STRIDE,NODE)`, `concat(DISPL+NODE,...)`. Errors: ARG, TYPE, FREED,
 * NO_MEMORY; OVERFLOW where the text is longer than 64 MiB. */
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
 * the destination's packed form. It needs no packed buffer of that size in between. `*actual`: the
 * bytes copied, less than `length` where either side ends sooner. Errors as heddle_pack. */
HEDDLE_API int heddle_copy(const void *inbuf, int64_t incount, const heddle_type *intype,
                           void *outbuf, int64_t outcount, const heddle_type *outtype,
                           int64_t offset, int64_t length, int64_t *actual);

/* Where byte `offset` of the packed form of `count` instances lies: `*displ` bytes from the
 * buffer's address, with `*run` bytes (itself included) contiguous from there on, as heddle_iov
 * sees them. The point-based traversal of Jenkins et al. (there, section 3.2.1): time linear in the
 * depth of the layout, logarithmic in the blocks of each irregular node. Errors as heddle_pack;
 * RANGE also at the very end. */
HEDDLE_API int heddle_locate(int64_t count, const heddle_type *type, int64_t offset, int64_t *displ,
                             int64_t *run);

/* How many contiguous runs of memory the first `max_bytes` bytes of the packed form of `count`
 * instances take: `*len`. `*bytes` receives how many bytes those are; `bytes` may be null. Errors:
 * ARG, COUNT, TYPE, FREED, NOT_COMMITTED, OVERFLOW. */
HEDDLE_API int heddle_iov_len(int64_t count, const heddle_type *type, int64_t max_bytes,
                              int64_t *len, int64_t *bytes);

/* Writes runs [first, first + max_len) of `count` instances at `buf` to `iov`, or what there is of
 * them. `*actual_len` receives how many. `iov` has room for `max_len`. Errors as heddle_iov_len;
 * RANGE where `first` is negative or beyond the last run. */
HEDDLE_API int heddle_iov(const void *buf, int64_t count, const heddle_type *type, int64_t first,
                          struct iovec *iov, int64_t max_len, int64_t *actual_len);

/* Writes the runs from byte `offset` of the packed form on to `iov`: at most `max_len` runs, of at
 * most `max_bytes` bytes in all. The first and the last run are cut to fit. `*actual_len` receives
 * how many runs, `*actual_bytes` how many bytes. Errors as heddle_pack. */
HEDDLE_API int heddle_iov_bytes(const void *buf, int64_t count, const heddle_type *type,
                                int64_t offset, struct iovec *iov, int64_t max_len,
                                int64_t max_bytes, int64_t *actual_len, int64_t *actual_bytes);

/* How many predefined elements lie whole in the first `bytes` packed bytes of any number of
 * instances. A pair counts as two. `*used` receives the bytes that these take: fewer than `bytes`
 * where an element is cut, or the type has no data. `used` may be null. Errors: ARG, TYPE, FREED,
 * NOT_COMMITTED. */
HEDDLE_API int heddle_count_elements(const heddle_type *type, int64_t bytes, int64_t *elements,
                                     int64_t *used);
/* The inverse: the packed bytes that the first `elements` elements take. Errors: also RANGE (the
 * type has no data), OVERFLOW. */
HEDDLE_API int heddle_bytes_of_elements(const heddle_type *type, int64_t elements, int64_t *bytes);

/* ---- types as bytes -------------------------------------------------------------------------- */

/* A type as bytes for another process of the same architecture. The form has a version and is
 * checked whole when read: any bytes at all are safe to unflatten. */

/* `*size` receives how many bytes heddle_flatten writes. Errors: ARG, TYPE, FREED, NO_MEMORY. */
HEDDLE_API int heddle_flatten_size(const heddle_type *type, size_t *size);
/* Writes the committed `type` to `bytes`, which has room for `capacity` bytes. Errors: ARG, TYPE,
 * FREED, NOT_COMMITTED, NO_MEMORY; TRUNCATE where `capacity` is below heddle_flatten_size. */
HEDDLE_API int heddle_flatten(const heddle_type *type, void *bytes, size_t capacity);
/* Reads `size` bytes, at any address. `*newtype` receives one reference to a committed type.
 * Errors: ARG, FORMAT, VERSION, NO_MEMORY. */
HEDDLE_API int heddle_unflatten(const void *bytes, size_t size, heddle_type **newtype);

/* ---- reductions ------------------------------------------------------------------------------ */

/* MPI's predefined operators (MPI 4.0, sections 6.9.2 and 12.3.4). */
typedef enum heddle_op HEDDLE_ENUM_BASE {
    HEDDLE_OP_REPLACE, /* the source */
    HEDDLE_OP_NO_OP,   /* the target as it is */
    HEDDLE_OP_SUM,     /* integers wrap around; so do products */
    HEDDLE_OP_PROD,
    HEDDLE_OP_MAX,
    HEDDLE_OP_MIN,
    HEDDLE_OP_LAND,
    HEDDLE_OP_LOR,
    HEDDLE_OP_LXOR,
    HEDDLE_OP_BAND,
    HEDDLE_OP_BOR,
    HEDDLE_OP_BXOR,
    HEDDLE_OP_MAXLOC, /* of equal values, the lower index (MPI 4.0, section 6.9.4) */
    HEDDLE_OP_MINLOC,
    HEDDLE_OP_COUNT
} heddle_op;

/* 1 where MPI allows `op` on elements of `basic` (MPI 4.0, section 6.9.2), else 0. What only moves
 * (REPLACE, NO_OP) may be of HEDDLE_MIXED. */
HEDDLE_API int heddle_op_is_defined(heddle_op op, heddle_predefined basic);

/* target = target op source, element by element in packed order. The target is `outcount` instances
 * of `outtype` at `outbuf`; the source may hold fewer elements. `intype` null: the source is packed
 * and holds `incount` elements of outtype's predefined type. Both must consist of one and the same
 * predefined type (REPLACE and NO_OP: of any, of equal size in bytes). Errors: as heddle_pack; OP;
 * TRUNCATE where the source holds more than the target. */
HEDDLE_API int heddle_accumulate(const void *inbuf, int64_t incount, const heddle_type *intype,
                                 void *outbuf, int64_t outcount, const heddle_type *outtype,
                                 heddle_op op);

/* ---- devices --------------------------------------------------------------------------------- */

/* The calls above take host memory only. Those of this section take any: device, managed, pinned
 * and pageable host memory, on either side.
 *
 * The first of these calls opens a device plug-in, as heddle_device_open does. The environment
 * variable HEDDLE_DEVICE says which one: "auto" (the default: the CUDA plug-in, if it was built and
 * a driver answers), "none", or the path of a plug-in. Opening creates no context on any device.
 * The first transfer that needs staging memory allocates it. */

/* Sets `name`, one of Heddle's environment variables (README.gpu), to `value`, whatever the
 * environment says. Both texts are copied. Errors: ARG (no such variable, or null), NO_MEMORY,
 * RANGE (the settings were read already: call this before any other function that concerns
 * devices). */
HEDDLE_API int heddle_set(const char *name, const char *value);

enum heddle_origin { HEDDLE_ORIGIN_DEFAULT, HEDDLE_ORIGIN_PROGRAM, HEDDLE_ORIGIN_ENVIRONMENT };
/* One of Heddle's settings: an environment variable, or a control variable of MPICH. Texts live as
 * long as the process. */
typedef struct heddle_setting {
    HEDDLE_STRUCT_BYTES(heddle_setting);
    const char *name;
    const char *values;   /* what it can be */
    const char *fallback; /* the default; in parentheses where that is no value */
    const char *meaning;  /* what it does */
    const char *advice;   /* when to change it */
    const char *value;    /* in force here; empty where there is none, and for MPICH's */
    int origin;           /* an enum heddle_origin: who said so */
} heddle_setting;

/* Describes setting number `index`, from 0 on. heddle_set may follow. Errors: ARG, NO_MEMORY, RANGE
 * (there are fewer). */
HEDDLE_API int heddle_setting_read(int64_t index, heddle_setting *setting);

/* Called, once per process for each cause, with what is wrong with the settings, or with why a
 * plug-in that HEDDLE_DEVICE names does not open. `text` is one line without its end, and lives
 * during the call. The function must not call Heddle; any thread may call it. */
typedef void (*heddle_warning)(const char *text);
/* Sets what is called with warnings, for the whole process. Null, the default: warnings are printed
 * on the standard error output. Call it before any other function that concerns devices. */
HEDDLE_API void heddle_on_warning(heddle_warning warning);

/* Opens the plug-in, once per process. Errors: NO_DEVICE, which is no reason to stop:
 * host memory works. */
HEDDLE_API int heddle_device_open(void);

/* What the plug-in that is open calls itself: "cuda", or "sim" (a simulated device, for tests).
 * Empty where none is. Opens it. Static storage; never null. */
HEDDLE_API const char *heddle_device_plugin(void);

/* Writes lines of text: what is open, or why nothing is; the settings; the devices; counters of
 * what was done so far. At most `capacity` bytes go to `text`, with the final zero; `*length`
 * receives the whole length without the zero. `text` may be null where `capacity` is 0. Opens the
 * plug-in. Errors: ARG, NO_MEMORY. */
HEDDLE_API int heddle_info(char *text, size_t capacity, size_t *length);

/* One of the numbers that heddle_info tells: of what was done since the process began, or of what
 * is held now. */
typedef struct heddle_counter {
    HEDDLE_STRUCT_BYTES(heddle_counter);
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
/* Whether `ptr` points into the program, its heap (brk) or its first thread's stack: 1 or 0. No
 * driver maps memory there, so it is the host's, pinned or not. Asks nobody, opens no plug-in. */
HEDDLE_API int heddle_memory_is_program(const void *ptr);

/* 1 where kernels combine elements of `basic` by `op`. 0 where no device is open or `basic` does
 * not have that operator. Also 0 where the host combines for the device: floating point of more
 * than 64 bits. And 0 for REPLACE and NO_OP, which combine nothing. */
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

/* Moves `bytes` packed bytes: to = from, or to = to op from. Both sides must have so many from
 * their offsets on. With an operator both sides must consist of one and the same predefined type,
 * or the source of HEDDLE_BYTE, which are packed elements. `bytes` and the offsets must not cut an
 * element then. Pack: `to` is dense; unpack: `from` is; neither need be. The source is not written
 * to. Source and target must not overlap; a target with overlapping blocks receives any of the
 * values meant for a byte. */
typedef struct heddle_move {
    heddle_side from;
    heddle_side to;
    int64_t bytes;
    heddle_op op; /* HEDDLE_OP_REPLACE (0): plain */
} heddle_move;

typedef struct heddle_request heddle_request;

/* Carries out `n` moves, in any order and some at once, and returns when they are done. What one
 * move writes no other may read, write or combine with. Sums that meet in one target, as faces do
 * in an edge, need a call each.
 *
 * Short moves among device and pinned memory of one device share kernels. There is one for strided
 * moves in up to three dimensions, of up to 8 MiB each. One is for other moves with a contiguous
 * side, of up to 512 KiB each, and one for the rest. A move that combines is a kernel of its own.
 *
 * Errors: ARG, COUNT, TYPE, FREED, NOT_COMMITTED, RANGE (offset or bytes beyond a side's data),
 * OVERFLOW, OP, BUFFER, NO_MEMORY, DEVICE. Nothing is written where one of the moves is wrong.
 * After DEVICE or NO_MEMORY the targets' content is undefined. */
HEDDLE_API int heddle_transfer(const heddle_move *moves, int64_t n);

/* Begins `n` moves and returns. The first use of an irregular type on a device waits for its
 * description (heddle_type_device_memory), which passes all that was begun before. The caller gives
 * `*request` to heddle_test until that says done, or to heddle_wait. Until then the buffers must
 * stay; the types may be released at once. Where all is done already, `*request` is null, which
 * both take. Stages that go through the host move on in these calls. Errors: as heddle_transfer,
 * and ARG where `request` is null; nothing runs any more then, and `*request` is not written. */
HEDDLE_API int heddle_transfer_begin(const heddle_move *moves, int64_t n, heddle_request **request);
/* Moves the request on, and waits for nothing. `*done` receives 1, and `*request` null, where it
 * has ended, successfully or with the error returned; otherwise 0. Errors: ARG (a null pointer),
 * FREED (a copy of a request that has ended), and those of the transfer: OVERFLOW, BUFFER,
 * NO_MEMORY, DEVICE. */
HEDDLE_API int heddle_test(heddle_request **request, int *done);
/* Returns when the request has ended. The buffers are the caller's again and `*request` is null,
 * with an error, too. Errors: as heddle_test. */
HEDDLE_API int heddle_wait(heddle_request **request);

/* Puts `n` moves on a stream of the caller's: a cudaStream_t, of the device whose memory is moved.
 * They are ordered with what is there. The call does not synchronize, but the first use of an
 * irregular type waits for its description as above. The types may be released at once; the buffers
 * must stay until the stream has passed the moves. The stream must not be under capture. Errors: as
 * heddle_transfer, NO_DEVICE and STREAM. BUFFER also for pageable memory, which a stream cannot
 * reach. OP also for operators that no device has, those on more than 64 bits of floating point.
 * NO_MEMORY also for an operator on a type whose description finds no room that the device
 * reaches. */
HEDDLE_API int heddle_transfer_on_stream(const heddle_move *moves, int64_t n, void *stream);

/* Bytes that the description of a committed type takes on each device that moves it. Contiguous and
 * strided types need none, others mostly 24 for each of up to four million runs. What repeats one
 * type evenly takes what that type takes. Several instances of it take a description of their own
 * if the space between them differs from that within. A struct of up to eight contiguous or strided
 * members and many runs takes what its members take; where a transfer meets more than 64 of these,
 * it is as other types. The type's first use there makes the
 * description, in memory of the device or, where that has run out, in pinned memory. It ends with
 * the type. A description of up to 1 MiB counts towards HEDDLE_SLAB_LIMIT while there is room;
 * others do not. Where there is no memory for the runs, the rest of it, mostly a few hundred bytes,
 * serves alone, more slowly. Errors: ARG, TYPE, FREED, NOT_COMMITTED, OVERFLOW, NO_MEMORY. */
HEDDLE_API int heddle_type_device_memory(const heddle_type *type, int64_t *bytes);

/* ---- the performance model ---------------------------------------------------------------------
 *
 * heddle_transfer takes the method that a model expects to be the soonest. The model's tables were
 * measured: HEDDLE_TUNING names some of this machine's, which heddle-tune writes. heddle_info says
 * which are used. Source: papers 002 and 004 (docs/design.md, section 10). */

/* Forces the method of the calling thread's transfers from now on, where it can do what is asked.
 * For measurements: HEDDLE_METHOD does so for the whole process. `method` is one of its words; null
 * ends it. Errors: ARG (no such method). */
HEDDLE_API int heddle_force_method(const char *method);

/* How long a blocking transfer should take by a method, one of HEDDLE_METHOD's words: `*seconds`.
 * Opens the plug-in, as a transfer does. Moves nothing, but a type's description may be uploaded.
 * Errors: as heddle_transfer; ARG (no such method), NO_DEVICE, RANGE (the method cannot do it, or
 * the tables say nothing of it). */
HEDDLE_API int heddle_expect(const heddle_move *move, const char *method, double *seconds);

/* ---- staging memory -------------------------------------------------------------------------- */

/* Host memory for what is on its way to or from a device: `bytes` bytes, 64-byte aligned. `near`,
 * which may be null, points into what it will be moved from or to. The memory is pinned, out of a
 * pool (HEDDLE_SLAB_LIMIT), where `near` is a device's, or null and a device is in use already.
 * Otherwise, and where the pool is empty, it is ordinary memory. `*ptr` is the caller's, to give
 * back with heddle_staging_free. Errors: ARG, NO_MEMORY. */
HEDDLE_API int heddle_staging_alloc(int64_t bytes, const void *near, void **ptr);
/* Gives it back; null is ignored. Nothing may still move there. */
HEDDLE_API void heddle_staging_free(void *ptr);

/* Memory for what is computed beside the buffer that `near` points into (may be null): `bytes`
 * bytes, 64-byte aligned, uninitialized. Where `near` is device or managed memory, this is memory
 * of that device. It comes from the pool of HEDDLE_SLAB_LIMIT, or is allocated once beyond the
 * limit. Otherwise, and where the device has none left, it is ordinary host memory: everything
 * works, but slower. `*ptr` is the caller's, to give back with heddle_scratch_free. Errors: ARG,
 * NO_MEMORY. */
HEDDLE_API int heddle_scratch_alloc(int64_t bytes, const void *near, void **ptr);
/* Gives it back; null is ignored. Nothing may still use it. */
HEDDLE_API void heddle_scratch_free(void *ptr);

/* ---- external32 ------------------------------------------------------------------------------ */

/* Data in the representation of MPI 4.0, section 14.5.2: big-endian, IEEE, sizes as EXT above.
 * Types may mix predefined types. What is said here holds for each function of this section.
 *
 * `count` instances of a committed `type` lie at `inbuf` or `outbuf`, which may be null for types
 * of absolute addresses. Or their packed form lies at `packed`, as heddle_pack and heddle_transfer
 * make it. All buffers are the caller's, in host memory, and must not overlap. All sizes are in
 * bytes.
 *
 * Errors: ARG (a null pointer, a negative size), COUNT, TYPE, FREED, NOT_COMMITTED, OVERFLOW,
 * NO_MEMORY. TRUNCATE where a comment says so. */

/* `*size` receives how many bytes `count` instances take in external32. */
HEDDLE_API int heddle_external_size(int64_t count, const heddle_type *type, int64_t *size);
/* Writes `count` instances at `inbuf` to `outbuf`, in external32. `outbuf` has room for `capacity`
 * bytes. `*actual` receives how many were written. Errors: also TRUNCATE where `capacity` is below
 * heddle_external_size; nothing is written then. */
HEDDLE_API int heddle_pack_external(const void *inbuf, int64_t count, const heddle_type *type,
                                    void *outbuf, int64_t capacity, int64_t *actual);
/* The inverse: `insize` bytes in external32 at `inbuf` go to `count` instances at `outbuf`.
 * `*actual` receives how many were read: heddle_external_size. Errors: also TRUNCATE where `insize`
 * is below that; nothing is written then. */
HEDDLE_API int heddle_unpack_external(const void *inbuf, int64_t insize, void *outbuf,
                                      int64_t count, const heddle_type *type, int64_t *actual);
/* As heddle_unpack_external, for data that may end early, such as a file's. It unpacks the elements
 * that the first `insize` bytes hold whole. `*actual` receives their size in memory, not in
 * external32. Fewer elements than `count` instances have are no error. */
HEDDLE_API int heddle_unpack_external_part(const void *inbuf, int64_t insize, void *outbuf,
                                           int64_t count, const heddle_type *type, int64_t *actual);
/* Converts the packed form of `count` instances at `packed`, all of it, to external32. `external`
 * has room for heddle_external_size bytes. */
HEDDLE_API int heddle_external_from_packed(const void *packed, int64_t count,
                                           const heddle_type *type, void *external);
/* The inverse: `external` holds heddle_external_size bytes, and `packed` has room for the packed
 * form of `count` instances. */
HEDDLE_API int heddle_external_to_packed(const void *external, void *packed, int64_t count,
                                         const heddle_type *type);

#if defined(__cplusplus)
}
#endif

#endif
