/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What file calls ask of datatypes beyond MPICH's own typerep.h: what their elements are, and part
 * of a buffer out of external32.
 */
#include "typerep_files.h"
#include "typerep_internal.h"

int MPIR_Typerep_is_bytes(MPI_Datatype datatype)
{
    MPI_Datatype basic;
    MPIR_Datatype_get_basic_type(datatype, basic);
    return basic == MPI_BYTE;
}

void MPIR_Typerep_hold(MPI_Datatype datatype) { MPIR_Datatype_add_ref_if_not_builtin(datatype); }

void MPIR_Typerep_let_go(MPI_Datatype datatype) { MPIR_Datatype_release_if_not_builtin(datatype); }

static _Thread_local int quiet, told;

void MPIR_Files_quiet(int change) { quiet += change; }

int MPIR_Files_are_quiet(void) { return quiet > 0; }

void MPIR_Files_told(void) { told = 1; }

int MPIR_Files_have_told(const void *comm)
{
    const int was_told = told && comm == NULL;
    if (quiet > 0)
        return 1;
    told = 0;
    return was_told;
}

int MPIR_Typerep_unpack_external_part(const void *inbuf, MPI_Aint insize, void *outbuf,
                                      MPI_Aint outcount, MPI_Datatype datatype,
                                      MPI_Aint *actual_unpack_bytes)
{
    *actual_unpack_bytes = 0;
#if MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_HEDDLE
    struct MPII_heddle_shadow out;
    int mpi_errno = MPII_heddle_shadow(outbuf, outcount, datatype, true, &out);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;

    heddle_type *type = MPII_heddle_type(datatype);
    int64_t actual = 0;
    int rc;
    MPII_HEDDLE_CALL(rc, type,
                     heddle_unpack_external_part(inbuf, insize, out.buf, outcount, type, &actual));
    mpi_errno = MPII_HEDDLE_RESULT(rc);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = MPII_heddle_shadow_store(&out, outbuf, outcount, datatype);
    MPII_heddle_shadow_drop(&out);
    *actual_unpack_bytes = actual;
    return mpi_errno;
#else
    /* MPICH's own engine unpacks whole instances. */
    MPI_Aint size = MPIR_Typerep_size_external32(datatype);
    if (size == 0)
        return MPI_SUCCESS;
    return MPIR_Typerep_unpack_external(inbuf, outbuf, MPL_MIN(insize / size, outcount), datatype,
                                        actual_unpack_bytes);
#endif
}
