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

/* Unpacks the elements that `insize` bytes in external32 hold whole, if there are fewer than all.
 * `*actual_unpack_bytes` is their size in memory. */
int MPIR_Typerep_unpack_external_part(const void *inbuf, MPI_Aint insize, void *outbuf,
                                      MPI_Aint outcount, MPI_Datatype datatype,
                                      MPI_Aint *actual_unpack_bytes);

#endif
