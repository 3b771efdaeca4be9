/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reductions into a target of any layout, as MPI_Accumulate and its kin need them.
 */
#include "typerep_internal.h"

/* Collectives and MPI_Reduce_local ask this to learn whether the engine should reduce for them.
 * Their buffers on the host are dense, and MPICH's own loops are as good there. */
int MPIR_Typerep_reduce_is_supported(MPI_Op op, MPI_Datatype datatype)
{
    (void)op;
    (void)datatype;
    return 0;
}

int MPIR_Typerep_reduce(const void *in_buf, void *out_buf, MPI_Aint count, MPI_Datatype datatype,
                        MPI_Op op)
{
    heddle_type *type = MPII_heddle_type(datatype);
    int rc;
    MPII_HEDDLE_CALL(
        rc, type,
        heddle_accumulate(in_buf, count, type, out_buf, count, type, MPII_heddle_op(op, datatype)));
    return MPII_HEDDLE_RESULT(rc);
}

/* The source's bytes onto the target's, in packed order. */
static int replace(const void *source_buf, MPI_Aint source_count, MPI_Datatype source_dtp,
                   void *target_buf, MPI_Aint target_count, MPI_Datatype target_dtp,
                   bool source_is_packed)
{
    MPI_Aint size;
    MPIR_Datatype_get_size_macro(source_dtp, size);
    const MPI_Aint bytes = source_count * size;

    int64_t actual = 0;
    int rc;
    heddle_type *target = MPII_heddle_type(target_dtp);
    if (source_is_packed)
        MPII_HEDDLE_CALL(
            rc, target,
            heddle_unpack(source_buf, bytes, target_buf, target_count, target, 0, &actual));
    else
        MPII_HEDDLE_CALL(rc, target,
                         heddle_copy(source_buf, source_count, MPII_heddle_type(source_dtp),
                                     target_buf, target_count, target, 0, bytes, &actual));
    if (rc == HEDDLE_SUCCESS && actual < bytes)
        rc = HEDDLE_ERR_TRUNCATE;
    return MPII_HEDDLE_RESULT(rc);
}

/* The same, and target = target op source, on any memory. Where the engine has no such operator for
 * the type, on copies in host memory. */
static int on_device(void *source_buf, MPI_Aint source_count, MPI_Datatype source_dtp,
                     void *target_buf, MPI_Aint target_count, MPI_Datatype target_dtp, MPI_Op op,
                     bool source_is_packed)
{
    MPI_Aint size;
    MPIR_Datatype_get_size_macro(source_dtp, size);
    const MPI_Aint bytes = source_count * size;
    const heddle_op engine_op =
        op == MPI_REPLACE ? HEDDLE_OP_REPLACE : MPII_heddle_op(op, source_dtp);
    if (engine_op != HEDDLE_OP_COUNT) {
        const heddle_side from = source_is_packed
                                     ? MPII_heddle_packed(source_buf, bytes)
                                     : MPII_heddle_side(source_buf, source_count, source_dtp, 0);
        const heddle_side to = MPII_heddle_side(target_buf, target_count, target_dtp, 0);
        return MPII_heddle_transfer(&from, &to, bytes, engine_op);
    }

    struct MPII_heddle_shadow source, target = {NULL, NULL};
    int mpi_errno = source_is_packed
                        ? MPII_heddle_shadow(source_buf, bytes, MPI_BYTE, true, &source)
                        : MPII_heddle_shadow(source_buf, source_count, source_dtp, true, &source);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = MPII_heddle_shadow(target_buf, target_count, target_dtp, true, &target);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = MPII_Typerep_op_fallback(source.buf, source_count, source_dtp, target.buf,
                                             target_count, target_dtp, op, source_is_packed);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = MPII_heddle_shadow_store(&target, target_buf, target_count, target_dtp);
    MPII_heddle_shadow_drop(&target);
    MPII_heddle_shadow_drop(&source);
    return mpi_errno;
}

/* target = target op source. The source's type is predefined; the target may have any layout of
 * that same type. Where the engine has no such operator for it, MPICH's own loops do it. */
int MPIR_Typerep_op(void *source_buf, MPI_Aint source_count, MPI_Datatype source_dtp,
                    void *target_buf, MPI_Aint target_count, MPI_Datatype target_dtp, MPI_Op op,
                    bool source_is_packed, int mapped_device)
{
    (void)mapped_device;
    if (op == MPI_NO_OP || source_count == 0)
        return MPI_SUCCESS; /* and there need not be a source type */

    MPIR_Assert(HANDLE_IS_BUILTIN(op));
    MPIR_Assert(MPIR_DATATYPE_IS_PREDEFINED(source_dtp));
    if (unlikely(MPII_heddle_on_device(source_buf, source_is_packed ? MPI_BYTE : source_dtp) ||
                 MPII_heddle_on_device(target_buf, target_dtp)))
        return on_device(source_buf, source_count, source_dtp, target_buf, target_count, target_dtp,
                         op, source_is_packed);
    if (op == MPI_REPLACE)
        return replace(source_buf, source_count, source_dtp, target_buf, target_count, target_dtp,
                       source_is_packed);

    int mpi_errno = (*MPIR_OP_HDL_TO_DTYPE_FN(op))(source_dtp);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;

    const heddle_op engine_op = MPII_heddle_op(op, source_dtp);
    if (engine_op == HEDDLE_OP_COUNT)
        return MPII_Typerep_op_fallback(source_buf, source_count, source_dtp, target_buf,
                                        target_count, target_dtp, op, source_is_packed);

    heddle_type *source = source_is_packed ? NULL : MPII_heddle_type(source_dtp);
    heddle_type *target = MPII_heddle_type(target_dtp);
    int rc;
    MPII_HEDDLE_CALL(rc, target,
                     heddle_accumulate(source_buf, source_count, source, target_buf, target_count,
                                       target, engine_op));
    return MPII_HEDDLE_RESULT(rc);
}

/* Where the engine has no such operator, on a packed copy. */
static int accumulate_packed(const heddle_side *origin, MPI_Aint bytes, MPI_Datatype element,
                             void *target, MPI_Aint target_count, MPI_Datatype target_type,
                             MPI_Op op)
{
    MPI_Aint size;
    void *memory;
    MPIR_Datatype_get_size_macro(element, size);
    const int rc = heddle_staging_alloc(bytes, NULL, &memory);
    if (rc != HEDDLE_SUCCESS)
        return MPII_HEDDLE_RESULT(rc);
    const heddle_side packed = MPII_heddle_packed(memory, bytes);
    int mpi_errno = MPII_heddle_transfer(origin, &packed, bytes, HEDDLE_OP_REPLACE);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = MPIR_Typerep_op(memory, bytes / size, element, target, target_count,
                                    target_type, op, true, -1);
    heddle_staging_free(memory);
    return mpi_errno;
}

int MPIR_Typerep_accumulate(const void *origin, MPI_Aint origin_count, MPI_Datatype origin_type,
                            void *target, MPI_Aint target_count, MPI_Datatype target_type,
                            MPI_Op op)
{
    MPIR_Datatype *dtp;
    if (MPIR_DATATYPE_IS_PREDEFINED(origin_type))
        return MPIR_Typerep_op((void *)origin, origin_count, origin_type, target, target_count,
                               target_type, op, false, -1);
    MPIR_Datatype_get_ptr(origin_type, dtp);
    const MPI_Aint bytes = origin_count * dtp->size;
    const heddle_side from = MPII_heddle_side(origin, origin_count, origin_type, 0),
                      to = MPII_heddle_side(target, target_count, target_type, 0);
    if (op == MPI_REPLACE)
        return MPII_heddle_transfer(&from, &to, bytes, HEDDLE_OP_REPLACE);
    const heddle_op engine_op = MPII_heddle_op(op, dtp->basic_type);
    return engine_op != HEDDLE_OP_COUNT ? MPII_heddle_transfer(&from, &to, bytes, engine_op)
                                        : accumulate_packed(&from, bytes, dtp->basic_type, target,
                                                            target_count, target_type, op);
}
