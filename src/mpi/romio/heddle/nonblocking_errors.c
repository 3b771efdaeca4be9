/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What fails amid ROMIO's nonblocking operations, which knew of no errors: a request never ended, or said
 * that all was written. Now it ends, and its error is that of the call which waits for it.
 */
#include "any_memory.h"

#include <aio.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* A file that is full takes a part first. */
static MPI_Offset write_rest(const struct aiocb *op, size_t written)
{
    while (written < op->aio_nbytes) {
        const ssize_t n = pwrite(op->aio_fildes, (const char *)op->aio_buf + written,
                                 op->aio_nbytes - written, op->aio_offset + (off_t)written);
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0)
            written += (size_t)n;
    }
    return (MPI_Offset)written;
}

MPI_Offset ADIO_Any_aio_end(void *aiocb, int error)
{
    struct aiocb *const op = aiocb;
    const ssize_t moved = aio_return(op);
    if (error != 0 || moved < 0)
        return -(error != 0 ? error : EIO);
    return op->aio_lio_opcode == LIO_WRITE ? write_rest(op, (size_t)moved) : moved;
}

int ADIO_Any_aio_error(MPI_Offset moved)
{
    if (moved >= 0)
        return MPI_SUCCESS;
    return MPIO_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__, MPI_ERR_IO, "**io",
                                "**io %s", strerror((int)-moved));
}

int ADIO_Any_note(ADIOI_NBC_Request *request, int error)
{
    if (request->error == MPI_SUCCESS)
        request->error = error;
    return request->error;
}
