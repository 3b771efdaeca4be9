/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The attribute by which a program says where buffers of a datatype lie (heddle_mpi.h).
 */
#include "typerep_internal.h"
#include "heddle_mpi.h"

#include <pthread.h>

bool MPII_heddle_memory_is_told = false;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the two below */
static bool initialized = false;
static int memory_key = MPI_KEYVAL_INVALID; /* until somebody asks for it */

void MPII_heddle_memory_init(void)
{
    pthread_mutex_lock(&mutex);
    initialized = true;
    pthread_mutex_unlock(&mutex);
}

void MPII_heddle_memory_finalize(void)
{
    pthread_mutex_lock(&mutex);
    initialized = MPII_heddle_memory_is_told = false;
    if (memory_key != MPI_KEYVAL_INVALID) {
        MPII_Keyval *keyval = NULL;
        MPII_Keyval_get_ptr(memory_key, keyval);
        MPIR_free_keyval(keyval);
        memory_key = MPI_KEYVAL_INVALID;
    }
    pthread_mutex_unlock(&mutex);
}

int MPIX_Type_memory_keyval(int *keyval)
{
    if (keyval == NULL)
        return MPI_ERR_ARG;
    int mpi_errno = MPI_ERR_OTHER;
    pthread_mutex_lock(&mutex);
    if (initialized && memory_key != MPI_KEYVAL_INVALID)
        mpi_errno = MPI_SUCCESS;
    else if (initialized)
        mpi_errno = MPIR_Type_create_keyval_impl(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &memory_key, NULL);
    MPII_heddle_memory_is_told = mpi_errno == MPI_SUCCESS;
    *keyval = memory_key;
    pthread_mutex_unlock(&mutex);
    return mpi_errno;
}

enum MPII_heddle_memory MPII_heddle_memory_told(MPI_Datatype datatype)
{
    MPIR_Datatype *dtp;
    MPIR_Datatype_get_ptr(datatype, dtp);
    if (dtp == NULL)
        return MPII_HEDDLE_MEMORY_UNKNOWN;
    for (const MPIR_Attribute *each = dtp->attributes; each != NULL; each = each->next)
        if (each->keyval->handle == memory_key)
            return (void *) each->value == MPIX_MEMORY_HOST     ? MPII_HEDDLE_MEMORY_HOST
                   : (void *) each->value == MPIX_MEMORY_DEVICE ? MPII_HEDDLE_MEMORY_DEVICE
                                                                : MPII_HEDDLE_MEMORY_UNKNOWN;
    return MPII_HEDDLE_MEMORY_UNKNOWN;
}
