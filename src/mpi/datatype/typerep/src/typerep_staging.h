/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Host memory for data on its way between a file and a buffer that host code cannot read. For
 * ROMIO, which sees nothing of MPICH's inside: so this header needs mpi.h alone.
 */
#ifndef TYPEREP_STAGING_H_INCLUDED
#define TYPEREP_STAGING_H_INCLUDED

#include <mpi.h>

/* Zeros: there is none yet. */
struct MPIR_Staging {
    void *memory;
    struct heddle_request *moving; /* what is packed into it, or unpacked out of it, at present */
};

/* A buffer of MPI's. */
struct MPIR_Staging_buffer {
    void *buf;
    MPI_Aint count;
    MPI_Datatype datatype;
};

/* Whether this process has a device. */
int MPIR_Staging_is_open(void);
/* Whether a buffer with data may lie in memory that host code cannot read. */
int MPIR_Staging_is_needed(const void *buf, MPI_Datatype datatype);

/* All return MPI error codes. `alloc`: memory, pinned if possible, for what `buffer` holds. */
int MPIR_Staging_alloc(struct MPIR_Staging *staging, MPI_Aint bytes,
                       const struct MPIR_Staging_buffer *buffer);
/* Begin to move packed bytes [offset, offset + bytes) of the buffer. No other move may run. */
int MPIR_Staging_pack(struct MPIR_Staging *staging, const struct MPIR_Staging_buffer *buffer,
                      MPI_Aint offset, MPI_Aint bytes);
int MPIR_Staging_unpack(struct MPIR_Staging *staging, const struct MPIR_Staging_buffer *buffer,
                        MPI_Aint offset, MPI_Aint bytes);
/* Until nothing is moving: how it ended. */
int MPIR_Staging_wait(struct MPIR_Staging *staging);
/* Waits, too. */
void MPIR_Staging_free(struct MPIR_Staging *staging);

#endif
