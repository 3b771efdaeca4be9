/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For the algorithms of MPICH's collectives that reduce, behind mpiimpl.h: their temporary buffers (void *; lists of
 * counts are of other types) come to lie where `sendbuf` does, or `recvbuf` where that is MPI_IN_PLACE.
 */
#ifndef HEDDLE_SCRATCH_H_INCLUDED
#define HEDDLE_SCRATCH_H_INCLUDED

#undef MPIR_CHKLMEM_DECL
#undef MPIR_CHKLMEM_MALLOC
#undef MPIR_CHKLMEM_FREEALL

#define MPIR_CHKLMEM_DECL(most) \
    void *scratch_taken[most];  \
    int scratch_n = 0

#define MPIR_CHKLMEM_MALLOC(to, type, bytes, error, what, class)                                                     \
    do {                                                                                                             \
        void *const scratch_new = _Generic((to), void *: MPIR_Typerep_scratch(bytes, sendbuf, recvbuf, datatype),    \
                                           default: MPIR_Typerep_scratch(bytes, MPI_IN_PLACE, NULL, datatype));      \
        MPIR_ERR_CHKANDJUMP2(scratch_new == NULL, error, MPI_ERR_NO_MEM, "**nomem2", "**nomem2 %d %s", (int) (bytes), \
                             what);                                                                                  \
        scratch_taken[scratch_n++] = scratch_new;                                                                    \
        (to) = (type) scratch_new;                                                                                   \
    } while (0)

#define MPIR_CHKLMEM_FREEALL()                                     \
    do {                                                           \
        while (scratch_n > 0)                                      \
            MPIR_Typerep_scratch_free(scratch_taken[--scratch_n]); \
    } while (0)

#endif
