/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What Heddle adds to MPI for programs that ask for it. Installed beside mpi.h.
 */
#ifndef HEDDLE_MPI_H_INCLUDED
#define HEDDLE_MPI_H_INCLUDED

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Values of the attribute below: the address of no object. */
#define MPIX_MEMORY_HOST ((void *)1)
#define MPIX_MEMORY_DEVICE ((void *)2)

/* The key of an attribute of datatypes. By it a program says where the buffers lie that it passes
 * with a datatype. With one of the values above, MPI_Send, MPI_Recv and their relatives need not
 * ask the GPU's driver, which takes some 100 ns a call. All other calls ask still. MPI_Type_dup
 * copies the attribute, other constructors do not. The attribute of a predefined datatype has no
 * effect.
 *
 *     int key;
 *     MPIX_Type_memory_keyval(&key);
 *     MPI_Type_dup(MPI_DOUBLE, &host_double);
 *     MPI_Type_set_attr(host_double, key, MPIX_MEMORY_HOST);
 *
 * A buffer that lies elsewhere than its datatype says is an error that is not detected. The key
 * belongs to MPI: it is not to be freed. The idea is that of MPI-ACC (Aji et al., HPCC 2012,
 * section II.C.3).
 *
 * `keyval` gets the key. Errors: MPI_ERR_ARG where it is null; MPI_ERR_OTHER before MPI_Init and
 * after MPI_Finalize, or where no more keys can be made. */
int MPIX_Type_memory_keyval(int *keyval) MPICH_API_PUBLIC;
int PMPIX_Type_memory_keyval(int *keyval) MPICH_API_PUBLIC; /* the same, for profilers */

#ifdef __cplusplus
}
#endif

#endif /* HEDDLE_MPI_H_INCLUDED */
