/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fortran's array sections in calls that cannot take a datatype in their place: the section holds a
 * block for each process, or is reduced. MPI gets a copy that is laid out as if the section's
 * elements lay one after the other. Results go back when the call, or its request, is over.
 *
 * The wrappers of mpi_f08 call this (src/mpi/binding/f08_sections.py); the header needs mpi.h
 * alone.
 */
#ifndef HEDDLE_SECTIONS_H_INCLUDED
#define HEDDLE_SECTIONS_H_INCLUDED

#include <mpi.h>

#include <stdbool.h>

/* Where the elements of an array section lie. */
struct MPIR_Section {
    void *base;
    int rank;
    const MPI_Aint *extents, *strides; /* strides in bytes */
    MPI_Aint element;                  /* bytes of one */
};

/* Whose blocks a buffer holds. */
enum MPIR_Blocks_of {
    MPIR_BLOCKS_ONE,       /* one block */
    MPIR_BLOCKS_ROOT_ONE,  /* one, at the root alone */
    MPIR_BLOCKS_OTHER_ONE, /* one, but between groups, where the other group has the root */
    MPIR_BLOCKS_ALL,       /* of each process that this one talks to */
    MPIR_BLOCKS_ROOT_ALL,  /* the same, at the root alone */
    MPIR_BLOCKS_GROUP,     /* of each process of the own group */
    MPIR_BLOCKS_OWN,       /* of these that of this process */
    MPIR_BLOCKS_SOURCES,   /* of each neighbour that sends */
    MPIR_BLOCKS_TARGETS    /* of each neighbour that receives */
};

/* The blocks that a call reads or writes in a buffer: numbers `first` to before `end`. */
struct MPIR_Blocks {
    int first, end;
    MPI_Aint instances; /* of all that were added */
    MPI_Aint n;         /* blocks with data */
    MPI_Aint *counts, *displs;
    MPI_Datatype *types;
    int mpi_errno;
    bool wrong; /* an argument is; the call itself shall tell */
};

/* The copies of one call. */
struct MPIR_Sections;

/* How many processes a collective talks to; those of the other group, between groups. */
void MPIR_Blocks_others(MPI_Comm comm, int *number) MPICH_API_PUBLIC;
/* How many neighbours of a communicator send, and how many receive, whatever its topology. */
void MPIR_Blocks_neighbours(MPI_Comm comm, int *sources, int *targets) MPICH_API_PUBLIC;

struct MPIR_Blocks MPIR_Blocks_begin(enum MPIR_Blocks_of whose, MPI_Comm comm,
                                     int root) MPICH_API_PUBLIC;
/* A block behind those before it, or `displ` extents or bytes from the buffer. */
void MPIR_Blocks_add(struct MPIR_Blocks *blocks, MPI_Aint count,
                     MPI_Datatype datatype) MPICH_API_PUBLIC;
void MPIR_Blocks_add_at(struct MPIR_Blocks *blocks, MPI_Aint displ, MPI_Aint count,
                        MPI_Datatype datatype) MPICH_API_PUBLIC;
void MPIR_Blocks_add_at_byte(struct MPIR_Blocks *blocks, MPI_Aint displ, MPI_Aint count,
                             MPI_Datatype datatype) MPICH_API_PUBLIC;

/* Copies the blocks, and frees their description; `buf` becomes the copy's. The first section of a
 * call finds null in `sections`. */
int MPIR_Sections_add(struct MPIR_Sections **sections, const struct MPIR_Section *section,
                      struct MPIR_Blocks *blocks, bool is_result, void **buf) MPICH_API_PUBLIC;
/* A section that a call cannot take. */
int MPIR_Sections_refuse(void) MPICH_API_PUBLIC;
/*
 * After the call, which returned `mpi_errno`; or, where a section was `refused`, in its place.
 * Results are copied back now, where there is no request. Errors other than the call's own go to
 * the communicator's handler.
 */
int MPIR_Sections_end(struct MPIR_Sections *sections, int refused, int mpi_errno, MPI_Comm comm,
                      const char *name, MPI_Request *request) MPICH_API_PUBLIC;

struct MPIR_Request;

/* The next three are called for each request, which may have no sections. */

/* Called before a persistent request starts. */
int MPIR_Sections_start(struct MPIR_Request *request);
/* Called when it is seen to be over. */
int MPIR_Sections_results(struct MPIR_Request *request);
/* Called when it goes. */
void MPIR_Sections_forget(struct MPIR_Request *request);

#endif
