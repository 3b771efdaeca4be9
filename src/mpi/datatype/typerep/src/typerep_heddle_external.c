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

/* The conversion is the host's; buffers on a device are converted from and into copies. */

static int pack_external(const void *inbuf, MPI_Aint incount, MPI_Datatype datatype, void *outbuf,
                         MPI_Aint *actual_pack_bytes)
{
    heddle_type *type = MPII_heddle_type(datatype);
    int64_t actual = 0;
    int rc = HEDDLE_SUCCESS;
    if (incount != 0)
        MPII_HEDDLE_CALL(rc, type, heddle_pack_external(inbuf, incount, type, outbuf, INT64_MAX, &actual));
    *actual_pack_bytes = actual;
    return MPII_HEDDLE_RESULT(rc);
}

static int external_size(MPI_Aint count, MPI_Datatype datatype, MPI_Aint *bytes)
{
    heddle_type *type = MPII_heddle_type(datatype);
    int64_t size = 0;
    int rc = HEDDLE_SUCCESS;
    if (count != 0)
        MPII_HEDDLE_CALL(rc, type, heddle_external_size(count, type, &size));
    *bytes = size;
    return MPII_HEDDLE_RESULT(rc);
}

int MPIR_Typerep_pack_external(const void *inbuf, MPI_Aint incount, MPI_Datatype datatype, void *outbuf,
                               MPI_Aint *actual_pack_bytes)
{
    if (likely(!MPII_heddle_on_device(inbuf, datatype) && !MPII_heddle_on_device(outbuf, MPI_BYTE)))
        return pack_external(inbuf, incount, datatype, outbuf, actual_pack_bytes);

    MPI_Aint bytes;
    struct MPII_heddle_shadow in, out;
    *actual_pack_bytes = 0;
    int mpi_errno = external_size(incount, datatype, &bytes);
    if (mpi_errno != MPI_SUCCESS || bytes == 0)
        return mpi_errno;
    mpi_errno = MPII_heddle_shadow(inbuf, incount, datatype, true, &in);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    mpi_errno = MPII_heddle_shadow(outbuf, bytes, MPI_BYTE, false, &out);
    if (mpi_errno == MPI_SUCCESS) {
        mpi_errno = pack_external(in.buf, incount, datatype, out.buf, actual_pack_bytes);
        if (mpi_errno == MPI_SUCCESS)
            mpi_errno = MPII_heddle_shadow_store(&out, outbuf, bytes, MPI_BYTE);
        MPII_heddle_shadow_drop(&out);
    }
    MPII_heddle_shadow_drop(&in);
    return mpi_errno;
}

static int unpack_external(const void *inbuf, MPI_Aint insize, void *outbuf, MPI_Aint outcount,
                           MPI_Datatype datatype, MPI_Aint *actual_unpack_bytes)
{
    heddle_type *type = MPII_heddle_type(datatype);
    int64_t actual = 0;
    int rc;
    MPII_HEDDLE_CALL(rc, type, heddle_unpack_external(inbuf, insize, outbuf, outcount, type, &actual));
    *actual_unpack_bytes = actual;
    return MPII_HEDDLE_RESULT(rc);
}

int MPIR_Typerep_unpack_external(const void *inbuf, void *outbuf, MPI_Aint outcount, MPI_Datatype datatype,
                                 MPI_Aint *actual_unpack_bytes)
{
    MPI_Aint bytes;
    *actual_unpack_bytes = 0;
    int mpi_errno = external_size(outcount, datatype, &bytes);
    if (mpi_errno != MPI_SUCCESS || bytes == 0)
        return mpi_errno;
    if (likely(!MPII_heddle_on_device(inbuf, MPI_BYTE) && !MPII_heddle_on_device(outbuf, datatype)))
        return unpack_external(inbuf, bytes, outbuf, outcount, datatype, actual_unpack_bytes);

    struct MPII_heddle_shadow in, out;
    mpi_errno = MPII_heddle_shadow(inbuf, bytes, MPI_BYTE, true, &in);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    mpi_errno = MPII_heddle_shadow(outbuf, outcount, datatype, false, &out);
    if (mpi_errno == MPI_SUCCESS) {
        mpi_errno = unpack_external(in.buf, bytes, out.buf, outcount, datatype, actual_unpack_bytes);
        if (mpi_errno == MPI_SUCCESS)
            mpi_errno = MPII_heddle_shadow_store(&out, outbuf, outcount, datatype);
        MPII_heddle_shadow_drop(&out);
    }
    MPII_heddle_shadow_drop(&in);
    return mpi_errno;
}
