/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Temporary memory of MPICH's collectives, beside the buffers that they have: our hooks
 * (maint/mpich-4.0.2.fork) put these in the place of MPIR_CHKLMEM_DECL, _MALLOC and _FREEALL.
 * Data are void *; lists of counts are of other types.
 *
 * And temporary lists of the type constructors, which would be new from the system at each call.
 */
#ifndef TYPEREP_SCRATCH_H_INCLUDED
#define TYPEREP_SCRATCH_H_INCLUDED

#define MPIR_SCRATCH_DECL(most)                                                                    \
    void *scratch_taken[most];                                                                     \
    int scratch_n = 0

/* What `scratch` answers is kept in `to` until MPIR_SCRATCH_FREEALL. */
#define MPIR_SCRATCH_TAKE(scratch, to, type, bytes, error, what)                                   \
    do {                                                                                           \
        void *const scratch_new = (scratch);                                                       \
        MPIR_ERR_CHKANDJUMP2(scratch_new == NULL, error, MPI_ERR_NO_MEM, "**nomem2",               \
                             "**nomem2 %d %s", (int)(bytes), what);                                \
        scratch_taken[scratch_n++] = scratch_new;                                                  \
        (to) = (type)scratch_new;                                                                  \
    } while (0)

/* Memory for data, by the names that MPICH's functions have: of those that reduce; of those that
 * send on what is in one buffer; in two, of which everyone has the one that is named here. */
#define MPIR_SCRATCH_REDUCED(bytes) MPIR_Typerep_scratch(bytes, sendbuf, recvbuf, datatype)
#define MPIR_SCRATCH_BUFFER(bytes) MPIR_Typerep_scratch_to_send(bytes, buffer, datatype)
#define MPIR_SCRATCH_REPLACED(bytes) MPIR_Typerep_scratch_to_send(bytes, buf, datatype)
#define MPIR_SCRATCH_SENT(bytes)                                                                   \
    MPIR_Typerep_scratch_to_send(bytes, sendbuf != MPI_IN_PLACE ? sendbuf : recvbuf,               \
                                 sendbuf != MPI_IN_PLACE ? sendtype : recvtype)
#define MPIR_SCRATCH_RECEIVED(bytes)                                                               \
    MPIR_Typerep_scratch_to_send(bytes, recvbuf != MPI_IN_PLACE ? recvbuf : sendbuf,               \
                                 recvbuf != MPI_IN_PLACE ? recvtype : sendtype)
#define MPIR_SCRATCH_OF_LIST(bytes)                                                                \
    MPIR_Typerep_scratch(bytes, MPI_IN_PLACE, NULL, MPI_DATATYPE_NULL)

#define MPIR_SCRATCH_MALLOC(scratch, to, type, bytes, error, what, class)                          \
    MPIR_SCRATCH_TAKE(                                                                             \
        _Generic((to), void *: scratch(bytes), default: MPIR_SCRATCH_OF_LIST(bytes)), to, type,    \
        bytes, error, what)

#define MPIR_SCRATCH_LIST(to, type, bytes, error, what, class)                                     \
    MPIR_SCRATCH_TAKE(MPIR_SCRATCH_OF_LIST(bytes), to, type, bytes, error, what)

#define MPIR_SCRATCH_FREEALL()                                                                     \
    do {                                                                                           \
        while (scratch_n > 0)                                                                      \
            MPIR_Typerep_scratch_free(scratch_taken[--scratch_n]);                                 \
    } while (0)

#endif
