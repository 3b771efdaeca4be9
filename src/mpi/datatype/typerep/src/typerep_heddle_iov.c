/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The runs of memory of a buffer, counted by bytes or by runs.
 */
#include "typerep_internal.h"

int MPIR_Typerep_to_iov(const void *buf, MPI_Aint count, MPI_Datatype type, MPI_Aint byte_offset,
                        struct iovec *iov, MPI_Aint max_iov_len, MPI_Aint max_iov_bytes,
                        MPI_Aint *actual_iov_len, MPI_Aint *actual_iov_bytes)
{
    heddle_type *handle = MPII_heddle_type(type);
    int64_t len = 0, bytes = 0;
    int rc;
    MPII_HEDDLE_CALL(rc, handle,
                     heddle_iov_bytes(buf, count, handle, byte_offset, iov, max_iov_len,
                                      max_iov_bytes, &len, &bytes));

    /* Receives in ch4 go through all entries that they asked for, used or not. */
    for (int64_t i = len; i < max_iov_len; i++)
        iov[i] = (struct iovec){NULL, 0};

    *actual_iov_len = len;
    *actual_iov_bytes = bytes;
    return MPII_HEDDLE_RESULT(rc);
}

int MPIR_Typerep_to_iov_offset(const void *buf, MPI_Aint count, MPI_Datatype type,
                               MPI_Aint iov_offset, struct iovec *iov, MPI_Aint max_iov_len,
                               MPI_Aint *actual_iov_len)
{
    heddle_type *handle = MPII_heddle_type(type);
    int64_t len = 0;
    int rc;
    MPII_HEDDLE_CALL(rc, handle,
                     heddle_iov(buf, count, handle, iov_offset, iov, max_iov_len, &len));
    *actual_iov_len = len;
    return MPII_HEDDLE_RESULT(rc);
}

int MPIR_Typerep_iov_len(MPI_Aint count, MPI_Datatype type, MPI_Aint max_iov_bytes,
                         MPI_Aint *iov_len)
{
    heddle_type *handle = MPII_heddle_type(type);
    int64_t len = 0;
    int rc;
    MPII_HEDDLE_CALL(rc, handle, heddle_iov_len(count, handle, max_iov_bytes, &len, NULL));
    *iov_len = len;
    return MPII_HEDDLE_RESULT(rc);
}
