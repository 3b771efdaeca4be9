/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What MPI tells of the kinds of memory that it takes (typerep_kinds.c). Our hooks call these
 * functions (maint/mpich-4.0.2.fork).
 */
#ifndef TYPEREP_KINDS_H_INCLUDED
#define TYPEREP_KINDS_H_INCLUDED

struct MPIR_Info;

/* Once it is known whether there is a device; MPI_INFO_ENV tells from here on. */
int MPIR_Kinds_init(void);
/* Sets mpi_memory_alloc_kinds. */
int MPIR_Kinds_tell(struct MPIR_Info *info);
/* Does so for a communicator or window, by its handle, with what was asserted of it. */
int MPIR_Kinds_tell_of(int object, struct MPIR_Info *info);
/* What a new session asks for. */
void MPIR_Kinds_request(struct MPIR_Info *info);
/* What an info asserts of a communicator or window, until that ends. */
void MPIR_Kinds_assert(int object, struct MPIR_Info *info);
void MPIR_Kinds_forget(int object);

#endif
