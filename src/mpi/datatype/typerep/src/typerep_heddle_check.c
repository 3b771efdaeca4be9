/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Arguments that MPICH does not look at: of arrays' types, of packing, and the operators of
 * one-sided calls.
 */
#include "typerep_internal.h"

static int too_small(const char *argument, MPI_Aint value, MPI_Aint least)
{
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__, MPI_ERR_ARG,
                                "**argtoosmall", "**argtoosmall %s %d %d", argument, (int)value,
                                (int)least);
}

static int wrong(const char *argument)
{
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__, MPI_ERR_ARG,
                                "**arg", "**arg %s", argument);
}

/* MPI 4.0, section 5.1.3 */
int MPIR_Typerep_check_subarray(int ndims, const MPI_Aint *sizes, const MPI_Aint *subsizes,
                                const MPI_Aint *starts)
{
    if (ndims < 1)
        return too_small("ndims", ndims, 1);
    for (int i = 0; i < ndims; i++) {
        if (sizes[i] < 1)
            return too_small("array_of_sizes", sizes[i], 1);
        if (subsizes[i] < 1)
            return too_small("array_of_subsizes", subsizes[i], 1);
        if (subsizes[i] > sizes[i])
            return wrong("array_of_subsizes");
        if (starts[i] < 0 || starts[i] > sizes[i] - subsizes[i])
            return wrong("array_of_starts");
    }
    return MPI_SUCCESS;
}

/* One dimension of MPI_Type_create_darray. */
static int check_distribution(MPI_Aint gsize, int distribution, int darg, int psize)
{
    const bool chosen = darg != MPI_DISTRIBUTE_DFLT_DARG;
    if (gsize < 1)
        return too_small("array_of_gsizes", gsize, 1);
    if (psize < 1)
        return too_small("array_of_psizes", psize, 1);
    switch (distribution) {
    case MPI_DISTRIBUTE_BLOCK:
        return chosen && (darg < 1 || (MPI_Aint)darg * psize < gsize) ? wrong("array_of_dargs")
                                                                      : MPI_SUCCESS;
    case MPI_DISTRIBUTE_CYCLIC:
        return chosen && darg < 1 ? too_small("array_of_dargs", darg, 1) : MPI_SUCCESS;
    case MPI_DISTRIBUTE_NONE:
        return psize != 1 ? wrong("array_of_psizes") : MPI_SUCCESS;
    default:
        return wrong("array_of_distribs");
    }
}

/* MPI 4.0, section 5.1.4 */
int MPIR_Typerep_check_darray(int size, int ndims, const MPI_Aint *gsizes, const int *distributions,
                              const int *dargs, const int *psizes)
{
    MPI_Aint processes = 1;
    if (ndims < 1)
        return too_small("ndims", ndims, 1);
    for (int i = 0; i < ndims; i++) {
        const int mpi_errno = check_distribution(gsizes[i], distributions[i], dargs[i], psizes[i]);
        if (mpi_errno != MPI_SUCCESS)
            return mpi_errno;
        processes *= psizes[i];
        if (processes > size)
            return wrong("array_of_psizes");
    }
    return processes == size ? MPI_SUCCESS : wrong("array_of_psizes");
}

/* Checks that `bytes` of packed data fit at `*position` of a packed buffer,
 * and that there are buffers. */
static int check_packed(const void *buf, MPI_Datatype datatype, const void *packed, MPI_Aint bytes,
                        MPI_Aint position, MPI_Aint size)
{
    if (position < 0)
        return too_small("position", position, 0);
    if (bytes == 0)
        return MPI_SUCCESS;
    if (bytes > size - position)
        return MPII_HEDDLE_RESULT(HEDDLE_ERR_TRUNCATE);
    MPI_Aint true_lb, true_extent;
    MPIR_Type_get_true_extent_impl(datatype, &true_lb, &true_extent);
    if (packed == NULL || MPIR_get_contig_ptr(buf, true_lb) == NULL)
        return MPII_HEDDLE_RESULT(HEDDLE_ERR_BUFFER);
    return MPI_SUCCESS;
}

int MPIR_Typerep_check_pack(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                            const void *packed, MPI_Aint position, MPI_Aint size)
{
    MPI_Aint bytes;
    MPIR_Datatype_get_size_macro(datatype, bytes);
    if (__builtin_mul_overflow(bytes, count, &bytes))
        return MPII_HEDDLE_RESULT(HEDDLE_ERR_OVERFLOW);
    return check_packed(buf, datatype, packed, bytes, position, size);
}

int MPIR_Typerep_check_external(const char *datarep, const void *buf, MPI_Aint count,
                                MPI_Datatype datatype, const void *packed, MPI_Aint position,
                                MPI_Aint size)
{
    MPI_Aint bytes;
    const int mpi_errno = MPIR_Typerep_external_size(datarep, count, datatype, &bytes);
    return mpi_errno != MPI_SUCCESS ? mpi_errno
                                    : check_packed(buf, datatype, packed, bytes, position, size);
}

/* The one predefined type that a datatype consists of: MPI_DATATYPE_NULL if there are several. */
static MPI_Datatype basic_type(MPI_Datatype datatype)
{
    if (MPIR_DATATYPE_IS_PREDEFINED(datatype))
        return datatype;
    MPIR_Datatype *dtp;
    MPIR_Datatype_get_ptr(datatype, dtp);
    return dtp->basic_type;
}

/* MPI 4.0, section 12.3.4: all types of the call consist of one predefined type,
 * which has the operator. */
int MPIR_Typerep_check_op(MPI_Op op, MPI_Datatype origin, MPI_Datatype target)
{
    MPI_Aint size, origin_size;
    MPIR_Datatype_get_size_macro(target, size);
    if (size == 0)
        return MPI_SUCCESS;
    const MPI_Datatype basic = basic_type(target);
    if (basic == MPI_DATATYPE_NULL)
        return MPII_HEDDLE_RESULT(HEDDLE_ERR_TYPE);
    if (op == MPI_NO_OP) /* and there need not be an origin */
        return MPI_SUCCESS;
    MPIR_Datatype_get_size_macro(origin, origin_size);
    if (origin_size > 0 && basic_type(origin) == MPI_DATATYPE_NULL)
        return MPII_HEDDLE_RESULT(HEDDLE_ERR_TYPE);
    return (*MPIR_OP_HDL_TO_DTYPE_FN(op))(basic);
}
