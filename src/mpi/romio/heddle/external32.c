/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Data calls on files in external32: the buffer is converted as a whole, and bytes are read or
 * written in its place.
 */
#include "any_memory.h"

#include "heddle_files.h"
#include "mpioimpl.h"
#include "mpiu_greq.h"

#include <limits.h>

static int fail(MPI_File file, int class, const char *text)
{
    int error = MPIO_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, "MPI_FILE", __LINE__, class,
                                     text, 0);
    return MPIO_Err_return_file(file, error);
}

/* Only a type of absolute addresses may begin at a null one. */
static int is_missing(const void *buf, MPI_Datatype datatype)
{
    MPI_Count lb, extent;
    if (buf != NULL)
        return 0;
    MPI_Type_get_true_extent_x(datatype, &lb, &extent);
    return lb == 0;
}

int MPIO_Data_call(MPI_File file, const void *buf, MPI_Datatype datatype, int *count)
{
    int contiguous;
    MPI_Count in_view, in_memory;
    MPI_Type_size_x(file->filetype, &in_view);
    MPI_Type_size_x(datatype, &in_memory);
    if (in_view == 0 || in_memory == 0)
        *count = 0;
    if (*count == 0)
        return MPI_SUCCESS;
    if (is_missing(buf, datatype))
        return fail(file, MPI_ERR_BUFFER, "**bufnull");
    if (file->is_external32 || ADIOI_Buffer_is_staged(buf, *count, datatype))
        return MPI_SUCCESS;
    ADIOI_Datatype_iscontig(datatype, &contiguous);
    if (!contiguous && ADIOI_Flatten_and_find(datatype) == NULL)
        return fail(file, MPI_ERR_NO_MEM, "**nomem");
    return MPI_SUCCESS;
}

static void drop(struct MPIO_External32 *x)
{
    if (x->type != MPI_BYTE)
        MPI_Type_free(&x->type);
    MPIR_Typerep_let_go(x->user_type);
    MPL_free(x->bytes);
    MPL_free(x);
}

/* `bytes` of them, as count and type. */
static int describe_bytes(struct MPIO_External32 *x, MPI_Aint bytes)
{
    x->type = MPI_BYTE;
    x->count = (int)bytes;
    if (bytes <= INT_MAX)
        return MPI_SUCCESS;
    x->count = 1;
    int err = PMPI_Type_contiguous_c(bytes, MPI_BYTE, &x->type);
    return err == MPI_SUCCESS ? MPI_Type_commit(&x->type) : err;
}

int MPIO_External32_begin(MPI_File file, const void *buf, int count, MPI_Datatype datatype,
                          int reads, struct MPIO_External32 **conversion)
{
    MPI_Aint bytes = 0, position = 0;
    struct MPIO_External32 *x = MPL_calloc(1, sizeof *x, MPL_MEM_IO);
    if (x == NULL)
        return fail(file, MPI_ERR_NO_MEM, "**nomem");
    MPIR_Typerep_hold(datatype);
    x->file = file;
    x->user = (void *)buf;
    x->user_count = count;
    x->user_type = datatype;
    x->reads = reads;

    int err =
        count > 0 ? PMPI_Pack_external_size("external32", count, datatype, &bytes) : MPI_SUCCESS;
    if (err == MPI_SUCCESS)
        err = describe_bytes(x, bytes);
    if (err == MPI_SUCCESS && bytes > 0) {
        x->bytes = MPL_malloc(bytes, MPL_MEM_IO);
        if (x->bytes == NULL)
            err = MPIO_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, "MPI_FILE", __LINE__,
                                       MPI_ERR_NO_MEM, "**nomem", 0);
        else if (!reads)
            err =
                PMPI_Pack_external("external32", buf, count, datatype, x->bytes, bytes, &position);
    }
    if (err != MPI_SUCCESS) {
        drop(x);
        return MPIO_Err_return_file(file, err);
    }
    *conversion = x;
    return MPI_SUCCESS;
}

/* What the call on bytes moved, in memory. */
static int finish(struct MPIO_External32 *x, MPI_Count bytes)
{
    MPI_Count size, all;
    MPI_Aint position = 0, moved = 0;
    MPI_Type_size_x(x->type, &all);
    all *= x->count;
    MPI_Type_size_x(x->user_type, &size);
    x->moved = bytes == all ? size * x->user_count : 0;
    if (bytes == 0 || !x->reads)
        return MPI_SUCCESS;
    if (bytes == all)
        return PMPI_Unpack_external("external32", x->bytes, bytes, &position, x->user,
                                    x->user_count, x->user_type);
    int err = MPIR_Typerep_unpack_external_part(x->bytes, bytes, x->user, x->user_count,
                                                x->user_type, &moved);
    x->moved = moved;
    return err;
}

int MPIO_External32_end(struct MPIO_External32 *x, int error, MPI_Status *status)
{
    MPI_Count bytes = 0;
    if (error == MPI_SUCCESS) {
        PMPI_Get_elements_x(&x->status, MPI_BYTE, &bytes);
        error = finish(x, bytes);
        if (error != MPI_SUCCESS)
            error = MPIO_Err_return_file(x->file, error);
        MPIR_Status_set_bytes(status, x->user_type, x->moved);
    }
    drop(x);
    return error;
}

int MPIO_External32_split(struct MPIO_External32 *x, int error, MPI_Status *status)
{
    x->status = *status;
    return MPIO_External32_end(x, error, status);
}

/* ---- nonblocking calls: a generalized request that ends when the one on bytes has ended, and the
 * buffer is converted */

static int poll_one(void *state, MPI_Status *status)
{
    struct MPIO_External32 *x = state;
    int done = 0;
    MPL_UNREFERENCED_ARG(status);
    if (x->request == MPI_REQUEST_NULL)
        return MPI_SUCCESS;
    MPIR_Files_quiet(1);
    x->error = MPI_Test(&x->request, &done, &x->status);
    MPIR_Files_quiet(-1);
    if (x->error == MPI_SUCCESS && !done)
        return MPI_SUCCESS;
    if (x->error == MPI_SUCCESS) {
        MPI_Count bytes = 0;
        PMPI_Get_elements_x(&x->status, MPI_BYTE, &bytes);
        x->error = finish(x, bytes);
    }
    x->request = MPI_REQUEST_NULL;
    return MPI_Grequest_complete(x->generalized);
}

static int wait_all(int count, void **states, double timeout, MPI_Status *status)
{
    const double end = MPI_Wtime() + timeout;
    for (int pending = 1; pending;) {
        pending = 0;
        for (int i = 0; i < count; i++) {
            int err = poll_one(states[i], status);
            if (err != MPI_SUCCESS)
                return err;
            pending |= ((struct MPIO_External32 *)states[i])->request != MPI_REQUEST_NULL;
        }
        if (timeout > 0 && MPI_Wtime() > end)
            break;
    }
    return MPI_SUCCESS;
}

static int query(void *state, MPI_Status *status)
{
    struct MPIO_External32 *x = state;
    MPIR_Status_set_bytes(status, x->user_type, x->moved);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return ADIO_Any_tell(x->file, x->error);
}

static int release(void *state)
{
    drop(state);
    return MPI_SUCCESS;
}

int MPIO_External32_iend(struct MPIO_External32 *x, int error, MPI_Request *request)
{
    static MPIX_Grequest_class class;
    if (error != MPI_SUCCESS) {
        drop(x);
        return error;
    }
    if (class == 0)
        MPIX_Grequest_class_create(query, release, MPIU_Greq_cancel_fn, poll_one, wait_all, &class);
    error = MPIX_Grequest_class_allocate(class, x, request);
    x->generalized = *request;
    return error;
}
