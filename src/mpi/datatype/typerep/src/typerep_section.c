/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fortran's array sections as buffers (MPI 4.0, section 19.1.12). A datatype counts in the
 * section's elements as if they lay one after the other. This makes the datatype of where they lie.
 */
#include "typerep_internal.h"

enum { MOST_RUNS = 1024 }; /* that are asked for at a time */

struct section {
    int rank;
    const MPI_Aint *extents, *strides; /* strides in bytes */
    MPI_Aint element;                  /* bytes of one */
    MPI_Aint elements;                 /* of all */
};

/* Blocks of memory, in the order of the data. */
struct blocks {
    MPI_Aint *at, *bytes;
    MPI_Aint count, room;
};

static int append(struct blocks *blocks, MPI_Aint at, MPI_Aint bytes)
{
    const MPI_Aint last = blocks->count - 1;
    if (last >= 0 && blocks->at[last] + blocks->bytes[last] == at) {
        blocks->bytes[last] += bytes;
        return MPI_SUCCESS;
    }
    if (blocks->count == blocks->room) {
        const MPI_Aint room = 2 * blocks->room + 64;
        MPI_Aint *more_at = MPL_realloc(blocks->at, room * sizeof(MPI_Aint), MPL_MEM_DATATYPE);
        if (more_at != NULL)
            blocks->at = more_at;
        MPI_Aint *more_bytes =
            MPL_realloc(blocks->bytes, room * sizeof(MPI_Aint), MPL_MEM_DATATYPE);
        if (more_bytes != NULL)
            blocks->bytes = more_bytes;
        if (more_at == NULL || more_bytes == NULL)
            return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                        MPI_ERR_NO_MEM, "**nomem", 0);
        blocks->room = room;
    }
    blocks->at[blocks->count] = at;
    blocks->bytes[blocks->count++] = bytes;
    return MPI_SUCCESS;
}

static MPI_Aint place_of(const struct section *section, MPI_Aint index)
{
    MPI_Aint place = 0;
    for (int i = 0; i < section->rank; i++) {
        place += index % section->extents[i] * section->strides[i];
        index /= section->extents[i];
    }
    return place;
}

/* Bytes [first, first + bytes) of the elements one after the other. */
static int append_run(struct blocks *blocks, const struct section *section, MPI_Aint first,
                      MPI_Aint bytes)
{
    int mpi_errno = MPI_SUCCESS;
    if (first < 0 || bytes > section->elements * section->element - first)
        return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                    MPI_ERR_BUFFER, "**arg", "**arg %s",
                                    "buffer (its section is too small)");
    while (bytes > 0 && mpi_errno == MPI_SUCCESS) {
        const MPI_Aint within = first % section->element;
        const MPI_Aint part = MPL_MIN(bytes, section->element - within);
        mpi_errno = append(blocks, place_of(section, first / section->element) + within, part);
        first += part;
        bytes -= part;
    }
    return mpi_errno;
}

static int append_all(struct blocks *blocks, const struct section *section, MPI_Aint count,
                      MPI_Datatype oldtype)
{
    struct iovec *runs = MPL_malloc(MOST_RUNS * sizeof(*runs), MPL_MEM_DATATYPE);
    int mpi_errno = MPI_SUCCESS;
    MPI_Aint found = MOST_RUNS;
    MPIR_ERR_CHKANDJUMP(runs == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    for (MPI_Aint done = 0; found == MOST_RUNS; done += found) {
        mpi_errno = MPIR_Typerep_to_iov_offset(NULL, count, oldtype, done, runs, MOST_RUNS, &found);
        MPIR_ERR_CHECK(mpi_errno);
        for (MPI_Aint i = 0; i < found; i++) {
            mpi_errno =
                append_run(blocks, section, (MPI_Aint)runs[i].iov_base, (MPI_Aint)runs[i].iov_len);
            MPIR_ERR_CHECK(mpi_errno);
        }
    }
fn_fail:
    MPL_free(runs);
    return mpi_errno;
}

/* The predefined type that a datatype consists of, if no block cuts one, else MPI_BYTE;
 * and its size. */
static MPI_Datatype unit_of(MPI_Datatype oldtype, const struct blocks *blocks, MPI_Aint *size)
{
    MPI_Datatype unit = oldtype;
    if (!MPIR_DATATYPE_IS_PREDEFINED(oldtype)) {
        MPIR_Datatype *dtp;
        MPIR_Datatype_get_ptr(oldtype, dtp);
        unit = dtp->basic_type;
    }
    *size = 1;
    if (!HANDLE_IS_BUILTIN(unit) || unit == MPI_DATATYPE_NULL)
        return MPI_BYTE;
    const MPI_Aint bytes = MPIR_Datatype_get_basic_size(unit);
    for (MPI_Aint i = 0; i < blocks->count; i++)
        if (blocks->bytes[i] % bytes != 0)
            return MPI_BYTE;
    *size = bytes;
    return unit;
}

int MPIR_Typerep_section(int rank, const MPI_Aint *extents, const MPI_Aint *strides,
                         MPI_Aint element, MPI_Aint count, MPI_Datatype oldtype,
                         MPI_Datatype *newtype)
{
    struct section section = {rank, extents, strides, element, 1};
    struct blocks blocks = {NULL, NULL, 0, 0};
    for (int i = 0; i < rank; i++)
        section.elements *= extents[i];
    int mpi_errno = append_all(&blocks, &section, count, oldtype);
    MPIR_ERR_CHECK(mpi_errno);
    MPI_Aint size;
    const MPI_Datatype unit = unit_of(oldtype, &blocks, &size);
    for (MPI_Aint i = 0; i < blocks.count; i++)
        blocks.bytes[i] /= size;
    mpi_errno =
        MPIR_Type_create_hindexed_large_impl(blocks.count, blocks.bytes, blocks.at, unit, newtype);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Type_commit_impl(newtype);
fn_fail:
    MPL_free(blocks.at);
    MPL_free(blocks.bytes);
    return mpi_errno;
}
