/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The attribute by which a program says where buffers of a datatype lie (heddle_mpi.h).
 */
/* MPICH's own header comes first: it tells mpi.h what is public. */
#include "typerep_internal.h"

#include "heddle_mpi.h"

#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the two below */
static bool initialized = false;
static int memory_key = MPI_KEYVAL_INVALID; /* until somebody asks for it */
static bool is_declared = false;            /* somebody did: a hint, read without the lock */

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
    is_declared = false;
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

int PMPIX_Type_memory_keyval(int *keyval)
{
    if (keyval == NULL)
        return MPI_ERR_ARG;
    int mpi_errno = MPI_ERR_OTHER;
    pthread_mutex_lock(&mutex);
    if (initialized)
        mpi_errno = memory_key == MPI_KEYVAL_INVALID ? make_key() : MPI_SUCCESS;
    is_declared = mpi_errno == MPI_SUCCESS;
    *keyval = is_declared ? memory_key : MPI_KEYVAL_INVALID;
    pthread_mutex_unlock(&mutex);
    return mpi_errno;
}

/* A profiler's own comes first, as with every other call. */
int MPIX_Type_memory_keyval(int *keyval) __attribute__((weak, alias("PMPIX_Type_memory_keyval")));

/* What stands in its attribute; null for none. */
static void *attribute_of(MPI_Datatype datatype)
{
    MPIR_Datatype *dtp;
    MPIR_Datatype_get_ptr(datatype, dtp);
    for (const MPIR_Attribute *each = dtp ? dtp->attributes : NULL; each != NULL; each = each->next)
        if (each->keyval->handle == memory_key)
            return (void *)each->value;
    return NULL;
}

MPL_TLS enum MPIR_Typerep_sender MPIR_Typerep_sender = MPIR_TYPEREP_SENDER_LEAVES;

/* MPI's own messages inside of collectives and windows are of predefined types: who gave these the
 * attribute did not speak of their buffers. */
static enum MPIR_Typerep_memory declared_memory(MPI_Datatype datatype)
{
    if (likely(!is_declared) || HANDLE_IS_BUILTIN(datatype))
        return MPIR_TYPEREP_UNKNOWN;
    const void *const value = attribute_of(datatype);
    return value == MPIX_MEMORY_HOST     ? MPIR_TYPEREP_HOST
           : value == MPIX_MEMORY_DEVICE ? MPIR_TYPEREP_DEVICE
                                         : MPIR_TYPEREP_UNKNOWN;
}

enum MPIR_Typerep_memory MPIR_Typerep_message_memory(const void *buf, MPI_Datatype datatype)
{
    const enum MPIR_Typerep_memory memory = declared_memory(datatype);
    return memory == MPIR_TYPEREP_UNKNOWN ? MPIR_Typerep_memory(buf, datatype) : memory;
}
