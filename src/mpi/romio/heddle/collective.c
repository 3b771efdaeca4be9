/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collective reads and writes. They take as many rounds as the process with the most pieces needs.
 * Who has no device buffer takes part with all of its data in the first round, and without in the
 * others. So does a process whose device fails, from there on: all of them return.
 */
#include "pieces.h"

#include "adio_extern.h"

int ADIO_Any_device(MPI_Comm comm)
{
    int mine = MPIR_Staging_is_open(), any = mine;
    PMPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, comm);
    return any;
}

/* Whether the buffer is staged. In atomic mode overlapping accesses must not mix, so that there is
 * one round.
 */
static int begin(struct pieces *p, ADIO_File fd, const void *buf, int count, MPI_Datatype datatype,
                 int file_ptr_type, ADIO_Offset offset, int *error_code)
{
    const int is_staged = ADIOI_Buffer_is_staged(buf, count, datatype);
    const MPI_Count most =
        fd->atomicity ? ADIOI_Buffer_bytes(count, datatype) : fd->hints->cb_buffer_size;
    ADIOI_Pieces_init(p, fd, buf, count, datatype, file_ptr_type, offset, fd->etype_size, most);
    const MPI_Count mine = is_staged ? (p->bytes + p->piece - 1) / p->piece : 1;
    p->rounds = 1;
    *error_code = fd->any_device
                      ? PMPI_Allreduce(&mine, &p->rounds, 1, MPI_COUNT, MPI_MAX, fd->comm)
                      : MPI_SUCCESS;
    return is_staged;
}

/* After the first round of a buffer that is not staged. */
static void others_rounds(struct pieces *p, ADIOI_Read *read, ADIOI_Write *write, int *error_code)
{
    int error = MPI_SUCCESS;
    p->bytes = 0;
    p->rounds--;
    if (p->rounds == 0)
        return;
    if (write)
        ADIOI_Pieces_write(p, write, NULL, &error);
    else
        ADIOI_Pieces_read(p, read, 0, NULL, &error);
    if (*error_code == MPI_SUCCESS)
        *error_code = error;
}

void ADIO_Any_ReadStridedColl(ADIO_File fd, void *buf, int count, MPI_Datatype datatype,
                              int file_ptr_type, ADIO_Offset offset, ADIO_Status *status,
                              int *error_code)
{
    ADIOI_Read *const read = fd->fns->ADIOI_xxx_ReadStridedColl;
    struct pieces p;
    const int is_staged = begin(&p, fd, buf, count, datatype, file_ptr_type, offset, error_code);
    if (*error_code != MPI_SUCCESS)
        return;
    if (is_staged) {
        ADIOI_Pieces_read(&p, read, ADIOI_Pieces_in_file(&p), status, error_code);
        return;
    }
    read(fd, buf, count, datatype, file_ptr_type, offset, status, error_code);
    others_rounds(&p, read, NULL, error_code);
}

void ADIO_Any_WriteStridedColl(ADIO_File fd, const void *buf, int count, MPI_Datatype datatype,
                               int file_ptr_type, ADIO_Offset offset, ADIO_Status *status,
                               int *error_code)
{
    ADIOI_Write *const write = fd->fns->ADIOI_xxx_WriteStridedColl;
    struct pieces p;
    const int is_staged = begin(&p, fd, buf, count, datatype, file_ptr_type, offset, error_code);
    if (*error_code != MPI_SUCCESS)
        return;
    if (is_staged) {
        ADIOI_Pieces_write(&p, write, status, error_code);
        return;
    }
    write(fd, buf, count, datatype, file_ptr_type, offset, status, error_code);
    others_rounds(&p, NULL, write, error_code);
}
