/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Staging memory for ROMIO: packed and unpacked in the background by the engine's transfers. The
 * dataloop engine has no devices, so that nothing of it is ever staged.
 */
#include "typerep_staging.h"
#include "typerep_internal.h"

#if MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_HEDDLE

int MPIR_Staging_is_open(void) { return MPII_HEDDLE_HAS_DEVICES; }

int MPIR_Staging_is_needed(const void *buf, MPI_Datatype datatype)
{
    return MPII_heddle_on_device(buf, datatype);
}

int MPIR_Staging_alloc(struct MPIR_Staging *staging, MPI_Aint bytes,
                       const struct MPIR_Staging_buffer *buffer)
{
    MPI_Aint true_lb, true_extent;
    MPIR_Type_get_true_extent_impl(buffer->datatype, &true_lb, &true_extent);
    /* Absolute addresses may begin in the host's memory. */
    const void *const near =
        buffer->buf == MPI_BOTTOM ? NULL : MPIR_get_contig_ptr(buffer->buf, true_lb);
    const int rc = heddle_staging_alloc(bytes, near, &staging->memory);
    return MPII_HEDDLE_RESULT(rc);
}

static int begin(struct MPIR_Staging *staging, const heddle_side *from, const heddle_side *to,
                 MPI_Aint bytes)
{
    const heddle_move move = {*from, *to, bytes, HEDDLE_OP_REPLACE};
    const int rc = heddle_transfer_begin(&move, 1, &staging->moving);
    if (rc != HEDDLE_SUCCESS)
        staging->moving = NULL;
    return MPII_HEDDLE_RESULT(rc);
}

static heddle_side side_of(const struct MPIR_Staging_buffer *buffer, MPI_Aint offset)
{
    (void)MPIR_Typerep_committed(buffer->datatype);
    return MPII_heddle_side(buffer->buf, buffer->count, buffer->datatype, offset);
}

int MPIR_Staging_pack(struct MPIR_Staging *staging, const struct MPIR_Staging_buffer *buffer,
                      MPI_Aint offset, MPI_Aint bytes)
{
    const heddle_side from = side_of(buffer, offset),
                      to = MPII_heddle_packed(staging->memory, bytes);
    return begin(staging, &from, &to, bytes);
}

int MPIR_Staging_unpack(struct MPIR_Staging *staging, const struct MPIR_Staging_buffer *buffer,
                        MPI_Aint offset, MPI_Aint bytes)
{
    const heddle_side from = MPII_heddle_packed(staging->memory, bytes),
                      to = side_of(buffer, offset);
    return begin(staging, &from, &to, bytes);
}

int MPIR_Staging_wait(struct MPIR_Staging *staging)
{
    const int rc = heddle_wait(&staging->moving);
    staging->moving = NULL;
    return MPII_HEDDLE_RESULT(rc);
}

void MPIR_Staging_free(struct MPIR_Staging *staging)
{
    (void)heddle_wait(&staging->moving);
    heddle_staging_free(staging->memory);
    staging->memory = NULL;
}

#else

int MPIR_Staging_is_open(void) { return 0; }

int MPIR_Staging_is_needed(const void *buf, MPI_Datatype datatype)
{
    (void)buf;
    (void)datatype;
    return 0;
}

int MPIR_Staging_alloc(struct MPIR_Staging *staging, MPI_Aint bytes,
                       const struct MPIR_Staging_buffer *buffer)
{
    (void)staging;
    (void)bytes;
    (void)buffer;
    return MPI_ERR_INTERN;
}

int MPIR_Staging_pack(struct MPIR_Staging *staging, const struct MPIR_Staging_buffer *buffer,
                      MPI_Aint offset, MPI_Aint bytes)
{
    (void)offset;
    return MPIR_Staging_alloc(staging, bytes, buffer);
}

int MPIR_Staging_unpack(struct MPIR_Staging *staging, const struct MPIR_Staging_buffer *buffer,
                        MPI_Aint offset, MPI_Aint bytes)
{
    (void)offset;
    return MPIR_Staging_alloc(staging, bytes, buffer);
}

int MPIR_Staging_wait(struct MPIR_Staging *staging)
{
    (void)staging;
    return MPI_SUCCESS;
}

void MPIR_Staging_free(struct MPIR_Staging *staging) { (void)staging; }

#endif
