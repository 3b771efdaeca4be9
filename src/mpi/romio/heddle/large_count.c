/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ROMIO counts by int. A count beyond that is one instance of a type of so many.
 */
#include "any_memory.h"

MPI_Datatype ADIO_Any_large(MPI_Count count, MPI_Datatype datatype)
{
    /* The call that it is for comes next; what runs on by then, holds it. */
    static _Thread_local MPI_Datatype last = MPI_DATATYPE_NULL;
    if (datatype == MPI_DATATYPE_NULL)
        return datatype; /* the call says so */
    if (last != MPI_DATATYPE_NULL)
        PMPI_Type_free(&last);
    if (PMPI_Type_contiguous_c(count, datatype, &last) != MPI_SUCCESS)
        last = MPI_DATATYPE_NULL;
    else
        PMPI_Type_commit(&last);
    return last;
}
