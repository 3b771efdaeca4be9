/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The engine's counters as MPI_T performance variables: heddle_ and the counter's name, in the
 * category HEDDLE.
 */
#include "typerep_internal.h"

#include "mpit.h"

static void read_counter(void *addr, void *obj_handle, int count, void *buf)
{
    heddle_counter counter = {.bytes = sizeof counter};
    (void)obj_handle, (void)count;
    (void)heddle_counter_read((intptr_t)addr, &counter);
    *(unsigned long long *)buf = counter.value;
}

/* MPI_T keeps a variable for as long as somebody uses it, so that it may be there from before. */
static bool is_known(MPIR_T_pvar_class_t pvar_class, const char *name)
{
    name2index_hash_t *found;
    HASH_FIND_STR(pvar_hashs[pvar_class - MPIR_T_PVAR_CLASS_FIRST], name, found);
    return found != NULL;
}

/* The name of variable `i`, or null. MPI_T keeps it, and counters keep their names: so each is made
 * once. */
static const char *name_of(intptr_t i, const heddle_counter *counter)
{
    static const char prefix[] = "heddle_";
    static char **names;
    static intptr_t count;
    if (i >= count) {
        char **const more = MPL_direct_realloc(names, (i + 1) * sizeof *names);
        if (!more)
            return NULL;
        names = more;
        while (count <= i)
            names[count++] = NULL;
    }
    const size_t bytes = sizeof prefix + strlen(counter->name);
    if (!names[i] && (names[i] = MPL_direct_malloc(bytes)))
        snprintf(names[i], bytes, "%s%s", prefix, counter->name);
    return names[i];
}

void MPII_heddle_counters_init(void)
{
    heddle_counter counter = {.bytes = sizeof counter};
    for (intptr_t i = 0; heddle_counter_read(i, &counter) == HEDDLE_SUCCESS; i++) {
        const char *const name = name_of(i, &counter);
        const MPIR_T_pvar_class_t pvar_class =
            counter.is_level ? MPI_T_PVAR_CLASS_LEVEL : MPI_T_PVAR_CLASS_COUNTER;
        if (name && !is_known(pvar_class, name))
            MPIR_T_PVAR_REGISTER_impl(pvar_class, MPI_UNSIGNED_LONG_LONG, name, (void *)i, 1,
                                      MPI_T_ENUM_NULL, MPI_T_VERBOSITY_USER_BASIC,
                                      MPI_T_BIND_NO_OBJECT,
                                      MPIR_T_PVAR_FLAG_READONLY | MPIR_T_PVAR_FLAG_CONTINUOUS,
                                      read_counter, NULL, "HEDDLE", counter.description);
    }
}
