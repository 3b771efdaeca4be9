/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the programs of this folder share: a check that counts, and an end that tells.
 */
#ifndef DATATYPES_CHECK_H_INCLUDED
#define DATATYPES_CHECK_H_INCLUDED

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_failures;
static int check_rank, check_size;

#define CHECK(condition) CHECK_NAMED(condition, "")

/* `name`: what was being looked at, where the line alone does not tell. */
#define CHECK_NAMED(condition, name)                                                               \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            check_failures++;                                                                      \
            printf("rank %d, %s:%d: %s is false %s\n", check_rank, __FILE__, __LINE__, #condition, \
                   name);                                                                          \
        }                                                                                          \
    } while (0)

static inline void check_init(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &check_size);
}

/* The exit status of every rank is 1 where any rank saw a failure. */
static inline int check_end(void)
{
    int all = 0;
    MPI_Allreduce(&check_failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all != 0;
}

static inline MPI_Datatype committed(MPI_Datatype type)
{
    MPI_Type_commit(&type);
    return type;
}

static inline MPI_Datatype vector_of(int count, int blocklength, int stride, MPI_Datatype old)
{
    MPI_Datatype type;
    MPI_Type_vector(count, blocklength, stride, old, &type);
    return committed(type);
}

/* `members`: displacement and type of each, of block length 1. */
struct member {
    MPI_Aint displacement;
    MPI_Datatype type;
};

static inline MPI_Datatype struct_of(int count, const struct member *members)
{
    int lengths[16];
    MPI_Aint displacements[16];
    MPI_Datatype types[16], type;
    for (int i = 0; i < count; i++) {
        lengths[i] = 1;
        displacements[i] = members[i].displacement;
        types[i] = members[i].type;
    }
    MPI_Type_create_struct(count, lengths, displacements, types, &type);
    return committed(type);
}

#endif
