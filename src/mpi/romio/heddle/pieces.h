/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One call's data as pieces that take turns in two blocks of staging memory: while one is written
 * or read, another one is packed or unpacked.
 */
#ifndef PIECES_H_INCLUDED
#define PIECES_H_INCLUDED

#include "../../datatype/typerep/src/typerep_staging.h"
#include "any_memory.h"

/* What of a collective call this process has taken part in (ADIO_File's `joined`). */
enum { ADIO_ANY_TURN = 1, ADIO_ANY_DATA = 2, ADIO_ANY_REFUSED = 4 };

struct pieces {
    ADIO_File fd;
    struct MPIR_Staging_buffer buffer;
    int file_ptr_type;
    ADIO_Offset offset; /* of the first one in the file, unless its own pointer says it */
    MPI_Count unit;     /* bytes that `offset` counts by */
    MPI_Count bytes;    /* packed, of all */
    MPI_Count piece;    /* of each but the last */
    MPI_Count rounds;   /* how often to call ROMIO at least, in the end without data */
    struct MPIR_Staging block[2];
};

/* ROMIO's operations on one piece (ADIOI_Fns). */
typedef void ADIOI_Read(ADIO_File fd, void *buf, int count, MPI_Datatype datatype,
                        int file_ptr_type, ADIO_Offset offset, ADIO_Status *status,
                        int *error_code);
typedef void ADIOI_Write(ADIO_File fd, const void *buf, int count, MPI_Datatype datatype,
                         int file_ptr_type, ADIO_Offset offset, ADIO_Status *status,
                         int *error_code);

/* Bytes of a buffer's data. */
MPI_Count ADIOI_Buffer_bytes(int count, MPI_Datatype datatype);

/* Pieces of at most `most` bytes, but of one unit at least. */
void ADIOI_Pieces_init(struct pieces *p, ADIO_File fd, const void *buf, int count,
                       MPI_Datatype datatype, int file_ptr_type, ADIO_Offset offset, MPI_Count unit,
                       MPI_Count most);
/* How many there are. */
MPI_Count ADIOI_Pieces_rounds(const struct pieces *p);
/* Read or write them all. Whatever fails, ROMIO is called `rounds` times. */
void ADIOI_Pieces_read(struct pieces *p, ADIOI_Read *read, MPI_Count in_file, ADIO_Status *status,
                       int *error_code);
void ADIOI_Pieces_write(struct pieces *p, ADIOI_Write *write, ADIO_Status *status, int *error_code);

/* One round of a collective call by its packed bytes from `at` on: where they are in the file. */
MPI_Count ADIOI_Pieces_length(const struct pieces *p, MPI_Count at);
ADIO_Offset ADIOI_Pieces_offset(const struct pieces *p, MPI_Count at);

/* An independent call of any buffer and any view, which locks in atomic mode. */
void ADIOI_Read_alone(ADIO_File fd, void *buf, int count, MPI_Datatype datatype, int file_ptr_type,
                      ADIO_Offset offset, ADIO_Status *status, int *error_code);
void ADIOI_Write_alone(ADIO_File fd, const void *buf, int count, MPI_Datatype datatype,
                       int file_ptr_type, ADIO_Offset offset, ADIO_Status *status, int *error_code);

/* A nonblocking collective operation without data, which nobody waits for. */
void ADIOI_Join(ADIO_File fd, int is_read);
/* ROMIO's request for an independent operation becomes one that tells by
 * the file's error handler (nonblocking.c). */
void ADIOI_Follow(ADIO_File fd, ADIO_Request *request, int error_code);

/* After a call of ROMIO's that failed, which keeps its locks. Others would wait for ever. */
void ADIOI_Unlock_failed(ADIO_File fd, int error_code);

/* How many bytes of the view's data lie before byte `position` of the file. */
ADIO_Offset ADIOI_View_bytes_before(ADIO_File fd, ADIO_Offset position);
/* How many of the bytes lie before the file's end, as it is now. ROMIO says that it has read all
 * where a view has gaps. */
MPI_Count ADIOI_Pieces_in_file(const struct pieces *p);

/* So many bytes as ROMIO counts them. */
void ADIOI_Bytes_type(MPI_Count bytes, MPI_Datatype *type, int *count);
void ADIOI_Bytes_type_free(MPI_Datatype *type);
/* What a status says. */
MPI_Count ADIOI_Status_bytes(const ADIO_Status *status);

#endif
