/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fortran's array sections as buffers, where MPICH's own nested vectors do not describe them: any
 * datatype, and any number of elements. Compiled in the bindings' library.
 */
#ifndef CDESC_SECTION_H_INCLUDED
#define CDESC_SECTION_H_INCLUDED

#include "cdesc.h"

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

static inline int cdesc_section(const CFI_cdesc_t *cdesc, MPI_Aint count, MPI_Datatype oldtype,
                                MPI_Datatype *newtype)
{
    MPI_Aint extents[CFI_MAX_RANK], strides[CFI_MAX_RANK];
    for (int i = 0; i < cdesc->rank; i++) {
        extents[i] = cdesc->dim[i].extent;
        strides[i] = cdesc->dim[i].sm;
    }
    const int mpi_errno = MPIR_Typerep_section(cdesc->rank, extents, strides,
                                               (MPI_Aint)cdesc->elem_len, count, oldtype, newtype);
    if (mpi_errno != MPI_SUCCESS)
        *newtype = MPI_DATATYPE_NULL; /* for the call that gets it to tell */
    return mpi_errno;
}

#endif
