/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the bytes of a status are in elements: MPI_Get_elements and MPI_Status_set_elements, by the
 * engine's count.
 */
#include "typerep_internal.h"

/* A pair type counts as two elements, in whatever type; no other builtin type has parts. */
static bool is_element(MPI_Datatype datatype)
{
    const heddle_predefined element = MPII_heddle_element(datatype);
    return HANDLE_IS_BUILTIN(datatype) && (element < HEDDLE_2INT32 || element == HEDDLE_MIXED);
}

/* Takes the elements from `*bytes`; what is left is an element that is cut. */
int MPIR_Typerep_get_elements(MPI_Count *bytes, MPI_Datatype datatype, MPI_Count *elements)
{
    int64_t found = 0, used = 0;
    if (is_element(datatype)) {
        const MPI_Aint size = MPIR_Datatype_get_basic_size(datatype);
        found = *bytes / size;
        used = found * size;
    } else {
        heddle_type *type = MPII_heddle_type(datatype);
        int rc;
        MPII_HEDDLE_CALL(rc, type, heddle_count_elements(type, *bytes, &found, &used));
        if (rc != HEDDLE_SUCCESS)
            return MPII_HEDDLE_RESULT(rc);
    }
    *bytes -= used;
    *elements = *bytes == 0 ? found : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

int MPIR_Typerep_set_elements(MPI_Status *status, MPI_Datatype datatype, MPI_Count elements)
{
    int64_t bytes = 0;
    int rc = HEDDLE_SUCCESS;
    if (is_element(datatype)) {
        if (__builtin_mul_overflow(elements, (MPI_Aint)MPIR_Datatype_get_basic_size(datatype),
                                   &bytes))
            rc = HEDDLE_ERR_OVERFLOW;
    } else {
        heddle_type *type = MPII_heddle_type(datatype);
        MPII_HEDDLE_CALL(rc, type, heddle_bytes_of_elements(type, elements, &bytes));
    }
    if (rc == HEDDLE_SUCCESS)
        MPIR_STATUS_SET_COUNT(*status, bytes);
    return MPII_HEDDLE_RESULT(rc);
}
