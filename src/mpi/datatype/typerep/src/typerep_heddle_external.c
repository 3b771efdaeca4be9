/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The external32 representation.
 */
#include "typerep_internal.h"

/* MPICH drops the size of the packed buffer on the way to here: what it passes is taken to be enough. */

int MPIR_Typerep_size_external32(MPI_Datatype type)
{
    heddle_type *handle = MPII_heddle_type(type);
    int64_t size = 0;
    int rc;
    MPII_HEDDLE_CALL(rc, handle, heddle_external_size(1, handle, &size));
    MPIR_Assertp(rc == HEDDLE_SUCCESS && size <= INT_MAX);
    return (int)size;
}

int MPIR_Typerep_pack_external(const void *inbuf, MPI_Aint incount, MPI_Datatype datatype, void *outbuf,
                               MPI_Aint *actual_pack_bytes)
{
    heddle_type *type = MPII_heddle_type(datatype);
    int64_t actual = 0;
    int rc = HEDDLE_SUCCESS;
    if (unlikely(MPII_heddle_on_device(inbuf, outbuf)))
        return MPII_heddle_device_error(__func__, __LINE__);
    if (incount != 0)
        MPII_HEDDLE_CALL(rc, type, heddle_pack_external(inbuf, incount, type, outbuf, INT64_MAX, &actual));
    *actual_pack_bytes = actual;
    return MPII_HEDDLE_RESULT(rc);
}

int MPIR_Typerep_unpack_external(const void *inbuf, void *outbuf, MPI_Aint outcount, MPI_Datatype datatype,
                                 MPI_Aint *actual_unpack_bytes)
{
    heddle_type *type = MPII_heddle_type(datatype);
    int64_t size = 0, actual = 0;
    int rc = HEDDLE_SUCCESS;
    if (unlikely(MPII_heddle_on_device(inbuf, outbuf)))
        return MPII_heddle_device_error(__func__, __LINE__);
    if (outcount != 0)
        MPII_HEDDLE_CALL(rc, type, heddle_external_size(outcount, type, &size));
    if (rc == HEDDLE_SUCCESS && size > 0)
        MPII_HEDDLE_CALL(rc, type, heddle_unpack_external(inbuf, size, outbuf, outcount, type, &actual));
    *actual_unpack_bytes = actual;
    return MPII_HEDDLE_RESULT(rc);
}
