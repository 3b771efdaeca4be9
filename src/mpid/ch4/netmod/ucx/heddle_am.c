/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a window's operation packs for its target. One that could not be packed is over, with its error: nobody will answer
 * it, and the next synchronization must not wait for that.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#if MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_HEDDLE

/* What its sender's callback and its answer would have done. */
static void end_operation(MPIR_Request *sreq, int handler_id)
{
    MPIR_Win *win = sreq->u.rma.win;
    const int target = MPIDIG_REQUEST(sreq, u.origin.target_rank);

    MPIDIG_win_remote_cmpl_cnt_decr(win, target);
    if (handler_id != MPIDIG_PUT_REQ)
        MPIDIG_win_remote_acc_cmpl_cnt_decr(win, target);
    if (handler_id == MPIDIG_GET_ACC_REQ)
        MPIR_Datatype_release_if_not_builtin(MPIDIG_REQUEST(sreq, req->areq.result_datatype));
    MPID_Request_complete(sreq);
    MPID_Request_complete(sreq);
}

int MPIDI_UCX_am_pack(MPIR_Request *sreq, int handler_id, char *message, const void *data, MPI_Aint count,
                      MPI_Datatype datatype, char *to, MPI_Aint room, MPI_Aint *packed)
{
    const int mpi_errno = MPIR_Typerep_pack(data, count, datatype, 0, to, room, packed);
    if (mpi_errno == MPI_SUCCESS)
        return MPI_SUCCESS;
    MPIR_gpu_free_host(message);
    if (handler_id == MPIDIG_PUT_REQ || handler_id == MPIDIG_ACC_REQ || handler_id == MPIDIG_GET_ACC_REQ)
        end_operation(sreq, handler_id);
    return mpi_errno;
}

#endif
