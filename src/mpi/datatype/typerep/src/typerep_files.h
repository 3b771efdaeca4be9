/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What ROMIO asks of datatypes. ROMIO does not include mpiimpl.h: this header needs mpi.h alone.
 */
#ifndef TYPEREP_FILES_H_INCLUDED
#define TYPEREP_FILES_H_INCLUDED

#include <mpi.h>

/* Whether all elements are MPI_BYTE, which is the same in each representation of data. */
int MPIR_Typerep_is_bytes(MPI_Datatype datatype);

/* A type that is held lives on when the program frees it. */
void MPIR_Typerep_hold(MPI_Datatype datatype);
void MPIR_Typerep_let_go(MPI_Datatype datatype);

/* An error of a request that ROMIO itself waits for is not a matter of a communicator's handler:
 * while this thread is quiet no such handler is called. `change`: 1, and in the end -1. */
void MPIR_Files_quiet(int change);
int MPIR_Files_are_quiet(void);
/* Nor is such a handler called for the error that a wait returns next,
 * if a file's was called for it. */
void MPIR_Files_told(void);
/* Asked where a communicator's handler is about to be called: whether it must not be. Null: the
 * error is that of a request, or of several. */
int MPIR_Files_have_told(const void *comm);

/* Unpacks the elements that `insize` bytes in external32 hold whole, if there are fewer than all.
 * `*actual_unpack_bytes` is their size in memory. */
int MPIR_Typerep_unpack_external_part(const void *inbuf, MPI_Aint insize, void *outbuf,
                                      MPI_Aint outcount, MPI_Datatype datatype,
                                      MPI_Aint *actual_unpack_bytes);

#endif
