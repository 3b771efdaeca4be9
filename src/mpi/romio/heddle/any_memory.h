/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ROMIO's reads and writes (ADIO_ReadContig and so on, adioi.h) for buffers in memory of any kind:
 * the MPI_File_ functions call these. A buffer that host code cannot read goes through staging
 * memory, in packed form.
 */
#ifndef ANY_MEMORY_H_INCLUDED
#define ANY_MEMORY_H_INCLUDED

#include "adio.h"

#include <limits.h>

/* Whether any process of `comm` has a device:
 * collective calls agree on how many rounds they take then. */
int ADIO_Any_device(MPI_Comm comm);

/* ---- collective calls with an error on one process (collective.c)
 *
 * Whoever has an error takes part without data, so that the others end. */

/* Before a blocking call looks at its arguments: nonblocking ones before it end first. A
 * nonblocking one only sets `joined` to 0. */
void ADIO_Any_begin(ADIO_File fd);
/* The call is an error on all processes: a second split call. */
void ADIO_Any_refuse(ADIO_File fd);
/* The place of `incr` etypes by the shared file pointer, in the order of ranks. */
void ADIO_Any_turn(ADIO_File fd, ADIO_Offset incr, ADIO_Offset *place, int *error_code);
/* At a call's end: what it has left out because of an error. */
enum { ADIO_ANY_READS = 1, ADIO_ANY_ORDERED = 2, ADIO_ANY_SPLIT = 4, ADIO_ANY_NONBLOCKING = 8 };
void ADIO_Any_end(ADIO_File fd, int error_code, int kind);

/* Two-phase I/O goes on after an error, without writing. `keep` remembers it and clears it. */
void ADIO_Any_keep(ADIO_File fd, int *error_code);
/* In the end: `error_code`, or else what was kept. */
int ADIO_Any_kept(ADIO_File fd, int error_code);
/* The same, and then the worst of all processes' errors for those that have none. */
int ADIO_Any_agree(ADIO_File fd, int error_code);

/* Whether a buffer's data cannot be read by host code. */
int ADIOI_Buffer_is_staged(const void *buf, int count, MPI_Datatype datatype);

/* In the place of those of ROMIO, with the same arguments. */
void ADIO_Any_ReadContig(ADIO_File fd, void *buf, int count, MPI_Datatype datatype,
                         int file_ptr_type, ADIO_Offset offset, ADIO_Status *status,
                         int *error_code);
void ADIO_Any_WriteContig(ADIO_File fd, const void *buf, int count, MPI_Datatype datatype,
                          int file_ptr_type, ADIO_Offset offset, ADIO_Status *status,
                          int *error_code);
void ADIO_Any_ReadStrided(ADIO_File fd, void *buf, int count, MPI_Datatype datatype,
                          int file_ptr_type, ADIO_Offset offset, ADIO_Status *status,
                          int *error_code);
void ADIO_Any_WriteStrided(ADIO_File fd, const void *buf, int count, MPI_Datatype datatype,
                           int file_ptr_type, ADIO_Offset offset, ADIO_Status *status,
                           int *error_code);
void ADIO_Any_ReadStridedColl(ADIO_File fd, void *buf, int count, MPI_Datatype datatype,
                              int file_ptr_type, ADIO_Offset offset, ADIO_Status *status,
                              int *error_code);
void ADIO_Any_WriteStridedColl(ADIO_File fd, const void *buf, int count, MPI_Datatype datatype,
                               int file_ptr_type, ADIO_Offset offset, ADIO_Status *status,
                               int *error_code);
void ADIO_Any_IreadContig(ADIO_File fd, void *buf, int count, MPI_Datatype datatype,
                          int file_ptr_type, ADIO_Offset offset, ADIO_Request *request,
                          int *error_code);
void ADIO_Any_IwriteContig(ADIO_File fd, const void *buf, int count, MPI_Datatype datatype,
                           int file_ptr_type, ADIO_Offset offset, ADIO_Request *request,
                           int *error_code);
void ADIO_Any_IreadStrided(ADIO_File fd, void *buf, int count, MPI_Datatype datatype,
                           int file_ptr_type, ADIO_Offset offset, ADIO_Request *request,
                           int *error_code);
void ADIO_Any_IwriteStrided(ADIO_File fd, const void *buf, int count, MPI_Datatype datatype,
                            int file_ptr_type, ADIO_Offset offset, ADIO_Request *request,
                            int *error_code);
void ADIO_Any_IreadStridedColl(ADIO_File fd, void *buf, int count, MPI_Datatype datatype,
                               int file_ptr_type, ADIO_Offset offset, ADIO_Request *request,
                               int *error_code);
void ADIO_Any_IwriteStridedColl(ADIO_File fd, const void *buf, int count, MPI_Datatype datatype,
                                int file_ptr_type, ADIO_Offset offset, ADIO_Request *request,
                                int *error_code);

/* All nonblocking collective operations of the file end (nonblocking.c). */
void ADIO_Any_drain(ADIO_File fd);
/* At the end of the program. */
void ADIO_Any_finalize(void);

/* ---- large counts (large_count.c) */

/* So many instances as one type, which the next such call of this thread frees. */
MPI_Datatype ADIO_Any_large(MPI_Count count, MPI_Datatype datatype);
#define ADIO_ANY_COUNT(count, datatype)                                                            \
    do {                                                                                           \
        if ((count) < 0)                                                                           \
            (count) = -1;                                                                          \
        if ((count) > INT_MAX) {                                                                   \
            (datatype) = ADIO_Any_large(count, datatype);                                          \
            (count) = 1;                                                                           \
        }                                                                                          \
    } while (0)

/* ---- errors of nonblocking operations (nonblocking_errors.c) */

/* What the one who waits for an operation is told: the file's error handler has been called. */
int ADIO_Any_tell(ADIO_File fd, int error);

/* How an operation of POSIX's asynchronous I/O ended, of which aio_error said `error`:
 * bytes, or -errno. */
MPI_Offset ADIO_Any_aio_end(void *aiocb, int error);
/* Its result as MPI's error. */
int ADIO_Any_aio_error(MPI_Offset moved);
/* The first error of a collective operation stays with it, and is the result. */
int ADIO_Any_note(ADIOI_NBC_Request *request, int error);

#endif
