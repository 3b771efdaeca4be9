/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kinds of memory that MPI takes, as MPI 4.1 names them (section 12.4.3): info key
 * mpi_memory_alloc_kinds of MPI_INFO_ENV, sessions, communicators, windows and files. It lists all
 * kinds that this process supports, asked for or not, and with several restrictors what was asked
 * for (mpiexec -memory-alloc-kinds, a session's info). What a program asserts of an object
 * (mpi_assert_memory_alloc_kinds) stands in that object's info, if all of it is supported.
 */
#include "mpiimpl.h"
#include "mpir_info.h"

#include "mpir_ext.h"

#include <pthread.h>

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_MEMORY_ALLOC_KINDS
      category    : HEDDLE
      type        : string
      default     : ""
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Kinds of memory that the program asks for, as by mpiexec -memory-
        alloc-kinds; for example mpi,cuda:device:managed. Those that are
        supported are told by the info key mpi_memory_alloc_kinds.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

static const char told_key[] = "mpi_memory_alloc_kinds";
static const char asserted_key[] = "mpi_assert_memory_alloc_kinds";

static const struct {
    const char *kind, *restrictors[4]; /* null behind the last */
} known[] = {
    {"mpi", {"alloc_mem", "win_allocate", "win_allocate_shared"}},
    {"system", {NULL}},
    {"cuda", {"host", "device", "managed"}},
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the two below */
static char supported[MPI_MAX_INFO_VAL];
static struct asserted {
    struct asserted *next;
    int object; /* a communicator's or window's handle */
    char kinds[];
} *all_asserted = NULL;

static bool is_here(const char *kind)
{
    MPL_gpu_type_t type = MPL_GPU_TYPE_NONE;
    (void)MPL_gpu_query_support(&type);
    return strcmp(kind, "cuda") != 0 || type == MPL_GPU_TYPE_CUDA;
}

/* Whether `text`, which is changed, is a kind with any number of its restrictors behind colons. */
static bool is_supported(char *text)
{
    char *rest = NULL;
    const char *const kind = strtok_r(text, ":", &rest);
    size_t i = 0;
    while (i < sizeof(known) / sizeof(known[0]) &&
           (kind == NULL || strcasecmp(kind, known[i].kind) != 0))
        i++;
    if (i == sizeof(known) / sizeof(known[0]) || !is_here(known[i].kind))
        return false;
    for (const char *each = strtok_r(NULL, ":", &rest); each != NULL;
         each = strtok_r(NULL, ":", &rest)) {
        int r = 0;
        while (known[i].restrictors[r] != NULL && strcasecmp(each, known[i].restrictors[r]) != 0)
            r++;
        if (known[i].restrictors[r] == NULL)
            return false;
    }
    return true;
}

/* Whether a list of kinds has this one. */
static bool has(const char *kinds, const char *kind)
{
    const size_t length = strlen(kind);
    for (const char *at = kinds; (at = strcasestr(at, kind)) != NULL; at++)
        if ((at == kinds || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

static void add(const char *kind)
{
    const size_t length = strlen(supported);
    if (!has(supported, kind) && length + 1 + strlen(kind) < sizeof(supported))
        snprintf(supported + length, sizeof(supported) - length, "%s%s", length > 0 ? "," : "",
                 kind);
}

/* Takes a list apart: true if all of it is supported.
 * What is goes into the list of all, where `adds`. */
static bool take(const char *kinds, bool adds)
{
    char list[MPI_MAX_INFO_VAL], kind[MPI_MAX_INFO_VAL], *rest = NULL;
    bool all = strlen(kinds) < sizeof(list);
    snprintf(list, sizeof(list), "%s", kinds);
    for (const char *each = strtok_r(list, ",", &rest); each != NULL;
         each = strtok_r(NULL, ",", &rest)) {
        strcpy(kind, each);
        if (!is_supported(kind))
            all = false;
        else if (adds)
            add(each);
    }
    return all;
}

static void add_all_known(void)
{
    char kind[64];
    supported[0] = '\0';
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (!is_here(known[i].kind))
            continue;
        add(known[i].kind);
        for (int r = 0; known[i].restrictors[r] != NULL; r++) {
            snprintf(kind, sizeof(kind), "%s:%s", known[i].kind, known[i].restrictors[r]);
            add(kind);
        }
    }
}

static int forget_environment(void *unused)
{
    MPIR_Info *env;
    (void)unused;
    MPIR_Info_get_ptr(MPI_INFO_ENV, env);
    return MPIR_Info_delete_impl(env, told_key);
}

int MPIR_Kinds_init(void)
{
    MPIR_Info *env;
    pthread_mutex_lock(&mutex);
    add_all_known();
    if (MPIR_CVAR_MEMORY_ALLOC_KINDS != NULL)
        (void)take(MPIR_CVAR_MEMORY_ALLOC_KINDS, true);
    pthread_mutex_unlock(&mutex);
    MPIR_Info_get_ptr(MPI_INFO_ENV, env);
    MPIR_Add_finalize(forget_environment, NULL, MPIR_FINALIZE_CALLBACK_PRIO - 1);
    return MPIR_Kinds_tell(env);
}

int MPIR_Kinds_tell(MPIR_Info *info)
{
    char kinds[MPI_MAX_INFO_VAL];
    pthread_mutex_lock(&mutex);
    strcpy(kinds, supported);
    pthread_mutex_unlock(&mutex);
    return MPIR_Info_set_impl(info, told_key, kinds);
}

static const char *value_of(MPIR_Info *info, const char *key)
{
    for (const MPIR_Info *each = info != NULL ? info->next : NULL; each != NULL; each = each->next)
        if (strcmp(each->key, key) == 0)
            return each->value;
    return NULL;
}

void MPIR_Kinds_request(MPIR_Info *info)
{
    const char *const kinds = value_of(info, told_key);
    if (kinds != NULL) {
        pthread_mutex_lock(&mutex);
        (void)take(kinds, true);
        pthread_mutex_unlock(&mutex);
    }
}

/* The assertion of an info. Null where nothing is asserted, or not all of it is supported. */
static const char *assertion(MPIR_Info *info)
{
    const char *const kinds = value_of(info, asserted_key);
    return kinds != NULL && take(kinds, false) ? kinds : NULL;
}

static struct asserted **find(int object)
{
    struct asserted **at = &all_asserted;
    while (*at != NULL && (*at)->object != object)
        at = &(*at)->next;
    return at;
}

void MPIR_Kinds_forget(int object)
{
    pthread_mutex_lock(&mutex);
    struct asserted **const at = find(object), *const old = *at;
    if (old != NULL) {
        *at = old->next;
        MPL_free(old);
    }
    pthread_mutex_unlock(&mutex);
}

void MPIR_Kinds_assert(int object, MPIR_Info *info)
{
    const char *const kinds = assertion(info);
    if (kinds == NULL)
        return;
    MPIR_Kinds_forget(object);
    struct asserted *const made = MPL_malloc(sizeof(*made) + strlen(kinds) + 1, MPL_MEM_OTHER);
    if (made == NULL)
        return; /* it was a hint */
    made->object = object;
    strcpy(made->kinds, kinds);
    pthread_mutex_lock(&mutex);
    made->next = all_asserted;
    all_asserted = made;
    pthread_mutex_unlock(&mutex);
}

int MPIR_Kinds_tell_of(int object, MPIR_Info *info)
{
    int mpi_errno = MPIR_Kinds_tell(info);
    pthread_mutex_lock(&mutex);
    const struct asserted *const found = *find(object);
    if (mpi_errno == MPI_SUCCESS && found != NULL)
        mpi_errno = MPIR_Info_set_impl(info, asserted_key, found->kinds);
    pthread_mutex_unlock(&mutex);
    return mpi_errno;
}

/* For ROMIO, which keeps a file's info in an object of its own. */
int MPIR_Ext_file_kinds(MPI_Info given, MPI_Info answer)
{
    MPIR_Info *given_ptr = NULL, *answer_ptr = NULL;
    if (answer == MPI_INFO_NULL)
        return MPI_SUCCESS;
    MPIR_Info_get_ptr(answer, answer_ptr);
    if (given != MPI_INFO_NULL)
        MPIR_Info_get_ptr(given, given_ptr);
    const char *const kinds = assertion(given_ptr);
    const int mpi_errno = MPIR_Kinds_tell(answer_ptr);
    return mpi_errno != MPI_SUCCESS || kinds == NULL
               ? mpi_errno
               : MPIR_Info_set_impl(answer_ptr, asserted_key, kinds);
}
