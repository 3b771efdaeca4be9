/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collective reads and writes. They take as many rounds as the process with the most pieces needs.
 * A process without a device buffer gives all of its data in the first round, and none in the
 * others. So does a process whose device fails, from there on. A process whose call is wrong takes
 * part without data. So all of them return.
 */
#include "pieces.h"

#include "adio_extern.h"

int ADIO_Any_device(MPI_Comm comm)
{
    int mine = MPIR_Staging_is_open(), any = mine;
    PMPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, comm);
    return any;
}

/* Whether the buffer is staged. */
static int begin(struct pieces *p, ADIO_File fd, const void *buf, int count, MPI_Datatype datatype,
                 int file_ptr_type, ADIO_Offset offset, int *error_code)
{
    const int is_staged = ADIOI_Buffer_is_staged(buf, count, datatype);
    fd->joined |= ADIO_ANY_DATA;
    ADIOI_Pieces_init(p, fd, buf, count, datatype, file_ptr_type, offset, fd->etype_size,
                      fd->hints->cb_buffer_size);
    const MPI_Count mine = is_staged ? ADIOI_Pieces_rounds(p) : 1;
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

/* In atomic mode overlapping accesses must not mix, as those of several rounds would: then each
 * process reads by itself, and locks. */
void ADIO_Any_ReadStridedColl(ADIO_File fd, void *buf, int count, MPI_Datatype datatype,
                              int file_ptr_type, ADIO_Offset offset, ADIO_Status *status,
                              int *error_code)
{
    ADIOI_Read *const read = fd->fns->ADIOI_xxx_ReadStridedColl;
    struct pieces p;
    const int is_staged = begin(&p, fd, buf, count, datatype, file_ptr_type, offset, error_code);
    if (*error_code != MPI_SUCCESS)
        return;
    if (fd->atomicity && p.rounds > 1) {
        ADIOI_Read_alone(fd, buf, count, datatype, file_ptr_type, offset, status, error_code);
    } else if (is_staged) {
        ADIOI_Pieces_read(&p, read, ADIOI_Pieces_in_file(&p), status, error_code);
    } else {
        read(fd, buf, count, datatype, file_ptr_type, offset, status, error_code);
        others_rounds(&p, read, NULL, error_code);
    }
    ADIOI_Unlock_failed(fd, *error_code);
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
    if (fd->atomicity && p.rounds > 1) {
        ADIOI_Write_alone(fd, buf, count, datatype, file_ptr_type, offset, status, error_code);
    } else if (is_staged) {
        ADIOI_Pieces_write(&p, write, status, error_code);
    } else {
        write(fd, buf, count, datatype, file_ptr_type, offset, status, error_code);
        others_rounds(&p, NULL, write, error_code);
    }
    ADIOI_Unlock_failed(fd, *error_code);
}

/* ---- an error on one process */

void ADIO_Any_begin(ADIO_File fd)
{
    ADIO_Any_drain(fd);
    fd->joined = 0;
}

void ADIO_Any_refuse(ADIO_File fd) { fd->joined = ADIO_ANY_REFUSED; }

void ADIO_Any_turn(ADIO_File fd, ADIO_Offset incr, ADIO_Offset *place, int *error_code)
{
    int rank, size;
    PMPI_Comm_rank(fd->comm, &rank);
    PMPI_Comm_size(fd->comm, &size);
    fd->joined |= ADIO_ANY_TURN;
    if (rank > 0)
        PMPI_Recv(NULL, 0, MPI_BYTE, rank - 1, 0, fd->comm, MPI_STATUS_IGNORE);
    ADIO_Get_shared_fp(fd, incr, place, error_code);
    if (rank + 1 < size)
        PMPI_Send(NULL, 0, MPI_BYTE, rank + 1, 0, fd->comm);
}

static void join_without_data(ADIO_File fd, int kind)
{
    const int is_read = kind & ADIO_ANY_READS;
    ADIO_Status status;
    int error;
    if (kind & ADIO_ANY_NONBLOCKING)
        ADIOI_Join(fd, is_read);
    else if (is_read)
        ADIO_Any_ReadStridedColl(fd, NULL, 0, MPI_BYTE, ADIO_EXPLICIT_OFFSET, 0, &status, &error);
    else
        ADIO_Any_WriteStridedColl(fd, NULL, 0, MPI_BYTE, ADIO_EXPLICIT_OFFSET, 0, &status, &error);
}

void ADIO_Any_end(ADIO_File fd, int error_code, int kind)
{
    ADIO_Offset place;
    int error;
    if (error_code == MPI_SUCCESS || fd == NULL || fd->cookie != ADIOI_FILE_COOKIE ||
        fd->joined & ADIO_ANY_REFUSED)
        return;
    if (kind & ADIO_ANY_ORDERED && !(fd->joined & ADIO_ANY_TURN))
        ADIO_Any_turn(fd, 0, &place, &error);
    if (!(fd->joined & ADIO_ANY_DATA))
        join_without_data(fd, kind);
    if (kind & ADIO_ANY_SPLIT)
        fd->split_coll_count = 0;
}

/* ---- an error amid two-phase I/O */

void ADIO_Any_keep(ADIO_File fd, int *error_code)
{
    if (fd->failure == MPI_SUCCESS)
        fd->failure = *error_code;
    *error_code = MPI_SUCCESS;
}

int ADIO_Any_kept(ADIO_File fd, int error_code)
{
    const int kept = fd->failure;
    fd->failure = MPI_SUCCESS;
    return error_code != MPI_SUCCESS ? error_code : kept;
}

int ADIO_Any_agree(ADIO_File fd, int error_code)
{
    const int own = ADIO_Any_kept(fd, error_code);
    int class = own != MPI_SUCCESS ? MPI_ERR_IO : MPI_SUCCESS, worst = class;
    PMPI_Allreduce(&class, &worst, 1, MPI_INT, MPI_MAX, fd->comm);
    return own != MPI_SUCCESS ? own : worst;
}
