/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads and writes of one process. The nonblocking ones are over when they return, as those of
 * ROMIO are where the file or the buffer has gaps.
 */
#include "pieces.h"

#include "adio_extern.h"

/* ---- to and from one place of the file, whose offset is in bytes ----------------------------- */

/* Bytes of a piece to write: as many as of one to read, unless a hint says otherwise. ROMIO's
 * default for writes is an eighth of that, and each piece costs a launch and a wait. H100, tmpfs:
 * 0.81 of the time of a copy and a write, with ROMIO's default 0.96. */
static int write_bytes(ADIO_File fd)
{
    const int bytes = fd->hints->ind_wr_buffer_size;
    return bytes == atoi(ADIOI_IND_WR_BUFFER_SIZE_DFLT) ? atoi(ADIOI_IND_RD_BUFFER_SIZE_DFLT)
                                                        : bytes;
}

void ADIO_Any_ReadContig(ADIO_File fd, void *buf, int count, MPI_Datatype datatype,
                         int file_ptr_type, ADIO_Offset offset, ADIO_Status *status,
                         int *error_code)
{
    struct pieces p;
    if (!ADIOI_Buffer_is_staged(buf, count, datatype)) {
        ADIO_ReadContig(fd, buf, count, datatype, file_ptr_type, offset, status, error_code);
        return;
    }
    ADIOI_Pieces_init(&p, fd, buf, count, datatype, file_ptr_type, offset, 1,
                      fd->hints->ind_rd_buffer_size);
    ADIOI_Pieces_read(&p, fd->fns->ADIOI_xxx_ReadContig, p.bytes, status, error_code);
}

void ADIO_Any_WriteContig(ADIO_File fd, const void *buf, int count, MPI_Datatype datatype,
                          int file_ptr_type, ADIO_Offset offset, ADIO_Status *status,
                          int *error_code)
{
    struct pieces p;
    if (!ADIOI_Buffer_is_staged(buf, count, datatype)) {
        ADIO_WriteContig(fd, buf, count, datatype, file_ptr_type, offset, status, error_code);
        return;
    }
    ADIOI_Pieces_init(&p, fd, buf, count, datatype, file_ptr_type, offset, 1, write_bytes(fd));
    ADIOI_Pieces_write(&p, fd->fns->ADIOI_xxx_WriteContig, status, error_code);
}

/* ---- where the buffer, the file, or both have gaps; the offset is in etypes */

/* Where a call's data lies in the file, from the first byte to the last. */
struct place {
    int is_one; /* without gaps: a buffer's packed form goes there */
    ADIO_Offset offset;
    ADIO_Offset locked; /* so many bytes */
    int writes_sieved;  /* ROMIO's hint, where its own locks are in the way */
    int is_atomic;      /* ROMIO's mode, likewise */
};

/* In atomic mode ROMIO locks for its callers only what has no gaps at all, and in views with gaps
 * within each call. Ours are several, so that the lock is taken here. ROMIO must not lock within it
 * then: to unlock a part would let others in. */
static struct place place_begin(ADIO_File fd, MPI_Count bytes, int file_ptr_type,
                                ADIO_Offset offset)
{
    struct place place = {0, 0, 0, fd->hints->ds_write, fd->atomicity};
    ADIOI_Datatype_iscontig(fd->filetype, &place.is_one);
    if (place.is_one) {
        place.offset =
            file_ptr_type == ADIO_INDIVIDUAL ? fd->fp_ind : fd->disp + fd->etype_size * offset;
        place.locked = bytes;
    } else if (fd->atomicity && bytes > fd->hints->cb_buffer_size) {
        const ADIO_Offset first = file_ptr_type == ADIO_INDIVIDUAL
                                      ? ADIOI_View_bytes_before(fd, fd->fp_ind) / fd->etype_size
                                      : offset;
        MPI_Aint lb, extent;
        ADIO_Offset last;
        PMPI_Type_get_true_extent(fd->etype, &lb, &extent);
        ADIOI_Get_byte_offset(fd, first, &place.offset);
        ADIOI_Get_byte_offset(fd, first + (bytes - 1) / fd->etype_size, &last);
        place.locked = last + lb + extent - place.offset;
        fd->hints->ds_write = ADIOI_HINT_DISABLE;
        fd->atomicity = 0;
    }
    if (!place.is_atomic || !ADIO_Feature(fd, ADIO_LOCKS))
        place.locked = 0;
    if (place.locked > 0)
        ADIOI_WRITE_LOCK(fd, place.offset, SEEK_SET, place.locked);
    return place;
}

static void place_end(ADIO_File fd, const struct place *place)
{
    if (place->locked > 0)
        ADIOI_UNLOCK(fd, place->offset, SEEK_SET, place->locked);
    fd->hints->ds_write = place->writes_sieved;
    fd->atomicity = place->is_atomic;
}

void ADIOI_Unlock_failed(ADIO_File fd, int error_code)
{
    const ADIO_Offset all = (ADIO_Offset)1 << 62;
    if (error_code != MPI_SUCCESS && ADIO_Feature(fd, ADIO_LOCKS))
        ADIOI_UNLOCK(fd, 0, SEEK_SET, all);
}

/* Each call of ROMIO's looks for its place in the view, so that pieces are long. */
static void strided(struct pieces *p, ADIO_File fd, const void *buf, int count,
                    MPI_Datatype datatype, int file_ptr_type, ADIO_Offset offset)
{
    ADIOI_Pieces_init(p, fd, buf, count, datatype, file_ptr_type, offset, fd->etype_size,
                      fd->hints->cb_buffer_size);
}

void ADIO_Any_ReadStrided(ADIO_File fd, void *buf, int count, MPI_Datatype datatype,
                          int file_ptr_type, ADIO_Offset offset, ADIO_Status *status,
                          int *error_code)
{
    struct pieces p;
    if (!ADIOI_Buffer_is_staged(buf, count, datatype)) {
        ADIO_ReadStrided(fd, buf, count, datatype, file_ptr_type, offset, status, error_code);
        ADIOI_Unlock_failed(fd, *error_code);
        return;
    }
    const struct place place =
        place_begin(fd, ADIOI_Buffer_bytes(count, datatype), file_ptr_type, offset);
    if (place.is_one) {
        ADIO_Any_ReadContig(fd, buf, count, datatype, file_ptr_type, place.offset, status,
                            error_code);
    } else {
        strided(&p, fd, buf, count, datatype, file_ptr_type, offset);
        ADIOI_Pieces_read(&p, fd->fns->ADIOI_xxx_ReadStrided, ADIOI_Pieces_in_file(&p), status,
                          error_code);
        ADIOI_Unlock_failed(fd, *error_code);
    }
    place_end(fd, &place);
}

void ADIO_Any_WriteStrided(ADIO_File fd, const void *buf, int count, MPI_Datatype datatype,
                           int file_ptr_type, ADIO_Offset offset, ADIO_Status *status,
                           int *error_code)
{
    struct pieces p;
    if (!ADIOI_Buffer_is_staged(buf, count, datatype)) {
        ADIO_WriteStrided(fd, buf, count, datatype, file_ptr_type, offset, status, error_code);
        ADIOI_Unlock_failed(fd, *error_code);
        return;
    }
    const struct place place =
        place_begin(fd, ADIOI_Buffer_bytes(count, datatype), file_ptr_type, offset);
    if (place.is_one) {
        ADIO_Any_WriteContig(fd, buf, count, datatype, file_ptr_type, place.offset, status,
                             error_code);
    } else {
        strided(&p, fd, buf, count, datatype, file_ptr_type, offset);
        ADIOI_Pieces_write(&p, fd->fns->ADIOI_xxx_WriteStrided, status, error_code);
        ADIOI_Unlock_failed(fd, *error_code);
    }
    place_end(fd, &place);
}

/* ---- collective calls whose processes go their own ways */

static int has_no_gaps(ADIO_File fd, MPI_Datatype datatype)
{
    int in_file, in_memory;
    ADIOI_Datatype_iscontig(fd->filetype, &in_file);
    ADIOI_Datatype_iscontig(datatype, &in_memory);
    return in_file && in_memory;
}

void ADIOI_Read_alone(ADIO_File fd, void *buf, int count, MPI_Datatype datatype, int file_ptr_type,
                      ADIO_Offset offset, ADIO_Status *status, int *error_code)
{
    ADIOI_TEST_DEFERRED(fd, __func__, error_code);
    if (!has_no_gaps(fd, datatype)) {
        ADIO_Any_ReadStrided(fd, buf, count, datatype, file_ptr_type, offset, status, error_code);
        return;
    }
    const struct place place =
        place_begin(fd, ADIOI_Buffer_bytes(count, datatype), file_ptr_type, offset);
    ADIO_Any_ReadContig(fd, buf, count, datatype, file_ptr_type, place.offset, status, error_code);
    place_end(fd, &place);
}

void ADIOI_Write_alone(ADIO_File fd, const void *buf, int count, MPI_Datatype datatype,
                       int file_ptr_type, ADIO_Offset offset, ADIO_Status *status, int *error_code)
{
    ADIOI_TEST_DEFERRED(fd, __func__, error_code);
    if (!has_no_gaps(fd, datatype)) {
        ADIO_Any_WriteStrided(fd, buf, count, datatype, file_ptr_type, offset, status, error_code);
        return;
    }
    const struct place place =
        place_begin(fd, ADIOI_Buffer_bytes(count, datatype), file_ptr_type, offset);
    ADIO_Any_WriteContig(fd, buf, count, datatype, file_ptr_type, place.offset, status, error_code);
    place_end(fd, &place);
}

/* ---- nonblocking ----------------------------------------------------------------------------- */

/* A request that is complete, and says how much was moved. */
static void completed(ADIO_File fd, const ADIO_Status *status, ADIO_Request *request,
                      int *error_code)
{
    *request = MPI_REQUEST_NULL;
    if (*error_code == MPI_SUCCESS)
        MPIO_Completed_request_create(&fd, ADIOI_Status_bytes(status), error_code, request);
}

void ADIO_Any_IreadContig(ADIO_File fd, void *buf, int count, MPI_Datatype datatype,
                          int file_ptr_type, ADIO_Offset offset, ADIO_Request *request,
                          int *error_code)
{
    ADIO_Status status;
    if (!ADIOI_Buffer_is_staged(buf, count, datatype)) {
        ADIO_IreadContig(fd, buf, count, datatype, file_ptr_type, offset, request, error_code);
        ADIOI_Follow(fd, request, *error_code);
        return;
    }
    ADIO_Any_ReadContig(fd, buf, count, datatype, file_ptr_type, offset, &status, error_code);
    completed(fd, &status, request, error_code);
}

void ADIO_Any_IwriteContig(ADIO_File fd, const void *buf, int count, MPI_Datatype datatype,
                           int file_ptr_type, ADIO_Offset offset, ADIO_Request *request,
                           int *error_code)
{
    ADIO_Status status;
    if (!ADIOI_Buffer_is_staged(buf, count, datatype)) {
        ADIO_IwriteContig(fd, buf, count, datatype, file_ptr_type, offset, request, error_code);
        ADIOI_Follow(fd, request, *error_code);
        return;
    }
    ADIO_Any_WriteContig(fd, buf, count, datatype, file_ptr_type, offset, &status, error_code);
    completed(fd, &status, request, error_code);
}

void ADIO_Any_IreadStrided(ADIO_File fd, void *buf, int count, MPI_Datatype datatype,
                           int file_ptr_type, ADIO_Offset offset, ADIO_Request *request,
                           int *error_code)
{
    ADIO_Status status;
    if (!ADIOI_Buffer_is_staged(buf, count, datatype)) {
        ADIO_IreadStrided(fd, buf, count, datatype, file_ptr_type, offset, request, error_code);
        ADIOI_Unlock_failed(fd, *error_code);
        return;
    }
    ADIO_Any_ReadStrided(fd, buf, count, datatype, file_ptr_type, offset, &status, error_code);
    completed(fd, &status, request, error_code);
}

void ADIO_Any_IwriteStrided(ADIO_File fd, const void *buf, int count, MPI_Datatype datatype,
                            int file_ptr_type, ADIO_Offset offset, ADIO_Request *request,
                            int *error_code)
{
    ADIO_Status status;
    if (!ADIOI_Buffer_is_staged(buf, count, datatype)) {
        ADIO_IwriteStrided(fd, buf, count, datatype, file_ptr_type, offset, request, error_code);
        ADIOI_Unlock_failed(fd, *error_code);
        return;
    }
    ADIO_Any_WriteStrided(fd, buf, count, datatype, file_ptr_type, offset, &status, error_code);
    completed(fd, &status, request, error_code);
}
