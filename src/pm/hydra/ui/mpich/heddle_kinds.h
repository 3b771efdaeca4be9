/* SPDX-License-Identifier: BSD-3-Clause
 *
 * mpiexec -memory-alloc-kinds (MPI 4.1, section 11.5): the processes find it in their environment
 * (src/mpi/datatype/typerep/src/typerep_kinds.c).
 */
#ifndef HEDDLE_KINDS_H_INCLUDED
#define HEDDLE_KINDS_H_INCLUDED

static void kinds_help_fn(void)
{
    printf("\n-memory-alloc-kinds: Kinds of memory that the program asks for\n\n"
           "Notes:\n"
           "  * Usage: -memory-alloc-kinds mpi,cuda:device:managed\n"
           "  * The info key mpi_memory_alloc_kinds tells which are supported\n\n");
}

static HYD_status kinds_fn(char *arg, char ***argv)
{
    (void)arg;
    if (**argv == NULL)
        return HYD_INTERNAL_ERROR;
    return HYDU_append_env_to_list("MPIR_CVAR_MEMORY_ALLOC_KINDS", *(*argv)++,
                                   &HYD_server_info.user_global.global_env.user);
}

#endif
