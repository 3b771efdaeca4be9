/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The engine's counters as MPI_T performance variables: heddle_ and the counter's name, in the
 * category HEDDLE.
 */
#include "mpit.h"
#include "typerep_internal.h"

static void read_counter(void *addr, void *obj_handle, int count, void *buf)
{
    heddle_counter counter = {0};
    (void)obj_handle, (void)count;
    (void)heddle_counter_read((intptr_t)addr, &counter);
    *(unsigned long long *)buf = counter.value;
}

/* MPI_T keeps what it was told for as long as somebody uses it, and may have been told before. */
static bool is_known(MPIR_T_pvar_class_t pvar_class, const char *name)
{
    name2index_hash_t *found;
    HASH_FIND_STR(pvar_hashs[pvar_class - MPIR_T_PVAR_CLASS_FIRST], name, found);
    return found != NULL;
}

/* It keeps the names. */
static char names[64][48];

void MPII_heddle_counters_init(void)
{
    heddle_counter counter;
    for (int i = 0; i < 64 && heddle_counter_read(i, &counter) == HEDDLE_SUCCESS; i++) {
        snprintf(names[i], sizeof(names[i]), "heddle_%s", counter.name);
        const MPIR_T_pvar_class_t pvar_class =
            counter.is_level ? MPI_T_PVAR_CLASS_LEVEL : MPI_T_PVAR_CLASS_COUNTER;
        if (!is_known(pvar_class, names[i]))
            MPIR_T_PVAR_REGISTER_impl(pvar_class, MPI_UNSIGNED_LONG_LONG, names[i],
                                      (void *)(intptr_t)i, 1, MPI_T_ENUM_NULL,
                                      MPI_T_VERBOSITY_USER_BASIC, MPI_T_BIND_NO_OBJECT,
                                      MPIR_T_PVAR_FLAG_READONLY | MPIR_T_PVAR_FLAG_CONTINUOUS,
                                      read_counter, NULL, "HEDDLE", counter.description);
    }
}
