/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Data in device memory: what the rest of the glue does by host code, the engine's transfers do on
 * any memory.
 */
#include "typerep_internal.h"

/* The functions that MPL's backend asks (src/mpl/src/gpu/mpl_gpu_heddle.c). */
static int memory_kind(const void *ptr, int *device)
{
    return (int)heddle_memory_kind(ptr, device);
}

void MPII_heddle_device_init(void)
{
    static const struct MPL_gpu_heddle functions = {heddle_device_open, heddle_device_plugin,
                                                    memory_kind, heddle_staging_alloc,
                                                    heddle_staging_free};
    if (MPIR_TYPEREP_TAKES_DEVICES)
        MPL_gpu_use_heddle(&functions);
}

/* A buffer begins where its first byte is, which need not be where its pointer points. A type of
 * absolute addresses can name memory of any kind: the engine looks at each. */
static enum MPIR_Typerep_memory memory_of(const void *buf, MPI_Datatype datatype,
                                          const void **first)
{
    MPI_Aint true_lb = 0;
    if (!HANDLE_IS_BUILTIN(datatype)) {
        MPIR_Datatype *dtp;
        MPIR_Datatype_get_ptr(datatype, dtp);
        if (dtp == NULL)
            return MPIR_TYPEREP_HOST;
        if (buf == MPI_BOTTOM && !dtp->is_contig)
            return MPIR_TYPEREP_DEVICE;
        true_lb = dtp->true_lb;
    }
    *first = MPIR_get_contig_ptr(buf, true_lb);
    return heddle_memory_is_program(*first) ? MPIR_TYPEREP_HOST : MPIR_TYPEREP_UNKNOWN;
}

enum MPIR_Typerep_memory MPIR_Typerep_memory(const void *buf, MPI_Datatype datatype)
{
    const void *first;
    return memory_of(buf, datatype, &first);
}

int MPIR_Typerep_is_on_device(const void *buf, MPI_Datatype datatype)
{
    const void *first;
    const enum MPIR_Typerep_memory memory = memory_of(buf, datatype, &first);
    if (memory != MPIR_TYPEREP_UNKNOWN)
        return memory == MPIR_TYPEREP_DEVICE;
    const int kind = heddle_memory_kind(first, NULL);
    return kind == HEDDLE_MEMORY_DEVICE || kind == HEDDLE_MEMORY_MANAGED;
}

int MPIR_Typerep_is_device_only(const void *buf)
{
    MPL_pointer_attr_t attr;
    MPL_gpu_query_pointer_attr(buf, &attr);
    return attr.type == MPL_GPU_POINTER_DEV;
}

int MPII_heddle_transfer(const heddle_side *from, const heddle_side *to, MPI_Aint bytes,
                         heddle_op op)
{
    const heddle_move move = {*from, *to, bytes, op};
    int rc = heddle_transfer(&move, 1);
    if (unlikely(rc == HEDDLE_ERR_NOT_COMMITTED)) {
        rc = heddle_type_commit((heddle_type *)from->type);
        if (rc == HEDDLE_SUCCESS)
            rc = heddle_type_commit((heddle_type *)to->type);
        if (rc == HEDDLE_SUCCESS)
            rc = heddle_transfer(&move, 1);
    }
    return MPII_HEDDLE_RESULT(rc);
}

heddle_side MPII_heddle_side(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                             MPI_Aint offset)
{
    const heddle_side side = {(void *)buf, count, MPII_heddle_type(datatype), offset};
    return side;
}

heddle_side MPII_heddle_packed(const void *buf, MPI_Aint bytes)
{
    return MPII_heddle_side(buf, bytes, MPI_BYTE, 0);
}

int MPIR_Typerep_read(const void *buf, MPI_Aint count, MPI_Datatype datatype, void *to,
                      MPI_Aint bytes)
{
    const heddle_side from = MPII_heddle_side(buf, count, datatype, 0),
                      packed = MPII_heddle_packed(to, bytes);
    return MPII_heddle_transfer(&from, &packed, bytes, HEDDLE_OP_REPLACE);
}

heddle_type *MPIR_Typerep_committed(MPI_Datatype datatype)
{
    heddle_type *type = MPII_heddle_type(datatype);
    (void)heddle_type_commit(type); /* who uses it finds out if it could not be */
    return type;
}

int MPIR_Typerep_error(int error) { return MPII_heddle_error(error, __func__, __LINE__); }

/* MPIR_Localcopy, without its bounce buffer: from one layout to the other. */
int MPIR_Typerep_localcopy(const void *inbuf, MPI_Aint incount, MPI_Datatype intype, void *outbuf,
                           MPI_Aint outcount, MPI_Datatype outtype, MPI_Aint bytes, int *mpi_errno)
{
    if (!MPII_heddle_on_device(inbuf, intype) && !MPII_heddle_on_device(outbuf, outtype))
        return false;
    const heddle_side from = MPII_heddle_side(inbuf, incount, intype, 0);
    const heddle_side to = MPII_heddle_side(outbuf, outcount, outtype, 0);
    const int rc = MPII_heddle_transfer(&from, &to, bytes, HEDDLE_OP_REPLACE);
    if (*mpi_errno == MPI_SUCCESS) /* else it tells of truncation */
        *mpi_errno = rc;
    return true;
}

/* ---- what only the host can do --------------------------------------------------------------- */

int MPII_heddle_shadow(const void *buf, MPI_Aint count, MPI_Datatype datatype, bool copy,
                       struct MPII_heddle_shadow *shadow)
{
    shadow->buf = (void *)buf;
    shadow->memory = NULL;
    if (!MPII_heddle_on_device(buf, datatype))
        return MPI_SUCCESS;

    MPI_Aint true_lb, true_extent, extent;
    MPIR_Type_get_true_extent_impl(datatype, &true_lb, &true_extent);
    MPIR_Datatype_get_extent_macro(datatype, extent);
    const MPI_Aint span = (count - 1) * extent; /* may be negative */
    const MPI_Aint first = true_lb + MPL_MIN(span, 0);
    const int rc = heddle_staging_alloc(true_extent + MPL_MAX(span, -span),
                                        MPIR_get_contig_ptr(buf, true_lb), &shadow->memory);
    if (rc != HEDDLE_SUCCESS)
        return MPII_HEDDLE_RESULT(rc);
    shadow->buf = (char *)shadow->memory - first;
    if (!copy)
        return MPI_SUCCESS;
    const int mpi_errno = MPIR_Localcopy(buf, count, datatype, shadow->buf, count, datatype);
    if (mpi_errno != MPI_SUCCESS)
        MPII_heddle_shadow_drop(shadow);
    return mpi_errno;
}

void MPII_heddle_shadow_drop(struct MPII_heddle_shadow *shadow)
{
    heddle_staging_free(shadow->memory);
    shadow->memory = NULL;
}

int MPII_heddle_shadow_store(struct MPII_heddle_shadow *shadow, void *buf, MPI_Aint count,
                             MPI_Datatype datatype)
{
    int mpi_errno = MPI_SUCCESS;
    if (shadow->memory != NULL)
        mpi_errno = MPIR_Localcopy(shadow->buf, count, datatype, buf, count, datatype);
    MPII_heddle_shadow_drop(shadow);
    return mpi_errno;
}

/* Values that the host compares are few bytes: copies do. */
int MPIR_Typerep_equal(const void *one, const void *other, MPI_Datatype datatype, int *mpi_errno)
{
    struct MPII_heddle_shadow a, b = {NULL, NULL};
    *mpi_errno = MPII_heddle_shadow(one, 1, datatype, true, &a);
    if (*mpi_errno == MPI_SUCCESS)
        *mpi_errno = MPII_heddle_shadow(other, 1, datatype, true, &b);
    const int equal = *mpi_errno == MPI_SUCCESS && MPIR_Compare_equal(a.buf, b.buf, datatype);
    MPII_heddle_shadow_drop(&b);
    MPII_heddle_shadow_drop(&a);
    return equal;
}

/* MPIR_Reduce_local, where a buffer is a device's: by a kernel, where the engine has the operator
 * for the type; otherwise on copies in host memory. */
int MPIR_Typerep_reduce_local(const void *inbuf, void *inoutbuf, MPI_Aint count,
                              MPI_Datatype datatype, MPI_Op op, int *mpi_errno)
{
    if (!MPII_heddle_on_device(inbuf, datatype) && !MPII_heddle_on_device(inoutbuf, datatype))
        return false;

    if (HANDLE_IS_BUILTIN(op)) {
        *mpi_errno = (*MPIR_OP_HDL_TO_DTYPE_FN(op))(datatype);
        if (*mpi_errno != MPI_SUCCESS)
            return true;
        const heddle_op engine_op = MPII_heddle_op(op, datatype);
        if (engine_op != HEDDLE_OP_COUNT) {
            MPI_Aint size;
            MPIR_Datatype_get_size_macro(datatype, size);
            const heddle_side from = MPII_heddle_side(inbuf, count, datatype, 0);
            const heddle_side to = MPII_heddle_side(inoutbuf, count, datatype, 0);
            *mpi_errno = MPII_heddle_transfer(&from, &to, count * size, engine_op);
            return true;
        }
    }

    struct MPII_heddle_shadow in, inout = {NULL, NULL};
    *mpi_errno = MPII_heddle_shadow(inbuf, count, datatype, true, &in);
    if (*mpi_errno == MPI_SUCCESS)
        *mpi_errno = MPII_heddle_shadow(inoutbuf, count, datatype, true, &inout);
    if (*mpi_errno == MPI_SUCCESS)
        *mpi_errno = MPIR_Reduce_local(in.buf, inout.buf, count, datatype, op);
    if (*mpi_errno == MPI_SUCCESS)
        *mpi_errno = MPII_heddle_shadow_store(&inout, inoutbuf, count, datatype);
    MPII_heddle_shadow_drop(&inout);
    MPII_heddle_shadow_drop(&in);
    return true;
}

/* ---- messages that are packed before they are sent ------------------------------------------- */

char MPIR_Typerep_no_data[1];

int MPIR_Typerep_pack_message(const void *buf, MPI_Aint count, MPI_Datatype datatype, void **to,
                              MPI_Aint bytes, MPI_Aint *packed)
{
    const int mpi_errno = MPIR_Typerep_pack(buf, count, datatype, 0, *to, bytes, packed);
    if (mpi_errno == MPI_SUCCESS || !MPIR_TYPEREP_IS_NO_DATA(MPIR_Typerep_no_data))
        return mpi_errno;
    *to = MPIR_Typerep_no_data;
    *packed = bytes;
    return MPI_SUCCESS;
}

int MPIR_Typerep_pack_or_tell(const void *buf, MPI_Aint count, MPI_Datatype datatype, void *to,
                              MPI_Aint bytes, MPI_Aint *packed, int rank, int tag,
                              struct MPIR_Comm *comm)
{
    MPIR_Request *sreq = NULL;
    const int mpi_errno = MPIR_Typerep_pack(buf, count, datatype, 0, to, bytes, packed);
    if (mpi_errno != MPI_SUCCESS && MPIR_TYPEREP_IS_NO_DATA(MPIR_Typerep_no_data) &&
        MPID_Isend(MPIR_Typerep_no_data, bytes, MPI_BYTE, rank, tag, comm, MPIR_CONTEXT_INTRA_PT2PT,
                   &sreq) == MPI_SUCCESS)
        MPIR_Request_free(sreq);
    return mpi_errno;
}
