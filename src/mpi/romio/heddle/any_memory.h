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

/* Whether any process of `comm` has a device: collective calls agree on how many rounds they take
 * then. */
int ADIO_Any_device(MPI_Comm comm);

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

/* ---- large counts (large_count.c)
 * --------------------------------------------------------------------- */

/* So many instances as one type, which the next such call of this thread frees. */
MPI_Datatype ADIO_Any_large(MPI_Count count, MPI_Datatype datatype);
#define ADIO_ANY_COUNT(count, datatype)                                                            \
    do {                                                                                           \
        if ((count) > INT_MAX) {                                                                   \
            (datatype) = ADIO_Any_large(count, datatype);                                          \
            (count) = 1;                                                                           \
        }                                                                                          \
    } while (0)

/* ---- errors of nonblocking operations (nonblocking_errors.c)
 * ----------------------------------------- */

/* How an operation of POSIX's asynchronous I/O ended, of which aio_error said `error`: bytes, or
 * -errno. */
MPI_Offset ADIO_Any_aio_end(void *aiocb, int error);
/* The same as MPI's error. */
int ADIO_Any_aio_error(MPI_Offset moved);
/* The first error of a collective operation stays with it, and is the result. */
int ADIO_Any_note(ADIOI_NBC_Request *request, int error);

#endif
