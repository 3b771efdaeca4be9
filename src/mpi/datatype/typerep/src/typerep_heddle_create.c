/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI's type constructors: each makes the engine's type and fills in what MPICH keeps of it.
 */
#include "typerep_internal.h"

/* What MPICH keeps about the predefined types inside a datatype, for MPI_Get_elements and for
 * accumulates. `type`: the one predefined type, or MPI_DATATYPE_NULL. `size`: its size, or -1 where
 * there is no one builtin type; a pair such as MPI_FLOAT_INT is two. `count`: how many of them. */
struct elements {
    MPI_Datatype type;
    MPI_Aint size;
    MPI_Aint count;
};

static struct elements elements_of(MPI_Datatype type)
{
    if (HANDLE_IS_BUILTIN(type))
        return (struct elements){type, MPIR_Datatype_get_basic_size(type), 1};

    MPIR_Datatype *dtp;
    MPIR_Datatype_get_ptr(type, dtp);
    return (struct elements){dtp->basic_type, dtp->builtin_element_size, dtp->n_builtin_elements};
}

/* Members without data count for nothing. */
static struct elements elements_of_struct(MPI_Aint count, const MPI_Aint *blocklengths,
                                          const MPI_Datatype *types)
{
    struct elements all = {MPI_DATATYPE_NULL, 0, 0};
    bool seen = false;
    for (MPI_Aint i = 0; i < count; i++) {
        MPI_Aint size;
        MPIR_Datatype_get_size_macro(types[i], size);
        if (blocklengths[i] == 0 || size == 0)
            continue;

        struct elements member = elements_of(types[i]);
        member.count *= blocklengths[i];
        if (!seen) {
            all = member;
            seen = true;
        } else {
            all.count += member.count;
            if (all.type != member.type) {
                all.type = MPI_DATATYPE_NULL;
                all.size = -1;
            }
        }
    }
    return all;
}

static int set_layout(MPIR_Datatype *newtype)
{
    heddle_type_info info = {.bytes = sizeof info};
    int rc = heddle_type_get_info(newtype->typerep.handle, &info);
    if (unlikely(rc != HEDDLE_SUCCESS))
        return MPII_HEDDLE_RESULT(rc);

    newtype->size = info.size;
    newtype->lb = info.lb;
    newtype->extent = info.extent;
    newtype->ub = info.lb + info.extent;
    newtype->true_lb = info.true_lb;
    newtype->true_ub = info.true_lb + info.true_extent;
    newtype->alignsize = info.alignment;
    newtype->is_contig = info.contiguous;
    newtype->typerep.num_contig_blocks = MPL_MAX(info.runs, 1); /* known once it is committed */
    return MPI_SUCCESS;
}

/* Ends each constructor, whose engine call answered `rc`. */
static int typerep_create(int rc, MPIR_Datatype *newtype, struct elements elements)
{
    if (unlikely(rc != HEDDLE_SUCCESS))
        return MPII_HEDDLE_RESULT(rc);

    newtype->basic_type = elements.type;
    newtype->builtin_element_size = elements.size;
    newtype->n_builtin_elements = elements.count;
    return set_layout(newtype);
}

/* Ends one whose typemap repeats that of `oldtype`, resizes it or is it. */
static int typerep_create_of(int rc, MPI_Datatype oldtype, MPIR_Datatype *newtype)
{
    int mpi_errno = typerep_create(rc, newtype, elements_of(oldtype));
    MPI_Aint size;
    MPIR_Datatype_get_size_macro(oldtype, size);
    if (mpi_errno == MPI_SUCCESS && size > 0)
        newtype->n_builtin_elements *= newtype->size / size;
    return mpi_errno;
}

int MPIR_Typerep_create_contig(MPI_Aint count, MPI_Datatype oldtype, MPIR_Datatype *newtype)
{
    int rc = heddle_type_contiguous(count, MPII_heddle_type(oldtype), &newtype->typerep.handle);
    return typerep_create_of(rc, oldtype, newtype);
}

int MPIR_Typerep_create_vector(MPI_Aint count, MPI_Aint blocklength, MPI_Aint stride,
                               MPI_Datatype oldtype, MPIR_Datatype *newtype)
{
    int rc = heddle_type_vector(count, blocklength, stride, MPII_heddle_type(oldtype),
                                &newtype->typerep.handle);
    return typerep_create_of(rc, oldtype, newtype);
}

int MPIR_Typerep_create_hvector(MPI_Aint count, MPI_Aint blocklength, MPI_Aint stride,
                                MPI_Datatype oldtype, MPIR_Datatype *newtype)
{
    int rc = heddle_type_hvector(count, blocklength, stride, MPII_heddle_type(oldtype),
                                 &newtype->typerep.handle);
    return typerep_create_of(rc, oldtype, newtype);
}

int MPIR_Typerep_create_indexed_block(MPI_Aint count, MPI_Aint blocklength,
                                      const MPI_Aint *array_of_displacements, MPI_Datatype oldtype,
                                      MPIR_Datatype *newtype)
{
    int rc = heddle_type_indexed_block(count, blocklength, array_of_displacements,
                                       MPII_heddle_type(oldtype), &newtype->typerep.handle);
    return typerep_create_of(rc, oldtype, newtype);
}

int MPIR_Typerep_create_hindexed_block(MPI_Aint count, MPI_Aint blocklength,
                                       const MPI_Aint *array_of_displacements, MPI_Datatype oldtype,
                                       MPIR_Datatype *newtype)
{
    int rc = heddle_type_hindexed_block(count, blocklength, array_of_displacements,
                                        MPII_heddle_type(oldtype), &newtype->typerep.handle);
    return typerep_create_of(rc, oldtype, newtype);
}

int MPIR_Typerep_create_indexed(MPI_Aint count, const MPI_Aint *array_of_blocklengths,
                                const MPI_Aint *array_of_displacements, MPI_Datatype oldtype,
                                MPIR_Datatype *newtype)
{
    int rc = heddle_type_indexed(count, array_of_blocklengths, array_of_displacements,
                                 MPII_heddle_type(oldtype), &newtype->typerep.handle);
    return typerep_create_of(rc, oldtype, newtype);
}

/* The contents are one malloc of the size of the arrays, and the arrays are copied nowhere else. */
int MPIR_Typerep_create_indexed_int(int count, const int *array_of_blocklengths,
                                    const int *array_of_displacements, MPI_Datatype oldtype,
                                    MPIR_Datatype *newtype)
{
    int rc = heddle_type_indexed_int(count, array_of_blocklengths, array_of_displacements,
                                     MPII_heddle_type(oldtype), &newtype->typerep.handle);
    int mpi_errno = typerep_create_of(rc, oldtype, newtype);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno =
            MPIR_Datatype_set_contents(newtype, MPI_COMBINER_INDEXED, 2 * (MPI_Aint)count + 1, 0, 0,
                                       1, NULL, NULL, NULL, &oldtype);
    if (mpi_errno != MPI_SUCCESS) {
        heddle_type_release(newtype->typerep.handle);
        MPIR_Handle_obj_free(&MPIR_Datatype_mem, newtype);
        return mpi_errno;
    }

    int *ints;
    MPI_Aint *aints, *counts;
    MPI_Datatype *types;
    MPIR_Datatype_access_contents(newtype->contents, &ints, &aints, &counts, &types);
    ints[0] = count;
    memcpy(ints + 1, array_of_blocklengths, sizeof(int) * (size_t)count);
    memcpy(ints + 1 + count, array_of_displacements, sizeof(int) * (size_t)count);
    return MPI_SUCCESS;
}

int MPIR_Typerep_create_hindexed(MPI_Aint count, const MPI_Aint *array_of_blocklengths,
                                 const MPI_Aint *array_of_displacements, MPI_Datatype oldtype,
                                 MPIR_Datatype *newtype)
{
    int rc = heddle_type_hindexed(count, array_of_blocklengths, array_of_displacements,
                                  MPII_heddle_type(oldtype), &newtype->typerep.handle);
    return typerep_create_of(rc, oldtype, newtype);
}

int MPIR_Typerep_create_struct(MPI_Aint count, const MPI_Aint *array_of_blocklengths,
                               const MPI_Aint *array_of_displacements,
                               const MPI_Datatype *array_of_types, MPIR_Datatype *newtype)
{
    heddle_type *few[32] = {NULL};
    heddle_type **types = few;
    if (count > (MPI_Aint)(sizeof(few) / sizeof(few[0]))) {
        types = MPIR_SCRATCH_OF_LIST(count * sizeof(*types));
        if (types == NULL)
            return MPII_HEDDLE_RESULT(HEDDLE_ERR_NO_MEMORY);
    }
    for (MPI_Aint i = 0; i < count; i++)
        types[i] = MPII_heddle_type(array_of_types[i]);

    int rc = heddle_type_struct(count, array_of_blocklengths, array_of_displacements, types,
                                &newtype->typerep.handle);
    if (types != few)
        MPIR_Typerep_scratch_free(types);
    return typerep_create(rc, newtype,
                          elements_of_struct(count, array_of_blocklengths, array_of_types));
}

/* MPICH makes arrays of vectors, whose strides it computes itself. */
int MPIR_Typerep_check_array(int ndims, const MPI_Aint sizes[], MPI_Aint extent)
{
    MPI_Aint bytes = extent;
    for (int i = 0; i < ndims; i++)
        if (__builtin_mul_overflow(bytes, sizes[i], &bytes))
            return MPII_HEDDLE_RESULT(HEDDLE_ERR_OVERFLOW);
    return MPI_SUCCESS;
}

int MPIR_Typerep_create_resized(MPI_Datatype oldtype, MPI_Aint lb, MPI_Aint extent,
                                MPIR_Datatype *newtype)
{
    int rc = heddle_type_resized(MPII_heddle_type(oldtype), lb, extent, &newtype->typerep.handle);
    return typerep_create_of(rc, oldtype, newtype);
}

int MPIR_Typerep_create_dup(MPI_Datatype oldtype, MPIR_Datatype *newtype)
{
    int rc = heddle_type_dup(MPII_heddle_type(oldtype), &newtype->typerep.handle);
    return typerep_create_of(rc, oldtype, newtype);
}

/* MPICH has filled in the pair by its C struct; the engine's must be the same. A pair counts as two
 * elements of no one size: with a size, MPI_Get_elements would divide by the size of a builtin type
 * that a pair does not have. */
int MPIR_Typerep_create_pairtype(MPI_Datatype type, MPIR_Datatype *newtype)
{
    const MPI_Aint size = newtype->size, extent = newtype->extent, true_ub = newtype->true_ub;
    newtype->typerep.handle = heddle_type_predefined(MPII_heddle_element(type));
    newtype->builtin_element_size = -1;

    int mpi_errno = set_layout(newtype);
    MPIR_Assertp(mpi_errno != MPI_SUCCESS || (newtype->size == size && newtype->extent == extent &&
                                              newtype->true_ub == true_ub));
    return mpi_errno;
}
