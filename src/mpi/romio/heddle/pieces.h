/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One call's data as pieces that take turns in two blocks of staging memory: while one is written
 * or read, another one is packed or unpacked.
 */
#ifndef PIECES_H_INCLUDED
#define PIECES_H_INCLUDED

#include "../../datatype/typerep/src/typerep_staging.h"
#include "any_memory.h"

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
/* Whether a buffer's data cannot be read by host code. */
int ADIOI_Buffer_is_staged(const void *buf, int count, MPI_Datatype datatype);

/* Pieces of at most `most` bytes, but of one unit at least. */
void ADIOI_Pieces_init(struct pieces *p, ADIO_File fd, const void *buf, int count,
                       MPI_Datatype datatype, int file_ptr_type, ADIO_Offset offset, MPI_Count unit,
                       MPI_Count most);
/* Read or write them all. Whatever fails, ROMIO is called `rounds` times. */
void ADIOI_Pieces_read(struct pieces *p, ADIOI_Read *read, MPI_Count in_file, ADIO_Status *status,
                       int *error_code);
void ADIOI_Pieces_write(struct pieces *p, ADIOI_Write *write, ADIO_Status *status, int *error_code);

/* How many of the bytes lie before the file's end, as it is now. ROMIO says that it has read all
 * where a view has gaps. */
MPI_Count ADIOI_Pieces_in_file(const struct pieces *p);

/* So many bytes as ROMIO counts them. */
void ADIOI_Bytes_type(MPI_Count bytes, MPI_Datatype *type, int *count);
void ADIOI_Bytes_type_free(MPI_Datatype *type);
/* What a status says. */
MPI_Count ADIOI_Status_bytes(const ADIO_Status *status);

#endif
