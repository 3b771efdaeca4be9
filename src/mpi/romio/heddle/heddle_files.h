/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What ROMIO's files, and ours beside them, need of each other.
 */
#ifndef HEDDLE_FILES_H_INCLUDED
#define HEDDLE_FILES_H_INCLUDED

/* Before mpi.h: ROMIO defines some of its names as well. */
#include "adio.h"

#include "../../datatype/typerep/src/typerep_files.h"

/* A buffer in external32 and what a data call is given for it: bytes. */
struct MPIO_External32 {
    MPI_File file;
    void *user; /* the caller's buffer */
    int user_count;
    MPI_Datatype user_type; /* held */
    int reads;

    void *bytes;
    int count;
    MPI_Datatype type; /* MPI_BYTE, or a type of many of them */
    MPI_Status status; /* of the call on bytes */
    MPI_Request request;

    MPI_Request generalized; /* what the caller of a nonblocking call waits for */
    MPI_Count moved;         /* bytes in memory */
    int error;
};

/* What each data call asks first. Where the type or the view has no data nothing moves: *count
 * becomes 0. A null buffer of data, and a type of too many blocks are errors. */
int MPIO_Data_call(MPI_File file, const void *buf, MPI_Datatype datatype, int *count);

int MPIO_External32_begin(MPI_File file, const void *buf, int count, MPI_Datatype datatype,
                          int reads, struct MPIO_External32 **conversion);
/* After the call on bytes, which returned `error`. `status`: the caller's. */
int MPIO_External32_end(struct MPIO_External32 *conversion, int error, MPI_Status *status);
/* Called after a split call, whose status the file keeps. */
int MPIO_External32_split(struct MPIO_External32 *conversion, int error, MPI_Status *status);
/* Called after a nonblocking call. */
int MPIO_External32_iend(struct MPIO_External32 *conversion, int error, MPI_Request *request);

/* MPI_File_set_view, once it has looked at its arguments. */
void MPIO_Set_view(MPI_File file, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                   const char *datarep, MPI_Info info, int *error_code);
/* What the program gave in the place of a type that a file keeps. */
MPI_Datatype MPIO_Native_type(MPI_Datatype kept);
/* How a type was made, by a large-count constructor too:
 * MPI_Type_get_envelope is an error for those. */
int MPIO_Combiner(MPI_Datatype type);
/* Frees what a program, or this code, made. */
void MPIO_Drop_type(MPI_Datatype *type);
/* The extent of a type in the file. */
int MPIO_Type_get_extent(MPI_File file, MPI_Datatype type, MPI_Aint *lb, MPI_Aint *extent);
/* At the end of the program. */
void MPIO_View_end(void);

/* The etype and the file type of a view in external32, as they lie in the file: of elements that
 * have other sizes there. */
int MPIO_External32_type(MPI_Datatype native, MPI_Datatype *external);

/* What a data call does once it has looked at its arguments: `call` is the same call, on the bytes
 * of `x`. The call is made without ROMIO's lock, which it takes itself. */
#define MPIO_DATA_CALL(reads, call, end, result)                                                   \
    do {                                                                                           \
        error_code = MPIO_Data_call(adio_fh, buf, datatype, &count);                               \
        if (error_code != MPI_SUCCESS)                                                             \
            goto fn_exit;                                                                          \
        if (adio_fh->is_external32 && !MPIR_Typerep_is_bytes(datatype)) {                          \
            struct MPIO_External32 *x;                                                             \
            ROMIO_THREAD_CS_EXIT();                                                                \
            error_code = MPIO_External32_begin(fh, buf, count, datatype, reads, &x);               \
            if (error_code == MPI_SUCCESS)                                                         \
                error_code = end(x, call, result);                                                 \
            ROMIO_THREAD_CS_ENTER();                                                               \
            goto fn_exit;                                                                          \
        }                                                                                          \
    } while (0)

#define MPIO_WRITES(call, status) MPIO_DATA_CALL(0, call, MPIO_External32_end, status)
#define MPIO_READS(call, status) MPIO_DATA_CALL(1, call, MPIO_External32_end, status)
#define MPIO_WRITES_BEGIN(call)                                                                    \
    MPIO_DATA_CALL(0, call, MPIO_External32_split, &adio_fh->split_status)
#define MPIO_READS_BEGIN(call)                                                                     \
    MPIO_DATA_CALL(1, call, MPIO_External32_split, &adio_fh->split_status)
#define MPIO_IWRITES(call) MPIO_DATA_CALL(0, call, MPIO_External32_iend, request)
#define MPIO_IREADS(call) MPIO_DATA_CALL(1, call, MPIO_External32_iend, request)

#endif
