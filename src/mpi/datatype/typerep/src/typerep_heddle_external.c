/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The external32 representation.
 */
#include "typerep_internal.h"

int MPIR_Typerep_external_size(const char *datarep, MPI_Aint count, MPI_Datatype datatype,
                               MPI_Aint *bytes)
{
    heddle_type *type = MPII_heddle_type(datatype);
    int64_t size = 0;
    int rc;
    if (strcmp(datarep, "external32") != 0)
        return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                    MPI_ERR_ARG, "**arg", "**arg %s", "datarep");
    MPII_HEDDLE_CALL(rc, type, heddle_external_size(count, type, &size));
    *bytes = size;
    return MPII_HEDDLE_RESULT(rc);
}

/* A conversion between a device's data and external32, which the host does. It holds the data in
 * packed form, which may come from several memories. It also holds the converted bytes, where they
 * are not on the host. */
struct conversion {
    heddle_type *type;
    MPI_Aint count;
    MPI_Aint bytes;    /* in packed form */
    MPI_Aint external; /* converted */
    void *packed;
    struct MPII_heddle_shadow converted;
};

static int begin(struct conversion *c, MPI_Aint count, MPI_Datatype datatype, const void *external,
                 bool copy)
{
    MPI_Aint size;
    MPIR_Datatype_get_size_macro(datatype, size);
    c->type = MPIR_Typerep_committed(datatype);
    c->count = count;
    c->bytes = count * size;
    c->packed = NULL;
    int64_t converted = 0;
    int rc = heddle_external_size(count, c->type, &converted);
    c->external = converted;
    if (rc == HEDDLE_SUCCESS)
        rc = heddle_staging_alloc(c->bytes, NULL, &c->packed);
    if (rc != HEDDLE_SUCCESS)
        return MPII_HEDDLE_RESULT(rc);
    const int mpi_errno = MPII_heddle_shadow(external, converted, MPI_BYTE, copy, &c->converted);
    if (mpi_errno != MPI_SUCCESS)
        heddle_staging_free(c->packed);
    return mpi_errno;
}

static void end(struct conversion *c)
{
    MPII_heddle_shadow_drop(&c->converted);
    heddle_staging_free(c->packed);
}

static int pack_on_device(const void *inbuf, MPI_Aint incount, MPI_Datatype datatype, void *outbuf,
                          MPI_Aint *actual_pack_bytes)
{
    struct conversion c;
    int mpi_errno = begin(&c, incount, datatype, outbuf, false);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    mpi_errno = MPIR_Typerep_read(inbuf, incount, datatype, c.packed, c.bytes);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = MPII_HEDDLE_RESULT(
            heddle_external_from_packed(c.packed, incount, c.type, c.converted.buf));
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = MPII_heddle_shadow_store(&c.converted, outbuf, c.external, MPI_BYTE);
    *actual_pack_bytes = c.external;
    end(&c);
    return mpi_errno;
}

static int unpack_on_device(const void *inbuf, void *outbuf, MPI_Aint outcount,
                            MPI_Datatype datatype, MPI_Aint *actual_unpack_bytes)
{
    struct conversion c;
    int mpi_errno = begin(&c, outcount, datatype, inbuf, true);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    mpi_errno =
        MPII_HEDDLE_RESULT(heddle_external_to_packed(c.converted.buf, c.packed, outcount, c.type));
    if (mpi_errno == MPI_SUCCESS) {
        const heddle_side from = MPII_heddle_packed(c.packed, c.bytes);
        const heddle_side to = MPII_heddle_side(outbuf, outcount, datatype, 0);
        mpi_errno = MPII_heddle_transfer(&from, &to, c.bytes, HEDDLE_OP_REPLACE);
    }
    *actual_unpack_bytes = c.external;
    end(&c);
    return mpi_errno;
}

/* The packed buffer of both is large enough (MPIR_Typerep_check_external). */

int MPIR_Typerep_pack_external(const void *inbuf, MPI_Aint incount, MPI_Datatype datatype,
                               void *outbuf, MPI_Aint *actual_pack_bytes)
{
    heddle_type *type = MPII_heddle_type(datatype);
    MPI_Aint size;
    int64_t actual = 0;
    int rc;
    *actual_pack_bytes = 0;
    MPIR_Datatype_get_size_macro(datatype, size);
    if (incount == 0 || size == 0)
        return MPI_SUCCESS;
    if (unlikely(MPII_heddle_on_device(inbuf, datatype) || MPII_heddle_on_device(outbuf, MPI_BYTE)))
        return pack_on_device(inbuf, incount, datatype, outbuf, actual_pack_bytes);
    MPII_HEDDLE_CALL(rc, type,
                     heddle_pack_external(inbuf, incount, type, outbuf, INT64_MAX, &actual));
    *actual_pack_bytes = actual;
    return MPII_HEDDLE_RESULT(rc);
}

int MPIR_Typerep_unpack_external(const void *inbuf, void *outbuf, MPI_Aint outcount,
                                 MPI_Datatype datatype, MPI_Aint *actual_unpack_bytes)
{
    heddle_type *type = MPII_heddle_type(datatype);
    MPI_Aint size;
    int64_t actual = 0;
    int rc;
    *actual_unpack_bytes = 0;
    MPIR_Datatype_get_size_macro(datatype, size);
    if (outcount == 0 || size == 0)
        return MPI_SUCCESS;
    if (unlikely(MPII_heddle_on_device(inbuf, MPI_BYTE) || MPII_heddle_on_device(outbuf, datatype)))
        return unpack_on_device(inbuf, outbuf, outcount, datatype, actual_unpack_bytes);
    MPII_HEDDLE_CALL(rc, type,
                     heddle_unpack_external(inbuf, INT64_MAX, outbuf, outcount, type, &actual));
    *actual_unpack_bytes = actual;
    return MPII_HEDDLE_RESULT(rc);
}
