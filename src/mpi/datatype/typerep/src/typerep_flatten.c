/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Datatypes as bytes, for the target of an RMA call or the receiver of a message through shared
 * memory. A header holds what MPICH keeps of a datatype; the engine's own form follows.
 *
 * Both processes run the same build: the header has its native layout and MPI handles mean the
 * same. Its first two fields refuse bytes that another build made.
 */
#include "typerep_internal.h"

#if MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_DATALOOP
#include "dataloop.h"
#endif

#define FLATTENED_MAGIC 0x6c646548 /* "Hedl" */
#define FLATTENED_VERSION (100 * MPICH_DATATYPE_ENGINE + 1)

struct header {
    int32_t magic;
    int32_t version;
    int64_t engine_size; /* bytes after the header */
    MPI_Aint size, extent, lb, ub, true_lb, true_ub, alignsize;
    MPI_Aint num_contig_blocks, n_builtin_elements, builtin_element_size;
    MPI_Datatype basic_type;
    int32_t is_contig;
};

/* The engine's form begins aligned when the whole does. */
MPL_static_assert(sizeof(struct header) % 8 == 0, "padding in a flattened datatype");

#if MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_HEDDLE

static int engine_flatten_size(MPIR_Datatype *dtp, int64_t *size)
{
    size_t bytes = 0;
    int rc = heddle_flatten_size(MPII_heddle_handle(dtp), &bytes);
    *size = (int64_t)bytes;
    return MPII_HEDDLE_RESULT(rc);
}

static int engine_flatten(MPIR_Datatype *dtp, void *bytes, int64_t size)
{
    heddle_type *type = MPII_heddle_handle(dtp);
    int rc;
    MPII_HEDDLE_CALL(rc, type, heddle_flatten(type, bytes, size));
    return MPII_HEDDLE_RESULT(rc);
}

static int engine_unflatten(MPIR_Datatype *dtp, void *bytes, int64_t size)
{
    return MPII_HEDDLE_RESULT(heddle_unflatten(bytes, size, &dtp->typerep.handle));
}

#else

static int engine_flatten_size(MPIR_Datatype *dtp, int64_t *size)
{
    int bytes = 0;
    int mpi_errno = MPIR_Dataloop_flatten_size(dtp, &bytes);
    *size = bytes;
    return mpi_errno;
}

static int engine_flatten(MPIR_Datatype *dtp, void *bytes, int64_t size)
{
    (void)size;
    return MPIR_Dataloop_flatten(dtp, bytes);
}

static int engine_unflatten(MPIR_Datatype *dtp, void *bytes, int64_t size)
{
    (void)size;
    return MPIR_Dataloop_unflatten(dtp, bytes);
}

#endif

int MPIR_Typerep_flatten_size(MPIR_Datatype *datatype_ptr, int *flattened_type_size)
{
    int mpi_errno = MPI_SUCCESS;
    int64_t engine_size = 0;

    *flattened_type_size = 0;
    mpi_errno = engine_flatten_size(datatype_ptr, &engine_size);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(engine_size > INT_MAX - (int64_t)sizeof(struct header), mpi_errno,
                        MPI_ERR_TYPE, "**heddleflatsize");
    *flattened_type_size = (int)(sizeof(struct header) + engine_size);

fn_exit:
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

int MPIR_Typerep_flatten(MPIR_Datatype *datatype_ptr, void *flattened_type)
{
    int64_t engine_size = 0;
    int mpi_errno = engine_flatten_size(datatype_ptr, &engine_size);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;

    const struct header header = {
        .magic = FLATTENED_MAGIC,
        .version = FLATTENED_VERSION,
        .engine_size = engine_size,
        .size = datatype_ptr->size,
        .extent = datatype_ptr->extent,
        .lb = datatype_ptr->lb,
        .ub = datatype_ptr->ub,
        .true_lb = datatype_ptr->true_lb,
        .true_ub = datatype_ptr->true_ub,
        .alignsize = datatype_ptr->alignsize,
        .num_contig_blocks = datatype_ptr->typerep.num_contig_blocks,
        .n_builtin_elements = datatype_ptr->n_builtin_elements,
        .builtin_element_size = datatype_ptr->builtin_element_size,
        .basic_type = datatype_ptr->basic_type,
        .is_contig = datatype_ptr->is_contig,
    };
    memcpy(flattened_type, &header, sizeof(header));
    return engine_flatten(datatype_ptr, (char *)flattened_type + sizeof(header), engine_size);
}

/* On failure the datatype is one without data, which the callers that look at no error can free. */
int MPIR_Typerep_unflatten(MPIR_Datatype *datatype_ptr, void *flattened_type)
{
    int mpi_errno = MPI_SUCCESS;
    struct header header;
    memcpy(&header, flattened_type, sizeof(header));

    datatype_ptr->is_committed = 1;
    datatype_ptr->attributes = NULL;
    datatype_ptr->name[0] = 0;
    datatype_ptr->contents = NULL;
    datatype_ptr->flattened = NULL;
    datatype_ptr->typerep.handle = MPIR_TYPEREP_HANDLE_NULL;
    datatype_ptr->size = 0;
    datatype_ptr->is_contig = 1;

    MPIR_ERR_CHKANDJUMP(header.magic != FLATTENED_MAGIC || header.version != FLATTENED_VERSION,
                        mpi_errno, MPI_ERR_INTERN, "**heddleflat");
    mpi_errno =
        engine_unflatten(datatype_ptr, (char *)flattened_type + sizeof(header), header.engine_size);
    MPIR_ERR_CHECK(mpi_errno);

    datatype_ptr->size = header.size;
    datatype_ptr->extent = header.extent;
    datatype_ptr->lb = header.lb;
    datatype_ptr->ub = header.ub;
    datatype_ptr->true_lb = header.true_lb;
    datatype_ptr->true_ub = header.true_ub;
    datatype_ptr->alignsize = header.alignsize;
    datatype_ptr->typerep.num_contig_blocks = header.num_contig_blocks;
    datatype_ptr->n_builtin_elements = header.n_builtin_elements;
    datatype_ptr->builtin_element_size = header.builtin_element_size;
    datatype_ptr->basic_type = header.basic_type;
    datatype_ptr->is_contig = header.is_contig;

fn_exit:
    return mpi_errno;
fn_fail:
    goto fn_exit;
}
