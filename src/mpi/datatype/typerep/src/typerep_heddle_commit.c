/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What happens to a datatype between its making and its use: commit, free, and a look at it.
 */
#include "typerep_internal.h"

/* MPICH gives no way to report a failure here. A type that could not be committed stays so, and the
 * first call that moves data by it tries again and reports. */
void MPIR_Typerep_commit(MPI_Datatype type)
{
    MPIR_Datatype *dtp;
    MPIR_Datatype_get_ptr(type, dtp);
    heddle_type *handle = MPII_heddle_type(type);
    heddle_type_info info = {.bytes = sizeof info};
    if (heddle_type_commit(handle) == HEDDLE_SUCCESS &&
        heddle_type_get_info(handle, &info) == HEDDLE_SUCCESS)
        dtp->typerep.num_contig_blocks = MPL_MAX(info.runs, 1);
}

void MPIR_Typerep_free(MPIR_Datatype *typeptr)
{
    heddle_type_release(typeptr->typerep.handle);
    typeptr->typerep.handle = MPIR_TYPEREP_HANDLE_NULL;
}

void MPIR_Typerep_debug(MPI_Datatype type)
{
#ifdef MPL_USE_DBG_LOGGING
    heddle_type *handle = MPII_heddle_type(type);
    size_t length = 0;
    if (heddle_type_describe(handle, NULL, 0, &length) != HEDDLE_SUCCESS)
        return;

    char *text = MPL_malloc(length + 1, MPL_MEM_DATATYPE);
    if (text == NULL)
        return;
    if (heddle_type_describe(handle, text, length + 1, &length) == HEDDLE_SUCCESS)
        MPL_DBG_OUT_FMT(MPIR_DBG_DATATYPE, (MPL_DBG_FDEST, "# %s", text));
    MPL_free(text);
#else
    (void)type;
#endif
}
