/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nonblocking collective reads and writes. They must not wait for other processes, nor call ROMIO
 * more often than those do: so all of the data is staged, a write's when it begins, a read's until
 * it has ended. A generalized request around ROMIO's own sees to that.
 */
#include "pieces.h"

#include "adio_extern.h"
#include "mpiu_greq.h"

struct pending {
    MPI_Request request, inner; /* the caller's, and ROMIO's, which is null once it has ended */
    struct MPIR_Staging staging;
    struct MPIR_Staging_buffer buffer;
    MPI_Datatype inner_type;
    MPI_Count bytes; /* to be moved; in the end, how many were */
    int is_read;
    int error;
};

static MPIX_Grequest_class pending_class = 0;

/* ---- the request
 * ----------------------------------------------------------------------------------- */

/* ROMIO's operation has ended. */
static void finish(struct pending *op)
{
    op->inner = MPI_REQUEST_NULL;
    if (op->is_read && op->error == MPI_SUCCESS && op->bytes > 0)
        op->error = MPIR_Staging_unpack(&op->staging, &op->buffer, 0, op->bytes);
    const int moved = MPIR_Staging_wait(&op->staging);
    if (op->error == MPI_SUCCESS)
        op->error = moved;
    MPIR_Staging_free(&op->staging);
    MPIR_Staging_release(op->buffer.datatype);
    ADIOI_Bytes_type_free(&op->inner_type);
    PMPI_Grequest_complete(op->request);
}

static int poll_pending(void *state, MPI_Status *status)
{
    struct pending *const op = state;
    MPI_Status inner;
    int flag = 0;
    (void)status;
    if (op->inner == MPI_REQUEST_NULL)
        return MPI_SUCCESS;
    const int error = PMPI_Test(&op->inner, &flag, &inner);
    if (error == MPI_SUCCESS && !flag)
        return MPI_SUCCESS;
    if (op->error == MPI_SUCCESS)
        op->error = error;
    finish(op);
    return MPI_SUCCESS;
}

static int wait_pending(int count, void **states, double timeout, MPI_Status *status)
{
    const double start = PMPI_Wtime();
    for (int i = 0; i < count; i++) {
        const struct pending *const op = states[i];
        while (op->inner != MPI_REQUEST_NULL) {
            poll_pending(states[i], status);
            if (timeout > 0 && PMPI_Wtime() - start > timeout)
                return MPI_SUCCESS;
        }
    }
    return MPI_SUCCESS;
}

static int query_pending(void *state, MPI_Status *status)
{
    const struct pending *const op = state;
    PMPI_Status_set_elements_x(status, MPI_BYTE, op->error == MPI_SUCCESS ? op->bytes : 0);
    PMPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return op->error;
}

static int free_pending(void *state)
{
    ADIOI_Free(state);
    return MPI_SUCCESS;
}

/* ---- how it begins
 * ---------------------------------------------------------------------------------- */

static struct pending *begin(const struct pieces *p, int is_read)
{
    struct pending *const op = ADIOI_Calloc(1, sizeof *op);
    op->inner = MPI_REQUEST_NULL;
    op->buffer = p->buffer;
    op->is_read = is_read;
    op->bytes = is_read ? ADIOI_Pieces_in_file(p) : p->bytes;
    op->error = MPIR_Staging_alloc(&op->staging, p->bytes, &p->buffer);
    if (op->error == MPI_SUCCESS && !is_read)
        op->error = MPIR_Staging_pack(&op->staging, &p->buffer, 0, p->bytes);
    const int moved = MPIR_Staging_wait(&op->staging);
    if (op->error == MPI_SUCCESS)
        op->error = moved;
    return op;
}

/* With ROMIO's operation begun, or not. */
static void started(struct pending *op, ADIO_Request *request, int *error_code)
{
    if (*error_code != MPI_SUCCESS) {
        MPIR_Staging_free(&op->staging);
        ADIOI_Bytes_type_free(&op->inner_type);
        ADIOI_Free(op);
        *request = MPI_REQUEST_NULL;
        return;
    }
    MPIR_Staging_hold(op->buffer.datatype);
    if (pending_class == 0)
        PMPIX_Grequest_class_create(query_pending, free_pending, MPIU_Greq_cancel_fn, poll_pending,
                                    wait_pending, &pending_class);
    PMPIX_Grequest_class_allocate(pending_class, op, request);
    op->request = *request;
}

/* What failed takes part without data, so that the others end; its error is the request's. */
static void staged(struct pieces *p, int is_read, ADIO_Request *request, int *error_code)
{
    struct pending *const op = begin(p, is_read);
    int count;
    ADIOI_Bytes_type(op->error == MPI_SUCCESS ? p->bytes : 0, &op->inner_type, &count);
    if (is_read)
        ADIO_IreadStridedColl(p->fd, op->staging.memory, count, op->inner_type, p->file_ptr_type,
                              p->offset, &op->inner, error_code);
    else
        ADIO_IwriteStridedColl(p->fd, op->staging.memory, count, op->inner_type, p->file_ptr_type,
                               p->offset, &op->inner, error_code);
    started(op, request, error_code);
}

void ADIO_Any_IreadStridedColl(ADIO_File fd, void *buf, int count, MPI_Datatype datatype,
                               int file_ptr_type, ADIO_Offset offset, ADIO_Request *request,
                               int *error_code)
{
    struct pieces p;
    if (!ADIOI_Buffer_is_staged(buf, count, datatype)) {
        ADIO_IreadStridedColl(fd, buf, count, datatype, file_ptr_type, offset, request, error_code);
        return;
    }
    ADIOI_Pieces_init(&p, fd, buf, count, datatype, file_ptr_type, offset, fd->etype_size, 0);
    staged(&p, 1, request, error_code);
}

void ADIO_Any_IwriteStridedColl(ADIO_File fd, const void *buf, int count, MPI_Datatype datatype,
                                int file_ptr_type, ADIO_Offset offset, ADIO_Request *request,
                                int *error_code)
{
    struct pieces p;
    if (!ADIOI_Buffer_is_staged(buf, count, datatype)) {
        ADIO_IwriteStridedColl(fd, buf, count, datatype, file_ptr_type, offset, request,
                               error_code);
        return;
    }
    ADIOI_Pieces_init(&p, fd, buf, count, datatype, file_ptr_type, offset, fd->etype_size, 0);
    staged(&p, 0, request, error_code);
}
