/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One call's data as pieces: where each lies in the buffer, in staging memory and in the file, and
 * how they take turns.
 */
#include "pieces.h"

#include "adio_extern.h"

#include <limits.h>

MPI_Count ADIOI_Buffer_bytes(int count, MPI_Datatype datatype)
{
    MPI_Count size;
    PMPI_Type_size_x(datatype, &size);
    return count * size;
}

int ADIOI_Buffer_is_staged(const void *buf, int count, MPI_Datatype datatype)
{
    return MPIR_Staging_is_open() && ADIOI_Buffer_bytes(count, datatype) > 0 &&
           MPIR_Staging_is_needed(buf, datatype);
}

void ADIOI_Pieces_init(struct pieces *p, ADIO_File fd, const void *buf, int count,
                       MPI_Datatype datatype, int file_ptr_type, ADIO_Offset offset, MPI_Count unit,
                       MPI_Count most)
{
    memset(p, 0, sizeof *p);
    p->fd = fd;
    p->buffer.buf = (void *)buf;
    p->buffer.count = count;
    p->buffer.datatype = datatype;
    p->file_ptr_type = file_ptr_type;
    p->offset = offset;
    p->unit = unit;
    p->bytes = ADIOI_Buffer_bytes(count, datatype);
    p->piece = MPL_MAX(most / unit, 1) * unit;
}

MPI_Count ADIOI_Pieces_rounds(const struct pieces *p)
{
    return (p->bytes + p->piece - 1) / p->piece;
}

/* ---- one piece, which begins at packed byte `at` --------------------------------------------- */

MPI_Count ADIOI_Pieces_length(const struct pieces *p, MPI_Count at)
{
    return at < p->bytes ? MPL_MIN(p->piece, p->bytes - at) : 0;
}

ADIO_Offset ADIOI_Pieces_offset(const struct pieces *p, MPI_Count at)
{
    return p->offset + MPL_MIN(at, p->bytes) / p->unit;
}

static struct MPIR_Staging *block_of(struct pieces *p, MPI_Count at)
{
    return &p->block[at / p->piece % 2];
}

static int pack(struct pieces *p, MPI_Count at)
{
    const MPI_Count length = ADIOI_Pieces_length(p, at);
    return length > 0 ? MPIR_Staging_pack(block_of(p, at), &p->buffer, at, length) : MPI_SUCCESS;
}

/* Between its block and the file; behind the end: a call without data. `*bytes` were moved. */
static int move(struct pieces *p, MPI_Count at, ADIOI_Read *read, ADIOI_Write *write,
                MPI_Count *bytes)
{
    void *const memory = at < p->bytes ? block_of(p, at)->memory : NULL;
    ADIO_Status status;
    MPI_Datatype type;
    int count, error = MPI_SUCCESS;
    memset(&status, 0, sizeof status);
    ADIOI_Bytes_type(ADIOI_Pieces_length(p, at), &type, &count);
    if (write)
        write(p->fd, memory, count, type, p->file_ptr_type, ADIOI_Pieces_offset(p, at), &status,
              &error);
    else
        read(p->fd, memory, count, type, p->file_ptr_type, ADIOI_Pieces_offset(p, at), &status,
             &error);
    ADIOI_Bytes_type_free(&type);
    *bytes = ADIOI_Status_bytes(&status);
    return error;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int alloc(struct pieces *p)
{
    int error = MPI_SUCCESS;
    for (int i = 0; i < 2 && error == MPI_SUCCESS; i++) {
        const MPI_Count length = ADIOI_Pieces_length(p, i * p->piece);
        if (length > 0)
            error = MPIR_Staging_alloc(&p->block[i], length, &p->buffer);
    }
    return error;
}

/* After `round` rounds, and perhaps an error: the rest of the rounds, and the result. */
static int end(struct pieces *p, MPI_Count round, int error, ADIOI_Read *read, ADIOI_Write *write)
{
    for (; round < p->rounds; round++) {
        MPI_Count none;
        const int moved = move(p, p->bytes, read, write, &none);
        if (error == MPI_SUCCESS)
            error = moved;
    }
    for (int i = 0; i < 2; i++) {
        const int moved = MPIR_Staging_wait(&p->block[i]);
        if (error == MPI_SUCCESS)
            error = moved;
        MPIR_Staging_free(&p->block[i]);
    }
    return error;
}

/* A piece is packed while the one before it is written. */
void ADIOI_Pieces_write(struct pieces *p, ADIOI_Write *write, ADIO_Status *status, int *error_code)
{
    MPI_Count round = 0, written;
    int error = alloc(p);
    if (error == MPI_SUCCESS)
        error = pack(p, 0);
    for (MPI_Count at = 0; error == MPI_SUCCESS && at < p->bytes; at += p->piece) {
        error = MPIR_Staging_wait(block_of(p, at));
        if (error == MPI_SUCCESS)
            error = pack(p, at + p->piece);
        if (error == MPI_SUCCESS) {
            error = move(p, at, NULL, write, &written);
            round++;
        }
    }
    *error_code = end(p, round, error, NULL, write);
    if (*error_code == MPI_SUCCESS && status)
        MPIR_Status_set_bytes(status, p->buffer.datatype, p->bytes);
}

/* A piece is unpacked while the one behind it is read. What follows a short one does not count. */
void ADIOI_Pieces_read(struct pieces *p, ADIOI_Read *read, MPI_Count in_file, ADIO_Status *status,
                       int *error_code)
{
    MPI_Count round = 0, done = 0;
    int error = alloc(p);
    for (MPI_Count at = 0; error == MPI_SUCCESS && at < p->bytes; at += p->piece) {
        struct MPIR_Staging *const block = block_of(p, at);
        MPI_Count bytes = 0;
        error = MPIR_Staging_wait(block);
        if (error == MPI_SUCCESS) {
            error = move(p, at, read, NULL, &bytes);
            round++;
        }
        bytes = done == at ? MPL_MIN(bytes, in_file - at) : 0;
        if (error == MPI_SUCCESS && bytes > 0)
            error = MPIR_Staging_unpack(block, &p->buffer, at, bytes);
        done += bytes;
    }
    *error_code = end(p, round, error, read, NULL);
    if (*error_code == MPI_SUCCESS && status)
        MPIR_Status_set_bytes(status, p->buffer.datatype, done);
}

/* ---- the file's end -------------------------------------------------------------------------- */

ADIO_Offset ADIOI_View_bytes_before(ADIO_File fd, ADIO_Offset position)
{
    int is_contig;
    ADIOI_Datatype_iscontig(fd->filetype, &is_contig);
    if (is_contig)
        return MPL_MAX(position - fd->disp, 0);

    const ADIOI_Flatlist_node *const flat = ADIOI_Flatten_and_find(fd->filetype);
    MPI_Count size;
    MPI_Aint lb, extent;
    PMPI_Type_size_x(fd->filetype, &size);
    PMPI_Type_get_extent(fd->filetype, &lb, &extent);
    ADIO_Offset rest = position - fd->disp;
    if (size == 0 || rest <= flat->indices[0])
        return 0;
    const ADIO_Offset whole = extent > 0 ? (rest - flat->indices[0]) / extent : 0;
    ADIO_Offset bytes = whole * size;
    rest -= whole * extent;
    for (MPI_Count i = 0; i < flat->count; i++)
        if (flat->indices[i] < rest)
            bytes += MPL_MIN(flat->blocklens[i], rest - flat->indices[i]);
    return bytes;
}

MPI_Count ADIOI_Pieces_in_file(const struct pieces *p)
{
    ADIO_Fcntl_t file;
    int error_code;
    if (!p->fd->is_open) /* it reads through processes that have opened it */
        return p->bytes;
    ADIO_Fcntl(p->fd, ADIO_FCNTL_GET_FSIZE, &file, &error_code);
    if (error_code != MPI_SUCCESS)
        return p->bytes;
    const ADIO_Offset first = p->file_ptr_type == ADIO_INDIVIDUAL
                                  ? ADIOI_View_bytes_before(p->fd, p->fd->fp_ind)
                                  : p->offset * p->unit;
    return MPL_MIN(MPL_MAX(ADIOI_View_bytes_before(p->fd, file.fsize) - first, 0), p->bytes);
}

/* ---- what ROMIO counts by -------------------------------------------------------------------- */

void ADIOI_Bytes_type(MPI_Count bytes, MPI_Datatype *type, int *count)
{
    *type = MPI_BYTE;
    *count = (int)bytes;
    if (bytes > INT_MAX) {
        PMPI_Type_contiguous_c(bytes, MPI_BYTE, type);
        PMPI_Type_commit(type);
        *count = 1;
    }
}

void ADIOI_Bytes_type_free(MPI_Datatype *type)
{
    if (*type != MPI_BYTE)
        PMPI_Type_free(type);
}

MPI_Count ADIOI_Status_bytes(const ADIO_Status *status)
{
    MPI_Count bytes;
    PMPI_Get_elements_x(status, MPI_BYTE, &bytes);
    return bytes;
}
