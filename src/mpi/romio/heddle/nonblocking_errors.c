/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Errors amid ROMIO's nonblocking operations, which knew of none. A request never ended, or said
 * that all was written. Now it ends, and its error is that of the call which waits for it.
 */
#include "any_memory.h"

#include "heddle_files.h"

#include <aio.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* A file that is full takes a part first, and Linux moves less than 2 GiB at a time. */
static MPI_Offset move_rest(const struct aiocb *op, size_t moved)
{
    while (moved < op->aio_nbytes) {
        char *const at = (char *)op->aio_buf + moved;
        const off_t offset = op->aio_offset + (off_t)moved;
        const size_t rest = op->aio_nbytes - moved;
        const ssize_t n = op->aio_lio_opcode == LIO_WRITE ? pwrite(op->aio_fildes, at, rest, offset)
                                                          : pread(op->aio_fildes, at, rest, offset);
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n == 0)
            break; /* the end of what is read */
        if (n > 0)
            moved += (size_t)n;
    }
    return (MPI_Offset)moved;
}

MPI_Offset ADIO_Any_aio_end(void *aiocb, int error)
{
    struct aiocb *const op = aiocb;
    const ssize_t moved = aio_return(op);
    if (error != 0 || moved < 0)
        return -(error != 0 ? error : EIO);
    return move_rest(op, (size_t)moved);
}

int ADIO_Any_aio_error(MPI_Offset moved)
{
    if (moved >= 0)
        return MPI_SUCCESS;
    return MPIO_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__, MPI_ERR_IO,
                                "**io", "**io %s", strerror((int)-moved));
}

int ADIO_Any_tell(ADIO_File fd, int error)
{
    if (error == MPI_SUCCESS || MPIR_Files_are_quiet())
        return error;
    MPIR_Files_told();
    return MPIO_Err_return_file(fd, error);
}

int ADIO_Any_note(ADIOI_NBC_Request *request, int error)
{
    if (request->error == MPI_SUCCESS)
        request->error = error;
    return request->error;
}
