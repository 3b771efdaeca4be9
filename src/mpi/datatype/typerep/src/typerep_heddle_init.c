/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Start and end of the datatype engine inside MPICH, and its errors as MPI's.
 */
#include "typerep_internal.h"

/* Arrays of MPI_Aint go to the engine as they are. */
MPL_static_assert(sizeof(MPI_Aint) == sizeof(int64_t), "Heddle needs 64-bit addresses");

void MPIR_Typerep_init(void)
{
    MPII_heddle_status_init();
    MPII_heddle_settings_init();
    MPII_heddle_types_init();
    MPII_heddle_device_init();
    MPII_heddle_counters_init();
    MPII_heddle_memory_init();
}

void MPIR_Typerep_finalize(void)
{
    MPII_heddle_memory_finalize();
    MPII_heddle_types_finalize();
}

static int error_class(int error)
{
    switch (error) {
    case HEDDLE_ERR_ARG:
    case HEDDLE_ERR_OVERFLOW:
    case HEDDLE_ERR_RANGE:
        return MPI_ERR_ARG;
    case HEDDLE_ERR_COUNT:
        return MPI_ERR_COUNT;
    case HEDDLE_ERR_TYPE:
    case HEDDLE_ERR_FREED:
    case HEDDLE_ERR_DEPTH:
        return MPI_ERR_TYPE;
    case HEDDLE_ERR_TRUNCATE:
        return MPI_ERR_TRUNCATE;
    case HEDDLE_ERR_NO_MEMORY:
        return MPI_ERR_NO_MEM;
    case HEDDLE_ERR_OP:
        return MPI_ERR_OP;
    case HEDDLE_ERR_BUFFER:
    case HEDDLE_ERR_NO_DEVICE:
        return MPI_ERR_BUFFER;
    case HEDDLE_ERR_DEVICE:
        return MPI_ERR_OTHER;
    default:
        return MPI_ERR_INTERN;
    }
}

int MPII_heddle_error(int error, const char *function, int line)
{
    /* MPICH's autogen reads this call, and knows a class by its name: MPI_ERR_... or errclass. */
    int errclass = error_class(error);
    if (error == HEDDLE_ERR_DEVICE)
        return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, function, line, errclass,
                                    "**heddle", "**heddle %s %s", heddle_strerror(error),
                                    heddle_error_detail());
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, function, line, errclass,
                                "**heddle", "**heddle %s", heddle_strerror(error));
}
