/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The attribute by which a program says where buffers of a datatype lie (heddle_mpi.h).
 */
#include "heddle_mpi.h"
#include "typerep_internal.h"

#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the two below */
static bool initialized = false;
static int memory_key = MPI_KEYVAL_INVALID; /* until somebody asks for it */
static bool is_told = false;                /* somebody did: a hint, read without the lock */

void MPII_heddle_memory_init(void)
{
    pthread_mutex_lock(&mutex);
    initialized = true;
    pthread_mutex_unlock(&mutex);
}

void MPII_heddle_memory_finalize(void)
{
    pthread_mutex_lock(&mutex);
    initialized = false;
    pthread_mutex_unlock(&mutex);
}

/* MPICH calls it while there still are keys. */
static int free_key(void *unused)
{
    MPII_Keyval *keyval = NULL;
    (void)unused;
    is_told = false;
    MPII_Keyval_get_ptr(memory_key, keyval);
    memory_key = MPI_KEYVAL_INVALID;
    MPIR_free_keyval(keyval);
    return 0;
}

static int make_key(void)
{
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    const int mpi_errno =
        MPIR_Type_create_keyval_impl(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &memory_key, NULL);
    if (mpi_errno == MPI_SUCCESS)
        MPIR_Add_finalize(free_key, NULL, MPIR_FINALIZE_CALLBACK_PRIO - 1);
    else
        memory_key = MPI_KEYVAL_INVALID;
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    return mpi_errno;
}

int MPIX_Type_memory_keyval(int *keyval)
{
    if (keyval == NULL)
        return MPI_ERR_ARG;
    int mpi_errno = MPI_ERR_OTHER;
    pthread_mutex_lock(&mutex);
    if (initialized)
        mpi_errno = memory_key == MPI_KEYVAL_INVALID ? make_key() : MPI_SUCCESS;
    is_told = mpi_errno == MPI_SUCCESS;
    *keyval = is_told ? memory_key : MPI_KEYVAL_INVALID;
    pthread_mutex_unlock(&mutex);
    return mpi_errno;
}

/* What stands in its attribute; null for none. */
static void *told(MPI_Datatype datatype)
{
    MPIR_Datatype *dtp;
    MPIR_Datatype_get_ptr(datatype, dtp);
    for (const MPIR_Attribute *each = dtp ? dtp->attributes : NULL; each != NULL; each = each->next)
        if (each->keyval->handle == memory_key)
            return (void *)each->value;
    return NULL;
}

MPL_TLS int MPIR_Typerep_sender_waits = 0;

/* MPI's own messages inside of collectives and windows are of predefined types: who gave these the
 * attribute did not speak of their buffers. */
int MPIR_Typerep_message_is_on_device(const void *buf, MPI_Datatype datatype)
{
    if (unlikely(is_told) && !HANDLE_IS_BUILTIN(datatype)) {
        const void *const value = told(datatype);
        if (value == MPIX_MEMORY_HOST || value == MPIX_MEMORY_DEVICE)
            return value == MPIX_MEMORY_DEVICE;
    }
    return MPIR_Typerep_is_on_device(buf, datatype);
}
