/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Large types are made again and again without new pages from the system: to clear those takes
 * longer than all else. Here malloc gives each large block back at once.
 */
#include "check.h"

#include <malloc.h>
#include <sys/resource.h>

enum { blocks = 500000, rounds = 6 };

static int lengths[blocks], displacements[blocks];
static MPI_Aint addresses[blocks];
static MPI_Datatype types[blocks];

static long faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

static MPI_Datatype indexed(void)
{
    MPI_Datatype type;
    MPI_Type_indexed(blocks, lengths, displacements, MPI_DOUBLE, &type);
    return type;
}

static MPI_Datatype hindexed(void)
{
    MPI_Datatype type;
    MPI_Type_create_hindexed(blocks, lengths, addresses, MPI_DOUBLE, &type);
    return type;
}

static MPI_Datatype indexed_block(void)
{
    MPI_Datatype type;
    MPI_Type_create_indexed_block(blocks, 1, displacements, MPI_DOUBLE, &type);
    return type;
}

static MPI_Datatype structure(void)
{
    MPI_Datatype type;
    MPI_Type_create_struct(blocks, lengths, addresses, types, &type);
    return type;
}

static void measure(const char *name, MPI_Datatype (*make)(void))
{
    long before = 0;
    for (int round = 0; round < rounds; round++) {
        int at = 0;
        for (int i = 0; i < blocks; i++) {
            lengths[i] = 1 + (i * 7 + round) % 3;
            displacements[i] = at;
            addresses[i] = 8 * (MPI_Aint)at;
            types[i] = MPI_DOUBLE;
            at += lengths[i] + 1;
        }
        if (round == rounds / 2)
            before = faults();
        MPI_Datatype type = make();
        MPI_Type_commit(&type);
        MPI_Type_free(&type);
    }
    CHECK_NAMED(faults() - before < 200, name);
}

int main(int argc, char **argv)
{
    mallopt(M_MMAP_THRESHOLD, 65536);
    check_init(&argc, &argv);
    measure("indexed", indexed);
    measure("hindexed", hindexed);
    measure("indexed_block", indexed_block);
    measure("struct", structure);
    return check_end();
}
