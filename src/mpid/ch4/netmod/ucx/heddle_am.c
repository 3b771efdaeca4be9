/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What an active message packs: of one-sided and of partitioned communication. See
 * mpidig_failures.h.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

int MPIDI_UCX_am_pack(MPIR_Request *sreq, char *message, const void *data, MPI_Aint count,
                      MPI_Datatype datatype, char *to, size_t *bytes, MPI_Aint *packed)
{
    if (sreq->status.MPI_ERROR == MPI_SUCCESS)
        MPIDIG_fail(sreq, MPIR_Typerep_pack(data, count, datatype, 0, to, *bytes, packed));
    if (sreq->status.MPI_ERROR != MPI_SUCCESS) {
        MPIDI_UCX_am_header_t *header = (MPIDI_UCX_am_header_t *)message;
        header->failed = 1;
        header->data_sz = *bytes = *packed = 0;
    }
    return MPI_SUCCESS;
}
