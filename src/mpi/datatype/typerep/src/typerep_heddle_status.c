/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a job prints of its settings and devices when it starts: warnings, by the first process of
 * each node alone, and with MPIR_CVAR_DEBUG_SUMMARY what heddle_info says.
 */
#include "typerep_internal.h"

#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the two below */
static bool tells = false; /* it is known which process this is, and it is the one */
static struct waiting {
    struct waiting *next;
    char text[];
} *first = NULL, **last = &first;

static void print(const char *text) { fprintf(stderr, "heddle: %s\n", text); }

/* Engine's warnings come before processes are numbered. */
static void keep(const char *text)
{
    pthread_mutex_lock(&mutex);
    struct waiting *const made =
        tells ? NULL : MPL_malloc(sizeof(*made) + strlen(text) + 1, MPL_MEM_OTHER);
    if (made == NULL) {
        print(text);
    } else {
        strcpy(made->text, text);
        made->next = NULL;
        *last = made;
        last = &made->next;
    }
    pthread_mutex_unlock(&mutex);
}

static void drop(const char *text) { (void)text; }

void MPII_heddle_status_init(void)
{
    tells = false;
    heddle_on_warning(keep);
}

/* The parents of spawned processes printed it already. */
static bool is_first_of_node(void)
{
    return MPIR_Process.local_rank == 0 && !MPIR_Process.has_parent;
}

static void tell_what_waited(void)
{
    pthread_mutex_lock(&mutex);
    tells = is_first_of_node();
    heddle_on_warning(tells ? keep : drop);
    while (first != NULL) {
        struct waiting *const each = first;
        if (tells)
            print(each->text);
        first = each->next;
        MPL_free(each);
    }
    last = &first;
    pthread_mutex_unlock(&mutex);
}

static void print_info(void)
{
    size_t length = 0;
    if (heddle_info(NULL, 0, &length) != HEDDLE_SUCCESS)
        return;
    char *const text = MPL_malloc(length + 1, MPL_MEM_OTHER);
    if (text != NULL && heddle_info(text, length + 1, &length) == HEDDLE_SUCCESS)
        printf("==== heddle ====\n%s%s================\n", text,
               MPIR_TYPEREP_TAKES_DEVICES
                   ? ""
                   : "MPI takes host memory only: its messages are not UCX's\n");
    MPL_free(text);
}

bool MPIR_Typerep_device_is_near = false;

bool MPIR_Typerep_is_device_memory(const void *buf, MPI_Datatype datatype)
{
    MPI_Aint true_lb = 0, true_extent = 0;
    if (datatype == MPI_DATATYPE_NULL)
        return false;
    MPIR_Type_get_true_extent_impl(datatype, &true_lb, &true_extent);
    return heddle_memory_kind(MPIR_get_contig_ptr(buf, true_lb), NULL) == HEDDLE_MEMORY_DEVICE;
}

void MPIR_Typerep_post_init(void)
{
    if (!MPIR_TYPEREP_TAKES_DEVICES)
        MPIR_Typerep_device_is_near =
            MPIR_CVAR_ENABLE_GPU && heddle_device_open() == HEDDLE_SUCCESS;
    tell_what_waited();
    if (MPIR_CVAR_DEBUG_SUMMARY && MPIR_Process.rank == 0)
        print_info();
}
