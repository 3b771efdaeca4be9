/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fortran's array sections as buffers, where MPICH's own nested vectors do not describe them.
 * Compiled in the bindings' library.
 */
#ifndef CDESC_SECTION_H_INCLUDED
#define CDESC_SECTION_H_INCLUDED

#include "../../../coll/include/heddle_sections.h"

#include <ISO_Fortran_binding.h>
#include <limits.h>
#include <stdbool.h>

int MPIR_Typerep_section(int rank, const MPI_Aint *extents, const MPI_Aint *strides,
                         MPI_Aint element, MPI_Aint count, MPI_Datatype oldtype,
                         MPI_Datatype *newtype);

/* Whether `count` of `oldtype` are whole rows, planes and so on of the section's own elements. */
static inline bool cdesc_is_regular(const CFI_cdesc_t *cdesc, MPI_Aint count, MPI_Datatype oldtype)
{
    MPI_Count integers, addresses, counts, types, size;
    MPI_Aint lb, extent, elements = 1;
    int combiner = MPI_UNDEFINED;
    PMPI_Type_get_envelope_c(oldtype, &integers, &addresses, &counts, &types, &combiner);
    PMPI_Type_size_x(oldtype, &size);
    PMPI_Type_get_extent(oldtype, &lb, &extent);
    if (combiner != MPI_COMBINER_NAMED || size != (MPI_Count)cdesc->elem_len || size != extent ||
        count > INT_MAX)
        return false;
    for (int i = 0; i < cdesc->rank && count % elements == 0; i++) {
        if (count / elements <= cdesc->dim[i].extent)
            return true;
        elements *= cdesc->dim[i].extent;
    }
    return false;
}

static inline void cdesc_get_dimensions(const CFI_cdesc_t *cdesc, MPI_Aint *extents,
                                        MPI_Aint *strides)
{
    for (int i = 0; i < cdesc->rank; i++) {
        extents[i] = cdesc->dim[i].extent;
        strides[i] = cdesc->dim[i].sm;
    }
}

/* The datatype of the first `count` of `oldtype`, for buffers of one message. */
static inline int cdesc_section(const CFI_cdesc_t *cdesc, MPI_Aint count, MPI_Datatype oldtype,
                                MPI_Datatype *newtype)
{
    MPI_Aint extents[CFI_MAX_RANK], strides[CFI_MAX_RANK];
    cdesc_get_dimensions(cdesc, extents, strides);
    const int mpi_errno = MPIR_Typerep_section(cdesc->rank, extents, strides,
                                               (MPI_Aint)cdesc->elem_len, count, oldtype, newtype);
    if (mpi_errno != MPI_SUCCESS)
        *newtype = MPI_DATATYPE_NULL; /* for the call that gets it to tell */
    return mpi_errno;
}

/* Another buffer in the section's place, for those that hold blocks or are reduced. */
static inline int cdesc_copy(const CFI_cdesc_t *cdesc, struct MPIR_Blocks *blocks, bool is_result,
                             struct MPIR_Sections **sections, void **buf)
{
    MPI_Aint extents[CFI_MAX_RANK], strides[CFI_MAX_RANK];
    cdesc_get_dimensions(cdesc, extents, strides);
    const struct MPIR_Section section = {cdesc->base_addr, cdesc->rank, extents, strides,
                                         (MPI_Aint)cdesc->elem_len};
    return MPIR_Sections_add(sections, &section, blocks, is_result, buf);
}

#endif
