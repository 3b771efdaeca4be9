/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Temporary memory of MPICH's collectives that reduce, beside the buffers that they have: our hooks
 * (maint/mpich-4.0.2.fork) put these in the place of MPIR_CHKLMEM_DECL, _MALLOC and _FREEALL.
 * Buffers (void *; lists of counts are of other types) lie where `sendbuf` does, or `recvbuf` where
 * that is MPI_IN_PLACE.
 *
 * And temporary lists of the type constructors, which would be new from the system at each call.
 */
#ifndef TYPEREP_SCRATCH_H_INCLUDED
#define TYPEREP_SCRATCH_H_INCLUDED

#define MPIR_SCRATCH_DECL(most)                                                                    \
    void *scratch_taken[most];                                                                     \
    int scratch_n = 0

#define MPIR_SCRATCH_NEW(to, bytes)                                                                \
    _Generic((to),                                                                                 \
             void *: MPIR_Typerep_scratch(bytes, sendbuf, recvbuf, datatype),                      \
             default: MPIR_Typerep_scratch(bytes, MPI_IN_PLACE, NULL, datatype))

#define MPIR_SCRATCH_MALLOC(to, type, bytes, error, what, class)                                   \
    do {                                                                                           \
        void *const scratch_new = MPIR_SCRATCH_NEW(to, bytes);                                     \
        MPIR_ERR_CHKANDJUMP2(scratch_new == NULL, error, MPI_ERR_NO_MEM, "**nomem2",               \
                             "**nomem2 %d %s", (int)(bytes), what);                                \
        scratch_taken[scratch_n++] = scratch_new;                                                  \
        (to) = (type)scratch_new;                                                                  \
    } while (0)

#define MPIR_SCRATCH_LIST(to, type, bytes, error, what, class)                                     \
    do {                                                                                           \
        void *const scratch_new =                                                                  \
            MPIR_Typerep_scratch(bytes, MPI_IN_PLACE, NULL, MPI_DATATYPE_NULL);                    \
        MPIR_ERR_CHKANDJUMP2(scratch_new == NULL, error, MPI_ERR_NO_MEM, "**nomem2",               \
                             "**nomem2 %d %s", (int)(bytes), what);                                \
        scratch_taken[scratch_n++] = scratch_new;                                                  \
        (to) = (type)scratch_new;                                                                  \
    } while (0)

#define MPIR_SCRATCH_FREEALL()                                                                     \
    do {                                                                                           \
        while (scratch_n > 0)                                                                      \
            MPIR_Typerep_scratch_free(scratch_taken[--scratch_n]);                                 \
    } while (0)

#endif
